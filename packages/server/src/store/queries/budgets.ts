import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { BELOW, NEXT } from './stamps.ts';

export interface Lease {
  granted: number;
  /** There is no such budget (any more). */
  unlimited?: boolean;
  amount?: number;
  /** What other workers hold at the moment and have not spent. */
  others?: number;
  unit?: 'tokens' | 'cost';
  onExhausted?: 'stop' | 'fallback' | 'wait';
}

export async function leaseBudget(
  db: Database,
  budget: string,
  worker: string,
  known: number,
  want: number,
): Promise<Lease> {
  const rows = await db.run<{ lease: Lease }>({
    name: 'lease_budget',
    text: 'select troupe.lease_budget($1, $2, $3, $4) as lease',
    values: [budget, worker, known, want],
  });
  return rows[0]!.lease;
}

/** Budgets of which this worker holds a share, as far as the database knows. */
export async function leasedBy(db: Database, worker: string): Promise<string[]> {
  const rows = await db.run<{ budget_id: string }>({
    name: 'leased_by',
    text: 'select budget_id from troupe.budget_leases where worker_id = $1',
    values: [worker],
  });
  return rows.map((row) => row.budget_id);
}

/** Totals since the worker started, and the step that spent last since the previous report. */
export interface BudgetReport {
  budget: string;
  spent: number;
  returned: number;
  run?: string;
  step?: number;
}

/** Can be sent twice. Appends `budget.warning` if this spending reaches 80 % of a budget. */
export async function reportBudgets(db: Database, worker: string, entries: BudgetReport[]): Promise<void> {
  await db.run({
    name: 'report_budgets',
    text: 'select troupe.report_budgets($1, $2::jsonb)',
    values: [worker, toJsonText(entries)],
  });
}

/** A budget by what it is for. */
export interface BudgetKey {
  project: string;
  scope: 'project' | 'agent' | 'space' | 'session';
  scopeId: string;
  unit: 'tokens' | 'cost';
}

/** Whether what the budget is to be for is there, in this project. */
export async function hasScope(
  rows: Transaction,
  { project, scope, scopeId }: Omit<BudgetKey, 'unit'>,
): Promise<boolean> {
  if (scope === 'project') return scopeId.toLowerCase() === project.toLowerCase();
  const table = ({ agent: 'agents', space: 'spaces', session: 'sessions' } as const)[scope];
  const found = await rows
    .selectFrom(table)
    .select('id')
    .where('project_id', '=', project)
    .where('id', '=', scopeId)
    .executeTakeFirst();
  return found !== undefined;
}

/**
 * Sets a budget and queues the runs that wait for it. These are locked before the budget, as a run does that lies down
 * to wait for it; `wakeForBudget` finds those that did meanwhile.
 */
export async function setBudget(
  rows: Transaction,
  key: BudgetKey,
  { id, amount, onExhausted }: { id: string; amount: number; onExhausted: 'stop' | 'fallback' | 'wait' },
): Promise<string> {
  const known = await findBudgetId(rows, key);
  if (known) await sql`select from troupe.raise_budget(${known}, ${amount})`.execute(rows);
  const { rows: set } = await sql<{ id: string }>`
    insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount, on_exhausted)
      values (${id}, ${key.project}, ${key.scope}, ${key.scopeId}, ${key.unit}, ${amount}, ${onExhausted})
      on conflict (scope, scope_id, unit) do update
        set amount = excluded.amount, on_exhausted = excluded.on_exhausted, updated_at = now() returning id`.execute(
    rows,
  );
  return set[0]!.id;
}

/** Answers which it was; null where there is none. Nobody waits any more for what is not there. */
export async function deleteBudget(rows: Transaction, key: BudgetKey): Promise<string | null> {
  const known = await findBudgetId(rows, key);
  if (!known) return null;
  await sql`select from troupe.raise_budget(${known}, ${Number.MAX_SAFE_INTEGER})`.execute(rows);
  const deleted = await rows.deleteFrom('budgets').where('id', '=', known).returning('id').executeTakeFirst();
  return deleted?.id ?? null;
}

async function findBudgetId(rows: Transaction, key: BudgetKey): Promise<string | undefined> {
  const found = await rows
    .selectFrom('budgets')
    .select('id')
    .where('project_id', '=', key.project)
    .where('scope', '=', key.scope)
    .where('scope_id', '=', key.scopeId)
    .where('unit', '=', key.unit)
    .executeTakeFirst();
  return found?.id;
}

/** Queues the runs that wait for a budget, whatever it is now. */
export async function wakeForBudget(db: Database, budget: string): Promise<string[]> {
  const rows = await db.run<{ id: string }>({
    name: 'wake_for_budget',
    text: `select id from troupe.raise_budget($1, (select b.amount from troupe.budgets b where b.id = $1)) as id`,
    values: [budget],
  });
  return rows.map((row) => row.id);
}

/** Queues the runs that lay down to wait for a budget while it was deleted. */
export async function wakeForDeletedBudgets(db: Database): Promise<number> {
  const rows = await db.run(
    {
      name: 'wake_for_deleted_budgets',
      text: `with gone as (select distinct (r.wait_state->>'budget')::uuid as budget from troupe.runs r
          where r.status in ('waiting_tool', 'waiting_reply') and r.wait_state ? 'budget'
            and not exists (select from troupe.budgets b where b.id = (r.wait_state->>'budget')::uuid))
        select woken from gone, troupe.raise_budget(gone.budget, 0) as woken`,
      values: [],
    },
    db.pool,
  );
  return rows.length;
}

/** What a budget holds for: a project, an agent, a space, or the thread of a session. */
export interface BudgetTarget {
  scope: 'project' | 'agent' | 'space' | 'session';
  id: string;
}

const PAGE = 10_000;
const NOBODY = '00000000-0000-0000-0000-000000000000';
const STANDING = `troupe.budgets b left join troupe.sessions s on b.scope = 'session' and s.id = b.scope_id`;

/** The ids of all for which some are set, of all projects, in pages. Not through the statements of the kernel: no run waits for it. */
export async function* budgetTargets(db: Database): AsyncGenerator<string[]> {
  for (let after = NOBODY; ; ) {
    const { rows } = await db.pool.query<{ id: string; target: string }>(
      `select b.id, coalesce(s.thread_id, b.scope_id) as target from ${STANDING}
        where b.scope <> 'run_tree' and b.id > $1 order by b.id limit $2`,
      [after, PAGE],
    );
    yield rows.map(({ target }) => target);
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.id;
  }
}

/**
 * The ids of those for which some were set in this transaction or a later one (null: of none), and the transaction to ask from next:
 * all before it have ended.
 */
export async function budgetTargetsSince(
  db: Database,
  since: number | null,
): Promise<{ below: number; targets: string[] }> {
  const { rows } = await db.pool.query<{ below: number; target: string | null }>(
    `with horizon as materialized (
      select ${BELOW} as below, ${NEXT} as next)
    select h.below, b.target from horizon h left join lateral (select coalesce(s.thread_id, b.scope_id) as target from ${STANDING}
      where b.scope <> 'run_tree' and b.xid >= $1::bigint and b.xid < h.next) b on true`,
    [since],
  );
  return { below: rows[0]!.below, targets: rows.flatMap(({ target }) => target ?? []) };
}

/** The budgets that are set for each of these. */
export async function budgetsFor(db: Database, targets: BudgetTarget[]): Promise<string[][]> {
  const rows = await db.run<{ budgets: string[] }>({
    name: 'budgets_for',
    text: `select array(select b.id from troupe.budgets b where b.scope = t.scope
          and b.scope_id = case t.scope when 'session' then (select s.id from troupe.sessions s where s.thread_id = t.id) else t.id end order by b.id) as budgets
        from unnest($1::text[], $2::uuid[]) with ordinality as t (scope, id, place) order by t.place`,
    values: [targets.map(({ scope }) => scope), targets.map(({ id }) => id)],
  });
  return rows.map(({ budgets }) => budgets);
}

/** So that the tasks that the run gives have them too, and whoever settles after a dead worker knows what it spent of them. */
export async function addRunBudgets(
  db: Database,
  run: { id: string; epoch: number },
  budgets: string[],
): Promise<void> {
  await db.run({
    name: 'add_run_budgets',
    text: 'update troupe.runs set budget_ids = $3 where id = $1 and epoch = $2',
    values: [run.id, run.epoch, budgets],
  });
}
