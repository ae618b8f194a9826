import type { Api } from '@troupe/sdk';
import { formatCost, formatNumber, shortId } from '../../data/format.ts';

export const scopes: Record<Api.Budget['scope'], string> = {
  project: 'Project',
  agent: 'Agent',
  space: 'Space',
  session: 'Session',
  run_tree: 'Run and what it began',
};

export const exhausted: Record<Api.Budget['onExhausted'], string> = {
  stop: 'runs are canceled',
  fallback: 'runs take their next model',
  wait: 'runs wait',
};

export const formatAmount = (unit: Api.Budget['unit'], value: number) =>
  unit === 'cost' ? formatCost(value) : `${formatNumber(value)} tokens`;

/** One thing may have a budget of each unit. */
export const titleOf = ({ name, scopeId, unit }: Api.Budget) => `${name ?? shortId(scopeId)} in ${unit}`;
