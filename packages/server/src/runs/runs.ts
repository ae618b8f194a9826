import type { RunStatus } from '@troupe/protocol';
import { notFound, Refusal } from '../base/index.ts';
import * as store from '../store/index.ts';
import { messagesOf } from './messages.ts';
import type { Parts, Who } from './parts.ts';
import { type Retry, takeUpAgain } from './retry.ts';
import { runPurged } from './run-purged.ts';
import { runSeenIn } from './run-seen.ts';

// What can be done to a run by its id. A person reaches the runs of their own sessions, and sees and stops those that work in
// their spaces: what these think, and what of their tools is hidden, is the agent's.

export async function getRun({ db }: Pick<Parts, 'db'>, who: Who, id: string): Promise<store.RunRecord> {
  const run = await store.findRun(db, who, id);
  if (!run) throw notFound('run');
  return run;
}

/** The same, or one that works in a space of this person. */
export async function getRunSeen(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  id: string,
): Promise<{ run: store.RunRecord; inSpace: boolean }> {
  const own = await store.findRun(db, who, id);
  if (own) return { run: own, inSpace: false };
  const { project, entityId } = who;
  const seen = entityId === null ? null : await store.findRunInSpaces(db, { project, entityId }, id);
  if (!seen) throw notFound('run');
  return { run: runSeenIn(seen.run, seen.shared), inSpace: true };
}

const IN_SPACES: readonly string[] = ['space_message', 'plan', 'service'];

/** The same, where it can be gone on from elsewhere. */
export async function getRunToCopy(parts: Pick<Parts, 'db'>, who: Who, id: string): Promise<store.RunRecord> {
  const run = await getRun(parts, who, id);
  if (run.triggerType === 'network' || run.trigger.network !== undefined) throw runOfNetwork();
  if (!IN_SPACES.includes(run.triggerType)) return run;
  throw new Refusal(
    'conflict',
    'run_of_space',
    'A run of a space cannot be copied: what it said would be said again.',
    {
      hint: 'Say something in the space: that starts a new run.',
    },
  );
}

/** Its system parameters are sealed for it alone. */
function runOfNetwork(): Refusal {
  return new Refusal('conflict', 'run_of_network', 'A run of a network cannot be copied.', {
    hint: 'Invoke the network again, with the same version.',
  });
}

export async function getRunDetails(parts: Pick<Parts, 'db'>, who: Who, id: string) {
  const { run, inSpace } = await getRunSeen(parts, who, id);
  if (inSpace) return { run, steps: [], calls: [] };
  const [steps, calls] = await Promise.all([
    store.listRunSteps(parts.db, run.id),
    store.listRunCalls(parts.db, run.id),
  ]);
  return { run, steps, calls };
}

export interface RunsAsked extends Omit<store.RunFilter, 'statuses' | 'since' | 'until'> {
  /** One or several, separated by commas. */
  status?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  search?: string | undefined;
}

export async function listRuns(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  { status, since, until, search, ...filter }: RunsAsked,
): Promise<store.RunPage> {
  const statuses = status && { statuses: [...new Set(status.split(','))] as RunStatus[] };
  const times = { ...(since && { since: new Date(since) }), ...(until && { until: new Date(until) }) };
  const asked = { ...filter, ...statuses, ...times };
  if (search !== undefined) return store.searchRuns(db, who, asked, search);
  return store.listRuns(db, who, asked);
}

export async function cancelRun(parts: Parts, who: Who, id: string): Promise<store.RunRecord> {
  const { run } = await getRunSeen(parts, who, id);
  const canceled = await parts.kernel.cancel(run.id, 'user', who.entityId);
  if (!canceled.ok) {
    if (canceled.code === 'run_not_found') throw notFound('run');
    throw new Refusal('conflict', 'run_ended', `The run has ended already: it is ${canceled.status}.`);
  }
  for (const space of new Set([run.spaceId, run.activeSpaceId])) if (space) parts.kernel.touched(space);
  return (await getRunSeen(parts, who, id)).run;
}

export async function retryRun(
  parts: Parts,
  who: Parameters<typeof takeUpAgain>[1],
  id: string,
  { modelId }: Retry = {},
): Promise<store.RunRecord> {
  const run = await getRun(parts, who, id);
  // Known before a model is looked for: that a run goes well must not be told as something about its model.
  if (run.status !== 'failed' && run.status !== 'canceled') throw notFailed(run.status);
  const retried = await takeUpAgain(parts, who, run.id, modelId);
  if (!retried.ok) {
    if (retried.code === 'run_not_found') throw notFound('run');
    if (retried.code === 'task_went_on') throw wentOn();
    if (retried.code === 'run_purged') throw runPurged();
    throw notFailed(retried.status!);
  }
  return getRun(parts, who, id);
}

function notFailed(status: string): Refusal {
  return new Refusal(
    'conflict',
    'not_failed',
    `The run is ${status}; only one that failed or was canceled can be taken up again.`,
  );
}

/** There is one run at a time for a task. */
function wentOn(): Refusal {
  return new Refusal(
    'conflict',
    'task_went_on',
    'The sub-agent of this run was given more to do since, and goes on from there.',
    { hint: 'GET /v1/tasks/{taskId} names the run that can be taken up again.' },
  );
}

/** The messages of the run's thread, or what it was asked and what it said. */
export async function listRunMessages(
  parts: Pick<Parts, 'db'>,
  who: Who,
  id: string,
  { of, ...range }: store.MessageRange & { of: 'thread' | 'run' },
) {
  const run = await getRun(parts, who, id);
  const own = of === 'run' ? { run: run.id } : {};
  return { run, ...(await messagesOf(parts.db, run.threadId, { ...range, ...own })) };
}
