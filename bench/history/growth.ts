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
  const short = pagesByText(before);
  return [...pagesByText(after)]
    .map(([text, pages]) => ({ text, before: short.get(text) ?? 0, after: pages }))
    .filter((one) => one.after > one.before * FACTOR + ALLOWANCE)
    .toSorted((one, two) => two.after - one.after);
}

function pagesByText(executions: readonly Execution[]): Map<string, number> {
  const pages = Map.groupBy(executions, ({ text }) => text);
  return new Map(
    [...pages].map(([text, list]) => [
      text,
      typical(
        text,
        list.map((one) => one.pages),
      ),
    ]),
  );
}

/**
 * Most of all executions, since the cost of a list depends on its filter. A function of the kernel gets the median: its plans belong to a
 * connection, and the execution that makes them reads the catalog too.
 */
function typical(text: string, pages: number[]): number {
  const sorted = pages.toSorted((one, two) => one - two);
  return sorted[text.startsWith('select troupe.') ? Math.floor((sorted.length - 1) / 2) : sorted.length - 1]!;
}
