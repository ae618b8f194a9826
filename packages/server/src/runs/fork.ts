import { contentOfRole, type EditedContent, type Json } from '@troupe/protocol';
import { inWords, newId, notFound, Refusal } from '../base/index.ts';
import * as store from '../store/index.ts';
import type { Parts, Who } from './parts.ts';
import { runPurged } from './run-purged.ts';
import { getRun, getRunToCopy } from './runs.ts';

/** A message that the fork has otherwise than the run it is made of. */
export interface Edit {
  sequence: number;
  content: EditedContent;
}

/** Goes on from a step in a thread of its own. What is wrong with the edits is refused before anything is stored. */
export async function forkRun(
  parts: Parts,
  who: Who,
  id: string,
  { id: forkId = newId(), step, edits }: { id?: string; step: number; edits: Edit[] },
): Promise<store.RunRecord> {
  const run = await getRunToCopy(parts, who, id);
  if (step > run.step) throw noSuchStep(step, run.step);
  if (edits.length > 0) await checkEdits(parts.db, run.id, step, edits);
  const forked = await parts.kernel.fork(
    run.id,
    step,
    {
      edits: edits.map(({ sequence, content }) => ({ seq: sequence, content: content as Json })),
    },
    { run: forkId, thread: newId() },
  );
  if (forked.ok) return getRun(parts, who, forked.run);
  if (forked.code === 'run_not_found') throw notFound('run');
  if (forked.code === 'run_purged') throw runPurged();
  if (forked.code === 'step_not_found') throw noSuchStep(step, forked.step ?? 0);
  throw new Refusal('conflict', forked.code, `Calls of the first ${step} steps are still open.`, {
    hint: 'Fork at an earlier step, or wait until they are settled.',
  });
}

function noSuchStep(step: number, last: number): Refusal {
  return new Refusal(
    'not_found',
    'step_not_found',
    `The run has taken ${last} steps; there is no step ${step}.`,
  );
}

type Issues = { path: string; message: string }[];

/** Messages never change, and a later step only adds some: what is found here is still so when the fork is made. */
async function checkEdits(db: store.Database, run: string, step: number, edits: Edit[]): Promise<void> {
  const sequences = edits.map(({ sequence }) => sequence);
  const messages = await store.takenOver(db, run, step, sequences);
  const bySequence = new Map(messages.map((message) => [message.sequence, message]));
  const absent: Issues = [];
  const unfit: Issues = [];
  for (const [index, { sequence, content }] of edits.entries()) {
    const message = bySequence.get(sequence);
    if (message) unfit.push(...misfits(message, content, `edits.${index}.content`));
    else absent.push({ path: `edits.${index}.sequence`, message: `is no message of a fork at step ${step}` });
  }
  if (absent.length > 0) {
    throw new Refusal(
      'invalid',
      'edit_not_in_fork',
      'An edit is for a message that the fork does not have.',
      {
        hint: 'GET /v1/runs/{runId}/messages shows the sequences; a fork has those up to its step.',
        issues: absent,
      },
    );
  }
  if (unfit.length > 0) {
    throw new Refusal('invalid', 'edit_does_not_fit', 'The content of an edit does not fit its message.', {
      hint: 'Give what the role takes: { text, parts? } for user, assistant and system, { id, name, arguments } for tool_call, { result, error } for tool_result.',
      issues: unfit,
    });
  }
}

function misfits(message: store.TakenOver, content: EditedContent, path: string): Issues {
  const { role, toolCallId } = message;
  const parsed = contentOfRole[role].safeParse(content, { error: inWords });
  if (!parsed.success) {
    return parsed.error.issues.map((issue) => ({
      path: [path, ...issue.path].join('.'),
      message: `${issue.message} (the message is a ${role})`,
    }));
  }
  // The result of the call names it: with another id there would be a call without a result, which no model takes.
  if (role === 'tool_call' && (content as { id: string }).id !== toolCallId)
    return [{ path: `${path}.id`, message: 'must stay as it is: the result of the call refers to it' }];
  return [];
}
