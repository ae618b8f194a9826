import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Api, ApiError } from '@troupe/sdk';
import { useState } from 'react';
import { Input } from '../../blocks/field.tsx';
import { FormErrors } from '../../blocks/form-errors.tsx';
import { SaveBar } from '../../blocks/save-bar.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { NewerNotice } from '../../blocks/version-conflict.tsx';
import { troupe } from '../../data/client.ts';
import { useInvalidFields } from '../../data/invalid-fields.ts';
import { AgentConflict } from './conflict.tsx';
import { changesOf, definitionOf } from './definition.ts';
import { EditAnswers } from './edit-answers.tsx';
import { EditBasics } from './edit-basics.tsx';
import { EditCapabilities } from './edit-capabilities.tsx';
import { EditCompaction } from './edit-compaction.tsx';
import { EditLimits } from './edit-limits.tsx';
import { EditModel } from './edit-model.tsx';
import { EditTools } from './edit-tools.tsx';
import { agentQuery } from './queries.ts';

/** What every part of the form gets. */
export interface PartProps {
  draft: Api.AgentDefinition;
  change: (part: Partial<Api.AgentDefinition>) => void;
  /** Marks a field whose text cannot be parsed. */
  invalid: (field: string, isInvalid: boolean) => void;
}

/** The definition as a form. It is saved as one version, on the version that it was begun on. */
export function EditTab({ agent }: { agent: Api.Agent }) {
  const [base, setBase] = useState(agent);
  const [draft, setDraft] = useState(() => definitionOf(agent));
  const invalid = useInvalidFields();
  const [notes, setNotes] = useState('');
  const [compares, setCompares] = useState(false);
  const client = useQueryClient();
  const changes = changesOf(definitionOf(base), draft);
  const isChanged = Object.keys(changes).length > 0 || invalid.any;
  const changed = Object.keys(changes).join(', ');
  const startFrom = (now: Api.Agent) => {
    setBase(now);
    setDraft(definitionOf(now));
    invalid.clear();
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
    invalid: invalid.mark,
  };
  return (
    <FormErrors error={error}>
      <form
        aria-label="Edit the agent"
        className="flex max-w-4xl flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged && !invalid.any) save.mutate(base.version);
        }}
      >
        <NewerNotice version={agent.version} base={base.version} />
        <div key={base.version} className="flex flex-col gap-4">
          <EditBasics {...part} />
          <EditModel {...part} />
          <EditCapabilities {...part} />
          <EditTools {...part} />
          <EditCompaction {...part} />
          <EditLimits {...part} />
          <EditAnswers {...part} />
        </div>
        {(isChanged || error) && (
          <SaveBar
            busy={save.isPending}
            isIncomplete={invalid.any || !isChanged}
            className="-bottom-5 -mx-1"
            onDiscard={() => {
              save.reset();
              startFrom(agent);
            }}
          >
            <Input
              aria-label="Note on this version"
              placeholder="Note for the list of versions"
              maxLength={2000}
              value={notes}
              onChange={({ target }) => setNotes(target.value)}
              className="flex-1 basis-56"
            />
            <span className="hidden max-w-64 truncate text-xs text-faint md:inline" title={changed}>
              {invalid.any ? 'Correct the marked fields first' : `Changed: ${changed}`}
            </span>
          </SaveBar>
        )}
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
    </FormErrors>
  );
}
