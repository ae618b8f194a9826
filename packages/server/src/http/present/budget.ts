import type { Budget } from '@troupe/protocol';
import { MILLIONTHS } from '../../base/index.ts';
import type { BudgetRow } from '../../store/index.ts';

export function presentBudget({ amount, spent, reserved, ...budget }: BudgetRow): Budget {
  const inUnits = (value: number) => (budget.unit === 'cost' ? value / MILLIONTHS : value);
  return { ...budget, amount: inUnits(amount), spent: inUnits(spent), reserved: inUnits(reserved) };
}
