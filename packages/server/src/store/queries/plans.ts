import type { PlanStatus } from '@troupe/protocol';
import { once } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { isTaken } from '../errors.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import type { RunFence } from './memories.ts';
import type { NewRun, StartItem } from './start.ts';

// The job that fires a plan is written by a trigger of the table: no statement here could forget it.

/** When a plan runs: one of the first three, and what comes of it. */
export interface PlanTime {
  runAfter: string | null;
  scheduledAt: Date | null;
  cron: string | null;
  /** Where there is a cron. */
  timeZone: string | null;
  nextRunAt: Date;
}

export interface PlanRow extends Omit<PlanTime, 'nextRunAt'> {
  id: string;
  agentId: string;
  entityId: string;
  name: string;
  instruction: string;
  status: PlanStatus;
  nextRunAt: Date | null;
  lastRunAt: Date | null;
  lastRunId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const SHOWN = once(
  () => sql`p.id, p.agent_id as "agentId", p.entity_id as "entityId", p.name, p.instruction, p.run_after as "runAfter",
  p.scheduled_at as "scheduledAt", p.cron, p.time_zone as "timeZone", p.status, p.next_run_at as "nextRunAt", p.last_run_at as "lastRunAt",
  p.last_run_id as "lastRunId", p.created_at as "createdAt", p.updated_at as "updatedAt"`,
);

export interface PlansOf {
  project: string;
  agent: string;
}

/** Newest first; `before` is the last of the page before. Without an agent, those of all. */
export async function listPlans(
  on: Rows,
  { project, agent }: { project: string; agent: string | null },
  { status, before, limit }: { status?: PlanStatus | undefined; before: string | undefined; limit: number },
): Promise<PlanRow[]> {
  const { rows } = await sql<PlanRow>`select ${SHOWN()} from troupe.plans p
    where p.project_id = ${project} and (${agent}::uuid is null or p.agent_id = ${agent}) and (${status ?? null}::text is null or p.status = ${status ?? null})
      and (${before}::uuid is null or p.id < ${before}::uuid) order by p.id desc limit ${limit}`.execute(on);
  return rows;
}

export async function readPlan(on: Rows, { project, agent }: PlansOf, id: string): Promise<PlanRow | null> {
  const { rows } = await sql<PlanRow>`select ${SHOWN()} from troupe.plans p
    where p.id = ${id} and p.project_id = ${project} and p.agent_id = ${agent}`.execute(on);
  return rows[0] ?? null;
}

/** Nobody else writes plans of this entity until the transaction ends. Answers how many others than `except` have yet to run. */
export async function lockPlans(
  transaction: Transaction,
  entity: string,
  except: string | null = null,
): Promise<number> {
  await sql`select troupe.lock_plans(${entity})`.execute(transaction);
  // In a statement of its own: it sees what the one before us wrote.
  const { rows } = await sql<{ pending: number }>`select count(*) as pending from troupe.plans p
    where p.entity_id = ${entity} and p.status = 'pending' and p.id is distinct from ${except}::uuid`.execute(
    transaction,
  );
  return rows[0]!.pending;
}

export interface NewPlan extends PlansOf {
  id: string;
  entity: string;
  name: string;
  instruction: string;
  time: PlanTime;
}

/** False where the agent has a plan of this name. */
export async function insertPlan(transaction: Transaction, plan: NewPlan): Promise<boolean> {
  const { time } = plan;
  const { rows } =
    await sql`insert into troupe.plans (id, project_id, agent_id, entity_id, name, instruction, run_after, scheduled_at, cron, time_zone, next_run_at)
    values (${plan.id}, ${plan.project}, ${plan.agent}, ${plan.entity}, ${plan.name}, ${plan.instruction}, ${time.runAfter}, ${time.scheduledAt},
      ${time.cron}, ${time.timeZone}, ${time.nextRunAt})
    on conflict (entity_id, troupe.folded(name)) do nothing returning id`.execute(transaction);
  return rows.length === 1;
}

export interface PlanChange {
  name?: string | undefined;
  instruction?: string | undefined;
  /** It is pending then. */
  time?: PlanTime | undefined;
}

/** False where another plan of the agent has the name. */
export async function updatePlan(
  transaction: Transaction,
  id: string,
  { name, instruction, time }: PlanChange,
): Promise<boolean> {
  const when = time
    ? sql`, run_after = ${time.runAfter}, scheduled_at = ${time.scheduledAt}, cron = ${time.cron}, time_zone = ${time.timeZone},
        next_run_at = ${time.nextRunAt}, status = 'pending'`
    : sql``;
  try {
    await sql`update troupe.plans set name = coalesce(${name ?? null}, name), instruction = coalesce(${instruction ?? null}, instruction),
      version = version + 1, updated_at = now() ${when} where id = ${id}`.execute(transaction);
    return true;
  } catch (error) {
    if (isTaken(error, 'plans_name')) return false;
    throw error;
  }
}

/** Whether it was pending. */
export async function cancelPlan(transaction: Transaction, id: string): Promise<boolean> {
  const { rows } =
    await sql`update troupe.plans set status = 'canceled', next_run_at = null, version = version + 1, updated_at = now()
    where id = ${id} and status = 'pending' returning id`.execute(transaction);
  return rows.length === 1;
}

export async function deletePlan(
  transaction: Transaction,
  { project, agent }: PlansOf,
  id: string,
): Promise<{ name: string } | null> {
  const { rows } = await sql<{
    name: string;
  }>`delete from troupe.plans where id = ${id} and project_id = ${project} and agent_id = ${agent}
    returning name`.execute(transaction);
  return rows[0] ?? null;
}

// ---- by runs

/** Whose plans a run sets, and the call that does it. */
export interface PlansByRun extends RunFence {
  project: string;
  agent: string;
  entity: string;
  call: string;
}

export interface PlanWrite {
  /** For a new one. */
  id: string;
  name: string;
  /** Absent: as it was. */
  instruction?: string | undefined;
  time: PlanTime;
}

export type PlansSet =
  | { ok: true; plans: { id: string; name: string; nextRunAt: string | null; created: boolean }[] }
  | { ok: false; code: 'run_lost' }
  | { ok: false; code: 'name_twice'; name: string }
  | { ok: false; code: 'too_many'; held: number };

export async function setPlans(
  on: Rows,
  by: PlansByRun,
  plans: readonly PlanWrite[],
  most: number,
): Promise<PlansSet> {
  const items = plans.map(({ time, ...plan }) => ({ ...plan, ...time }));
  const { rows } = await sql<{
    answer: PlansSet;
  }>`select troupe.set_plans(${by.project}::uuid, ${by.agent}::uuid, ${by.entity}::uuid,
    ${toJsonText(items)}::jsonb, ${most}::int, ${by.run}::uuid, ${by.epoch}::int, ${by.worker}::uuid, ${by.call}) as answer`.execute(
    on,
  );
  return rows[0]!.answer;
}

export async function deletePlans(
  on: Rows,
  by: PlansByRun,
  ids: readonly string[],
): Promise<{ ok: true; deleted: number } | { ok: false; code: 'run_lost' }> {
  const { rows } = await sql<{
    answer: { ok: true; deleted: number } | { ok: false; code: 'run_lost' };
  }>`select troupe.delete_plans(${by.project}::uuid, ${by.entity}::uuid, ${ids}::uuid[],
    ${by.run}::uuid, ${by.epoch}::int, ${by.worker}::uuid) as answer`.execute(on);
  return rows[0]!.answer;
}

/** What runs next comes first; what will not run any more comes last, the newest of it first. */
export async function plansOfEntity(
  on: Rows,
  { project, entity }: { project: string; entity: string },
  { status, limit }: { status: PlanStatus | null; limit: number },
): Promise<PlanRow[]> {
  const { rows } = await sql<PlanRow>`select ${SHOWN()} from troupe.plans p
    where p.project_id = ${project} and p.entity_id = ${entity} and (${status}::text is null or p.status = ${status})
    order by p.next_run_at nulls last, p.updated_at desc, p.id limit ${limit}`.execute(on);
  return rows;
}

// ---- firing

export interface DuePlan extends PlanRow {
  projectId: string;
  version: number;
  /** The database's clock decides. */
  due: boolean;
}

export async function readPlanToFire(db: Database, id: string): Promise<DuePlan | null> {
  const { rows } = await sql<DuePlan>`select ${SHOWN()}, p.project_id as "projectId", p.version,
    coalesce(p.next_run_at <= now(), false) as due from troupe.plans p where p.id = ${id}`.execute(db.rows);
  return rows[0] ?? null;
}

export interface Firing {
  plan: string;
  /** As it was read. */
  version: number;
  /** Null: it does not run again. */
  next: Date | null;
  /** What triggers the run is told by the plan. */
  start: { item: StartItem & { run: NewRun } } | { skipped: string };
}

export async function firePlan(
  db: Database,
  { plan, version, next, start }: Firing,
): Promise<{ ok: true; run: string | null } | { ok: false }> {
  const [item, why] = 'item' in start ? [toJsonText(start.item), null] : [null, start.skipped];
  const [row] = await db.run<{ verdict: { ok: true; run: string | null } | { ok: false } }>(
    {
      name: 'fire_plan',
      text: 'select troupe.fire_plan($1, $2, $3, $4::jsonb, $5) as verdict',
      values: [plan, version, next, item, why],
    },
    db.pool,
  );
  return row!.verdict;
}

/** Gives plans that are late and that nobody looks at any more a new job. */
export async function rearmPlans(db: Database, lateSeconds: number): Promise<number> {
  const { rows } = await sql<{
    armed: number;
  }>`select troupe.rearm_plans(make_interval(secs => ${lateSeconds})) as armed`.execute(db.rows);
  return rows[0]!.armed;
}
