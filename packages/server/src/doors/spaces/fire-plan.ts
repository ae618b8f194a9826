import { idFrom, type Logger, newId } from '../../base/index.ts';
import { agentArchived, snapshotAnyway } from '../../definitions/agents/index.ts';
import { timeAfter } from '../../plans/index.ts';
import * as store from '../../store/index.ts';
import { DOOR, HISTORY } from './door-name.ts';

/** How often a plan may change under our hands before another try of the job takes it up. */
const TRIES = 5;

/**
 * What is to be done when a plan may be due. Safe to do twice, at once too: the plan is locked, and what is not due any more is left
 * alone. True where a run was queued.
 */
export async function firePlan(db: store.Database, logger: Logger, planId: string): Promise<boolean> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const plan = await store.readPlanToFire(db, planId);
    // Canceled, deleted or fired by somebody else; or put off, and then another job comes for it.
    if (!plan?.due || plan.nextRunAt === null) return false;
    const next = timeAfter(plan, plan.nextRunAt, new Date());
    const start = await startOf(db, plan, plan.nextRunAt);
    const fired = await store.firePlan(db, { plan: plan.id, version: plan.version, next, start });
    if (!fired.ok) continue;
    const about = {
      plan: plan.id,
      dueAt: plan.nextRunAt.toISOString(),
      nextRunAt: next?.toISOString() ?? null,
    };
    if (fired.run === null) logger.warn(about, 'a plan was due, but its agent is archived');
    else logger.info({ ...about, run: fired.run }, 'a plan was fired');
    return fired.run !== null;
  }
  throw new Error(`the plan ${planId} changes faster than it can be fired`);
}

async function startOf(db: store.Database, plan: store.DuePlan, due: Date): Promise<store.Firing['start']> {
  const current = await snapshotAnyway(db, plan.projectId, plan.agentId);
  if (current.status === 'archived') return { skipped: agentArchived().code };
  const run: store.NewRun = {
    id: idFrom(`${plan.id}:${due.toISOString()}`, due),
    door: DOOR,
    agent: plan.agentId,
    entity: current.entityId,
    snapshot: current.snapshotId,
    triggerType: 'plan',
    wallMs: current.wallMs,
    historyLimit: HISTORY,
  };
  return { item: { project: plan.projectId, thread: newId(), createThread: 'run', run } };
}
