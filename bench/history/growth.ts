import type { Execution } from './captured-plans.ts';

export interface Growth {
  text: string;
  /** Most pages of one execution, with the short and with the long history. */
  before: number;
  after: number;
}

/** Indexes become one level deeper and statistics change the order of joins; a scan of history exceeds both. */
const FACTOR = 2;
const ALLOWANCE = 60;

/** Statements whose cost depends on the length of the history. */
export function growing(before: readonly Execution[], after: readonly Execution[]): Growth[] {
  const short = mostPages(before);
  return [...mostPages(after)]
    .map(([text, pages]) => ({ text, before: short.get(text) ?? 0, after: pages }))
    .filter((one) => one.after > one.before * FACTOR + ALLOWANCE)
    .toSorted((one, two) => two.after - one.after);
}

function mostPages(executions: readonly Execution[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const { text, pages } of executions) most.set(text, Math.max(pages, most.get(text) ?? 0));
  return most;
}
