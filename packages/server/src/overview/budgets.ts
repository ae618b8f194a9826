import type { Budget, BudgetScope, BudgetUnit } from '@troupe/protocol';
import { MILLIONTHS, newId, notFound, Refusal } from '../base/index.ts';
import { type Kernel, patiently } from '../kernel/index.ts';
import {
  type Author,
  type BudgetRow,
  type Database,
  deleteBudget,
  hasScope,
  inTransaction,
  listBudgets,
  noteChange,
  setBudget,
} from '../store/index.ts';

/** What a budget is for, and what it counts: there is one of each at most. */
export interface BudgetName {
  scope: BudgetScope;
  scopeId: string;
  unit: BudgetUnit;
}

export function readBudgets(db: Database, project: string): Promise<BudgetRow[]> {
  return listBudgets(db, project);
}

export async function putBudget(
  db: Database,
  kernel: Kernel,
  author: Author,
  name: BudgetName,
  { amount, onExhausted }: Pick<Budget, 'amount' | 'onExhausted'>,
): Promise<BudgetRow> {
  if (name.unit === 'tokens' && !Number.isInteger(amount)) {
    throw new Refusal('invalid', 'amount_not_whole', 'Tokens are whole: the amount is not.', {
      hint: 'Send a whole number, or set a budget of cost.',
    });
  }
  const key = { project: author.project, ...name };
  const stored = name.unit === 'cost' ? Math.round(amount * MILLIONTHS) : amount;
  const id = await patiently(() =>
    inTransaction(db, async (rows) => {
      if (!(await hasScope(rows, key))) throw notFound(name.scope);
      const set = await setBudget(rows, key, { id: newId(), amount: stored, onExhausted });
      await noteChange(rows, author, {
        action: 'budget.set',
        target: set,
        data: { ...name, amount, onExhausted },
      });
      return set;
    }),
  );
  await kernel.budgetChanged(id);
  const [row] = await listBudgets(db, author.project, id);
  // Somebody deleted it meanwhile.
  if (!row) throw notFound('budget');
  return row;
}

export async function removeBudget(
  db: Database,
  kernel: Kernel,
  author: Author,
  name: BudgetName,
): Promise<void> {
  const id = await patiently(() =>
    inTransaction(db, async (rows) => {
      const deleted = await deleteBudget(rows, { project: author.project, ...name });
      if (!deleted) throw notFound('budget');
      await noteChange(rows, author, { action: 'budget.deleted', target: deleted, data: { ...name } });
      return deleted;
    }),
  );
  await kernel.budgetChanged(id);
}
