// What the addresses of one run and of two say beside their path.

const runTabs = ['overview', 'timeline', 'steps', 'events', 'messages'] as const;
export type RunTab = (typeof runTabs)[number];

export interface RunSearch {
  tab?: RunTab;
  /** The step that is open. */
  step?: number;
  /** The step after which a fork is asked for. */
  fork?: number;
  /** The span of the timeline that is selected. */
  span?: string;
  /** Types of events, separated by commas. */
  types?: string;
  find?: string;
  /** The event that is open. */
  event?: number;
  /** Whose messages: of the whole thread, or of the run alone. */
  of?: 'thread' | 'run';
}

export function parseRunSearch(given: Record<string, unknown>): RunSearch {
  const search: RunSearch = {};
  const tab = runTabs.find((name) => name === given.tab);
  if (tab && tab !== 'overview') search.tab = tab;
  for (const name of ['step', 'event', 'fork'] as const) {
    const value = Number(given[name]);
    if (given[name] !== undefined && Number.isInteger(value) && value >= 0) search[name] = value;
  }
  for (const name of ['span', 'find'] as const)
    if (given[name] !== undefined && given[name] !== '') search[name] = String(given[name]).slice(0, 300);
  if (typeof given.types === 'string' && /^[a-z_.*]+(,[a-z_.*]+)*$/.test(given.types))
    search.types = given.types;
  if (given.of === 'thread' || given.of === 'run') search.of = given.of;
  return search;
}

interface CompareSearch {
  a?: string;
  b?: string;
}

export function parseCompareSearch({ a, b }: Record<string, unknown>): CompareSearch {
  return { ...(typeof a === 'string' ? { a } : {}), ...(typeof b === 'string' ? { b } : {}) };
}
