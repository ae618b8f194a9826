import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';

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

/** Totals since the worker began, so that the same report can be sent twice. */
export async function reportBudgets(
  db: Database,
  worker: string,
  entries: { budget: string; spent: number; returned: number }[],
): Promise<void> {
  await db.run({
    name: 'report_budgets',
    text: 'select troupe.report_budgets($1, $2::jsonb)',
    values: [worker, toJsonText(entries)],
  });
}

export async function createBudget(
  db: Database,
  budget: {
    id: string;
    project: string;
    scope: string;
    scopeId: string;
    unit: 'tokens' | 'cost';
    amount: number;
    onExhausted: 'stop' | 'fallback' | 'wait';
  },
): Promise<void> {
  await db.run({
    name: 'create_budget',
    text: `insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount, on_exhausted) values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [
      budget.id,
      budget.project,
      budget.scope,
      budget.scopeId,
      budget.unit,
      budget.amount,
      budget.onExhausted,
    ],
  });
}

/** Sets a new amount and lets the runs go on that wait for it. */
export async function raiseBudget(db: Database, budget: string, amount: number): Promise<string[]> {
  const rows = await db.run<{ id: string }>({
    name: 'raise_budget',
    text: 'select id from troupe.raise_budget($1, $2) as id',
    values: [budget, amount],
  });
  return rows.map((row) => row.id);
}
