import type { Json } from '@troupe/protocol';
import { notFound, Refusal } from '../../base/index.ts';
import * as store from '../../store/index.ts';
import type { Parts, Who } from './actions.ts';

// What can be done to a run by its id. A person reaches the runs of their own sessions.

export async function getRun({ db }: Pick<Parts, 'db'>, who: Who, id: string): Promise<store.RunRecord> {
  const run = await store.findRun(db, who, id);
  if (!run) throw notFound('run');
  return run;
}

export async function getRunDetails(parts: Pick<Parts, 'db'>, who: Who, id: string) {
  const run = await getRun(parts, who, id);
  const [steps, calls] = await Promise.all([
    store.listRunSteps(parts.db, run.id),
    store.listRunCalls(parts.db, run.id),
  ]);
  return { run, steps, calls };
}

export function listRuns(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  filter: store.RunFilter,
): Promise<store.RunRecord[]> {
  return store.listRuns(db, who, filter);
}

export async function cancelRun(parts: Parts, who: Who, id: string): Promise<store.RunRecord> {
  const run = await getRun(parts, who, id);
  const canceled = await parts.kernel.cancel(run.id, 'user', who.entityId);
  if (!canceled.ok) {
    if (canceled.code === 'run_not_found') throw notFound('run');
    throw new Refusal('conflict', 'run_ended', `The run has ended already: it is ${canceled.status}.`);
  }
  return getRun(parts, who, id);
}

export async function retryRun(parts: Parts, who: Who, id: string): Promise<store.RunRecord> {
  const run = await getRun(parts, who, id);
  const retried = await parts.kernel.retry(run.id);
  if (!retried.ok) {
    if (retried.code === 'run_not_found') throw notFound('run');
    throw new Refusal(
      'conflict',
      'not_failed',
      `The run is ${retried.status}; only one that failed or was canceled can be taken up again.`,
    );
  }
  return getRun(parts, who, id);
}

export async function forkRun(
  parts: Parts,
  who: Who,
  id: string,
  { step, edits }: { step: number; edits: { sequence: number; content: Json }[] },
): Promise<store.RunRecord> {
  const run = await getRun(parts, who, id);
  const forked = await parts.kernel.fork(run.id, step, {
    edits: edits.map(({ sequence, content }) => ({ seq: sequence, content })),
  });
  if (!forked.ok) {
    if (forked.code === 'run_not_found') throw notFound('run');
    if (forked.code === 'step_not_found')
      throw new Refusal(
        'not_found',
        forked.code,
        `The run has taken ${forked.step} steps; there is no step ${step}.`,
      );
    throw new Refusal('conflict', forked.code, `Calls of the first ${step} steps are still open.`, {
      hint: 'Fork at an earlier step, or wait until they are settled.',
    });
  }
  return getRun(parts, who, forked.run);
}
