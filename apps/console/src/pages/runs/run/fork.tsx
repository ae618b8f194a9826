import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Api, ApiError } from '@troupe/sdk';
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Dialog } from '../../../blocks/dialog.tsx';
import { Field, Select } from '../../../blocks/field.tsx';
import { Loaded, Notice } from '../../../blocks/states.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
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
  const client = useQueryClient();
  const [step, setStep] = useState(Math.min(after, run.step));
  const [edits, setEdits] = useState<Edits>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
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

  const go = async (event: FormEvent) => {
    event.preventDefault();
    setError(null);
    setIssues({});
    const made = editsOf(taken, edits);
    if (!made.ok) {
      setIssues(made.issues);
      setError('One of the messages is no JSON.');
      return;
    }
    setBusy(true);
    try {
      const forked = await troupe.runs.fork({ params: { runId: run.id }, body: { step, edits: made.edits } });
      say('Forked.');
      await client.invalidateQueries({ queryKey: ['runs'] });
      void navigate({ to: '/runs/$runId', params: { runId: forked.id } });
    } catch (reason) {
      if (reason instanceof ApiError && reason.issues) {
        const bySequence: Record<number, string> = {};
        for (const { path, message } of reason.issues) {
          const edit = made.edits[Number(/^edits\.(\d+)/.exec(path)?.[1] ?? -1)];
          if (edit) bySequence[edit.sequence] = message;
        }
        setIssues(bySequence);
      }
      setError(reason instanceof Error ? reason.message : String(reason));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      wide
      onClose={() => {
        if (changed === 0 || window.confirm('Leave without forking? The changes to messages are lost.'))
          onClose();
      }}
      title="Fork"
    >
      <form onSubmit={(event) => void go(event)} className="flex flex-col gap-4">
        <p className="text-sm text-muted">
          A fork takes over all messages up to a step and goes on from there, in a thread of its own. This run
          stays as it is.
        </p>
        <Field label="After which step">
          {(ids) => (
            <Select
              {...ids}
              className="max-w-72"
              value={step}
              onChange={({ target }) => setStep(Number(target.value))}
            >
              {Array.from({ length: run.step + 1 }, (_, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: steps are numbers
                <option key={index} value={index}>
                  {index === 0 ? 'Before the first one' : `Step ${index}`}
                </option>
              ))}
            </Select>
          )}
        </Field>
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
        {error && <Notice tone="bad">{error}</Notice>}
        <div className="flex items-center justify-end gap-2">
          {changed > 0 && (
            <span className="mr-auto text-xs text-muted">
              {changed} {changed === 1 ? 'message' : 'messages'} changed
            </span>
          )}
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Fork and run
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
