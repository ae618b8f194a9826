import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useEffect, useMemo, useRef, useState } from 'react';
import { SelectField } from '../../../blocks/field.tsx';
import { FormDialog } from '../../../blocks/form.tsx';
import { Loaded } from '../../../blocks/states.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import { issuesOf } from '../../../data/issues.ts';
import { type Edits, editsOf, messagesUpTo } from './fork-edits.ts';
import { EditableMessage } from './fork-message.tsx';
import type { RunDetails } from './queries.ts';

/** Goes on from a step in a thread of its own, with other messages where one wants. */
export default function Fork({
  run,
  after,
  onClose,
}: {
  run: RunDetails;
  after: number;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const [step, setStep] = useState(Math.min(after, run.step));
  const [edits, setEdits] = useState<Edits>({});
  const [issues, setIssues] = useState<Record<number, string>>({});
  const messages = useQuery({
    queryKey: ['run-fork', run.id],
    queryFn: async () => {
      const all: Api.Message[] = [];
      for (let after = 0; all.length < 3_000; after = all.at(-1)!.sequence) {
        const { data } = await troupe.runs.messages({
          params: { runId: run.id },
          query: { after, limit: 1_000 },
        });
        all.push(...data);
        if (data.length < 1_000) break;
      }
      return all;
    },
  });
  const taken = useMemo(() => messagesUpTo(messages.data ?? [], run.id, step), [messages.data, run.id, step]);
  // What the fork goes on from is at the end.
  const list = useRef<HTMLOListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: when there are others
  useEffect(() => {
    list.current?.scrollTo(0, list.current.scrollHeight);
  }, [step, messages.data]);
  const changed = taken.filter(({ sequence }) => edits[sequence] !== undefined).length;

  const fork = async () => {
    setIssues({});
    const made = editsOf(taken, edits);
    if (!made.ok) {
      setIssues(made.issues);
      throw new Error('A changed message is not valid JSON.');
    }
    try {
      return await troupe.runs.fork({ params: { runId: run.id }, body: { step, edits: made.edits } });
    } catch (error) {
      const found = issuesOf(error).flatMap(({ path, message }): [number, string][] => {
        const edit = made.edits[Number(/^edits\.(\d+)/.exec(path)?.[1] ?? -1)];
        return edit ? [[edit.sequence, message]] : [];
      });
      setIssues(Object.fromEntries(found));
      throw error;
    }
  };
  return (
    <FormDialog
      wide
      onClose={() => {
        if (changed === 0 || window.confirm('Close without forking? Your changes are lost.')) onClose();
      }}
      title="Fork run"
      submit="Fork and run"
      act={fork}
      changes="runs"
      onDone={({ id }) => {
        say('Forked the run.');
        void navigate({ to: '/runs/$runId', params: { runId: id } });
      }}
    >
      <p className="text-sm text-muted">
        A fork copies all messages up to a step into a new thread and runs from there. This run does not
        change.
      </p>
      <SelectField
        label="After step"
        className="max-w-72"
        value={String(step)}
        onChange={(value) => setStep(Number(value))}
        options={Array.from({ length: run.step + 1 }, (_, index) => [
          String(index),
          index === 0 ? 'Before step 1' : `Step ${index}`,
        ])}
      />
      <Loaded query={messages}>
        {() => (
          <ol
            ref={list}
            aria-label="Messages of the fork"
            className="max-h-[45vh] divide-y divide-line overflow-y-auto rounded-md border border-line"
          >
            {taken.map((message) => (
              <EditableMessage
                key={message.id}
                message={message}
                value={edits[message.sequence]}
                issue={issues[message.sequence]}
                onChange={(value) =>
                  setEdits(({ [message.sequence]: _, ...others }) =>
                    value === undefined ? others : { ...others, [message.sequence]: value },
                  )
                }
              />
            ))}
          </ol>
        )}
      </Loaded>
      {changed > 0 && (
        <p className="text-xs text-muted">
          {changed} {changed === 1 ? 'message' : 'messages'} changed
        </p>
      )}
    </FormDialog>
  );
}
