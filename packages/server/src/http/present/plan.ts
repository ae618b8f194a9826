import type { Plan } from '@troupe/protocol';
import { nextRunsOf } from '../../plans/index.ts';
import type { PlanRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentPlan(row: PlanRow): Plan {
  return { ...isoTimes(row), nextRuns: nextRunsOf(row).map((time) => time.toISOString()) };
}
