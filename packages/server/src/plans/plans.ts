import { MOST_PLANS, type PlanStatus } from '@troupe/protocol';
import { LRUCache } from 'lru-cache';
import {
  type IdRange,
  type ListQuery,
  newId,
  notFound,
  type Page,
  Refusal,
  readPageById,
} from '../base/index.ts';
import { agentArchived } from '../definitions/agents/index.ts';
import * as store from '../store/index.ts';
import { cronTimes, type GivenTime, planTime } from './plan-times.ts';

export interface GivenPlan extends GivenTime {
  name: string;
  instruction: string;
}

/** How many of the times to come are shown. */
const SHOWN_TIMES = 5;

export async function createPlan(
  db: store.Database,
  author: store.Author,
  agentId: string,
  { name, instruction, ...when }: GivenPlan,
): Promise<store.PlanRow> {
  const agent = await store.readAgent(db.rows, author.project, agentId);
  if (!agent) throw notFound('agent');
  if (agent.status === 'archived') throw agentArchived();
  const of = { project: author.project, agent: agentId };
  return store.inTransaction(db, async (transaction) => {
    const pending = await store.lockPlans(transaction, agent.entity_id);
    const id = newId();
    const time = planTime(name, when, new Date());
    const plan = { ...of, id, entity: agent.entity_id, name, instruction, time };
    if (!(await store.insertPlan(transaction, plan))) throw nameTaken(name);
    if (pending >= MOST_PLANS) throw tooMany();
    await store.noteChange(transaction, author, {
      action: 'plan.created',
      target: id,
      data: { agentId, name },
    });
    return (await store.readPlan(transaction, of, id))!;
  });
}

/** Of an agent, or (null) of all. */
export async function listPlans(
  db: store.Database,
  project: string,
  agentId: string | null,
  { status, ...query }: ListQuery & { status?: PlanStatus | undefined },
): Promise<Page<store.PlanRow>> {
  const list = async (range: IdRange) => {
    if (agentId !== null && !(await store.readAgent(db.rows, project, agentId))) throw notFound('agent');
    return store.listPlans(db.rows, { project, agent: agentId }, { status, ...range });
  };
  return readPageById(query, list);
}

export async function getPlan(
  db: store.Database,
  project: string,
  { agentId, planId }: PlanAddress,
): Promise<store.PlanRow> {
  return found(db.rows, { project, agent: agentId }, planId);
}

export interface PlanAddress {
  agentId: string;
  planId: string;
}

export async function updatePlan(
  db: store.Database,
  author: store.Author,
  address: PlanAddress,
  { name, instruction, ...when }: GivenTime & { name?: string | undefined; instruction?: string | undefined },
): Promise<store.PlanRow> {
  return change(db, author, address, async (transaction, row, pending) => {
    // Another time zone alone is another time too.
    const alone = Object.values(when).filter((value) => value !== undefined).length === 1;
    const given = when.timeZone !== undefined && alone && row.cron ? { ...when, cron: row.cron } : when;
    const isTimed = Object.values(given).some((value) => value !== undefined);
    const time = isTimed ? planTime(name ?? row.name, given, new Date()) : undefined;
    if (time && pending >= MOST_PLANS) throw tooMany();
    if (!(await store.updatePlan(transaction, row.id, { name, instruction, time }))) throw nameTaken(name!);
    return 'plan.changed';
  });
}

export async function cancelPlan(
  db: store.Database,
  author: store.Author,
  address: PlanAddress,
): Promise<store.PlanRow> {
  return change(db, author, address, async (transaction, { id }) =>
    (await store.cancelPlan(transaction, id)) ? 'plan.canceled' : null,
  );
}

export async function deletePlan(
  db: store.Database,
  author: store.Author,
  { agentId, planId }: PlanAddress,
): Promise<void> {
  await store.inTransaction(db, async (transaction) => {
    const gone = await store.deletePlan(transaction, { project: author.project, agent: agentId }, planId);
    if (!gone) throw notFound('plan');
    const data = { agentId, name: gone.name };
    await store.noteChange(transaction, author, { action: 'plan.deleted', target: planId, data });
  });
}

/** `act` answers what it has done, for the audit log; null: nothing. */
async function change(
  db: store.Database,
  author: store.Author,
  { agentId, planId }: PlanAddress,
  act: (
    transaction: store.Transaction,
    row: store.PlanRow,
    /** Others of the agent that have yet to run. */
    pending: number,
  ) => Promise<string | null>,
): Promise<store.PlanRow> {
  const of = { project: author.project, agent: agentId };
  const { entityId } = await found(db.rows, of, planId);
  return store.inTransaction(db, async (transaction) => {
    const pending = await store.lockPlans(transaction, entityId, planId);
    const action = await act(transaction, await found(transaction, of, planId), pending);
    const row = await found(transaction, of, planId);
    const data = { agentId, name: row.name };
    if (action !== null) await store.noteChange(transaction, author, { action, target: planId, data });
    return row;
  });
}

async function found(on: store.Rows, of: store.PlansOf, id: string): Promise<store.PlanRow> {
  const row = await store.readPlan(on, of, id);
  if (!row) throw notFound('plan');
  return row;
}

/** A rare time takes ten milliseconds to find, and a list has 200 of them. What follows from the key stays right. */
const known = new LRUCache<string, Date[]>({ max: 5_000 });

/** The next times of a plan, at most five. */
export function nextRunsOf({ nextRunAt, cron, timeZone }: store.PlanRow): Date[] {
  if (nextRunAt === null) return [];
  if (cron === null) return [nextRunAt];
  const key = `${cron} ${timeZone} ${nextRunAt.getTime()}`;
  const found = known.get(key);
  if (found) return found;
  const times = [nextRunAt, ...cronTimes(cron, timeZone!, nextRunAt, SHOWN_TIMES - 1)];
  known.set(key, times);
  return times;
}

function nameTaken(name: string): Refusal {
  return new Refusal('conflict', 'name_taken', `The agent has a plan named "${name}" already.`, {
    hint: 'Take another name, or change that plan.',
    issues: [{ path: 'name', message: 'is taken' }],
  });
}

function tooMany(): Refusal {
  const most = `An agent has ${MOST_PLANS} plans that have yet to run, no more.`;
  return new Refusal('conflict', 'too_many_plans', most, { hint: 'Cancel or delete some of them.' });
}
