import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Api, ApiError } from '@troupe/sdk';
import { useState } from 'react';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { AgentConflict } from './conflict.tsx';
import { changesOf, definitionOf } from './definition.ts';
import { EditAnswers } from './edit-answers.tsx';
import { EditBasics } from './edit-basics.tsx';
import { EditCapabilities } from './edit-capabilities.tsx';
import { EditLimits } from './edit-limits.tsx';
import { EditModel } from './edit-model.tsx';
import { EditTools } from './edit-tools.tsx';
import { agentQuery } from './queries.ts';
import { SaveBar } from './save-bar.tsx';

/** What every part of the form gets. */
export interface PartProps {
  draft: Api.AgentDefinition;
  change: (part: Partial<Api.AgentDefinition>) => void;
  /** What is wrong with the text of a field that is not read as it stands, such as JSON; null: nothing. */
  invalid: (field: string, isInvalid: boolean) => void;
  error: unknown;
}

/** The definition as a form. It is saved as one version, on the version that it was begun on. */
export function EditTab({ agent }: { agent: Api.Agent }) {
  const [base, setBase] = useState(agent);
  const [draft, setDraft] = useState(() => definitionOf(agent));
  const [invalid, setInvalid] = useState<ReadonlySet<string>>(new Set());
  const [notes, setNotes] = useState('');
  const [compares, setCompares] = useState(false);
  const client = useQueryClient();
  const changes = changesOf(definitionOf(base), draft);
  const isChanged = Object.keys(changes).length > 0 || invalid.size > 0;
  const startFrom = (now: Api.Agent) => {
    setBase(now);
    setDraft(definitionOf(now));
    setInvalid(new Set());
    setNotes('');
    setCompares(false);
  };
  // Somebody else saved, and nothing of ours is in the way.
  if (agent.version > base.version && !isChanged) startFrom(agent);
  const save = useMutation({
    mutationFn: (baseVersion: number) =>
      troupe.agents.update({
        params: { agentId: agent.id },
        body: { ...changes, baseVersion, ...(notes.trim() ? { notes: notes.trim() } : {}) },
      }),
    onSuccess: (saved) => {
      client.setQueryData(agentQuery(agent.id).queryKey, saved);
      void client.invalidateQueries({ queryKey: ['agents'] });
      say(`Saved as version ${saved.version}.`);
      startFrom(saved);
    },
    onError: async (error) => {
      if (!(error instanceof ApiError) || error.code !== 'version_conflict') return;
      await client.refetchQueries({ queryKey: agentQuery(agent.id).queryKey });
      setCompares(true);
    },
  });
  const isConflict = save.error instanceof ApiError && save.error.code === 'version_conflict';
  const error = isConflict ? null : save.error;
  const part: PartProps = {
    draft,
    change: (some) => setDraft((now) => ({ ...now, ...some })),
    invalid: (field, isInvalid) =>
      setInvalid((now) => {
        if (now.has(field) === isInvalid) return now;
        const next = new Set(now);
        if (isInvalid) next.add(field);
        else next.delete(field);
        return next;
      }),
    error,
  };
  return (
    <form
      aria-label="Edit the agent"
      className="flex max-w-4xl flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && invalid.size === 0) save.mutate(base.version);
      }}
    >
      {agent.version > base.version && (
        <Notice tone="warn">
          Somebody else saved version {agent.version} while you were editing version {base.version}. When you
          save, you see both.
        </Notice>
      )}
      <div key={base.version} className="flex flex-col gap-4">
        <EditBasics {...part} />
        <EditModel {...part} />
        <EditCapabilities {...part} />
        <EditTools {...part} />
        <EditLimits {...part} />
        <EditAnswers {...part} />
      </div>
      <SaveBar
        isChanged={isChanged}
        isInvalid={invalid.size > 0}
        changed={Object.keys(changes)}
        notes={notes}
        onNotes={setNotes}
        busy={save.isPending}
        error={error}
        onDiscard={() => {
          save.reset();
          startFrom(agent);
        }}
      />
      <Unsaved when={isChanged} />
      {compares && (
        <AgentConflict
          theirs={agent}
          mine={{ ...definitionOf(agent), ...changes }}
          busy={save.isPending}
          onClose={() => setCompares(false)}
          onTakeTheirs={() => startFrom(agent)}
          onSaveMine={() => save.mutate(agent.version)}
        />
      )}
    </form>
  );
}
