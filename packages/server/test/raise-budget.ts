import type { Database, Kernel } from '@troupe/server';
import { setBudget } from '../src/store/queries/budgets.ts';

/** Sets another amount the way PUT /v1/budgets does. */
export async function raiseBudget(
  { db, kernel }: { db: Database; kernel: Kernel },
  id: string,
  amount: number,
): Promise<void> {
  const found = await db.rows
    .selectFrom('budgets')
    .select(['project_id', 'scope', 'scope_id', 'unit', 'on_exhausted'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const key = { project: found.project_id, scope: found.scope, scopeId: found.scope_id, unit: found.unit };
  const how = { id, amount, onExhausted: found.on_exhausted };
  await setBudget(db.rows, key as Parameters<typeof setBudget>[1], how as Parameters<typeof setBudget>[2]);
  await kernel.budgetChanged(id);
}
