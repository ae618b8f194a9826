import { MOST_PLANS, type PlanStatus } from '@troupe/protocol';
import { idFrom, TroupeError } from '../base/index.ts';
import * as store from '../store/index.ts';
import { type GivenTime, planTime } from './plan-times.ts';

// The plans that an agent makes for itself. What is thrown is read by the model that asked.

interface Given extends GivenTime {
  name: string;
  instruction?: string | undefined;
}

/** All of them or none; a plan of the same name is set anew. */
export async function setPlansOfRun(db: store.Database, by: store.PlansByRun, plans: readonly Given[]) {
  const now = new Date();
  const writes = plans.map(({ name, instruction, ...when }, index) => ({
    // Follows from the call: a second try of it finds what the first one wrote.
    id: idFrom(`${by.run}:${by.call}:${index}`),
    name,
    instruction,
    time: planTime(name, when, now),
  }));
  const written = await store.setPlans(db.rows, by, writes, MOST_PLANS);
  if (written.ok)
    return written.plans.map(({ nextRunAt, ...plan }) => ({
      ...plan,
      nextRunAt: nextRunAt === null ? null : new Date(nextRunAt).toISOString(),
    }));
  switch (written.code) {
    case 'run_lost':
      throw runLost();
    case 'name_twice':
      throw new TroupeError('name_twice', `The plan "${written.name}" is there twice. Nothing was changed.`);
    case 'too_many':
      throw new TroupeError(
        'too_many_plans',
        `There are ${written.held} other plans that have yet to run, and ${MOST_PLANS} are the most. Nothing was changed: delete some first.`,
      );
  }
}

export async function plansOfRun(
  db: store.Database,
  { project, entity }: { project: string; entity: string },
  { status, limit }: { status: PlanStatus | null; limit: number },
): Promise<store.PlanRow[]> {
  return store.plansOfEntity(db.rows, { project, entity }, { status, limit });
}

export async function deletePlansOfRun(
  db: store.Database,
  by: store.PlansByRun,
  ids: readonly string[],
): Promise<number> {
  const deleted = await store.deletePlans(db.rows, by, ids);
  if (!deleted.ok) throw runLost();
  return deleted.deleted;
}

function runLost(): TroupeError {
  return new TroupeError('run_lost', 'Another worker has taken over this run.');
}
