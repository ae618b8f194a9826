import type { Api } from '@troupe/sdk';

/** What the address says: which time, in what pieces, by what. */
export interface UsageSearch {
  /** One of `ranges`, or from a time to another. */
  range?: RangeName;
  from?: string;
  to?: string;
  interval?: Api.UsageInterval;
  by?: 'agent' | 'model' | 'network';
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const widths: Record<Api.UsageInterval, number> = { minute: MINUTE, hour: HOUR, day: DAY };
/** As many intervals as the API gives at once. */
const MOST = 500;

export const ranges = {
  '1h': { label: 'Last hour', ms: HOUR, interval: 'minute' },
  '24h': { label: 'Last 24 hours', ms: DAY, interval: 'hour' },
  '7d': { label: 'Last 7 days', ms: 7 * DAY, interval: 'hour' },
  '30d': { label: 'Last 30 days', ms: 30 * DAY, interval: 'day' },
  '90d': { label: 'Last 90 days', ms: 90 * DAY, interval: 'day' },
} as const satisfies Record<string, { label: string; ms: number; interval: Api.UsageInterval }>;
export type RangeName = keyof typeof ranges;

export function parseUsageSearch(given: Record<string, unknown>): UsageSearch {
  const search: UsageSearch = {};
  if (typeof given.range === 'string' && given.range in ranges) search.range = given.range as RangeName;
  for (const name of ['from', 'to'] as const) {
    const value = given[name];
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) search[name] = value;
  }
  if (given.interval === 'minute' || given.interval === 'hour' || given.interval === 'day')
    search.interval = given.interval;
  if (given.by === 'agent' || given.by === 'model' || given.by === 'network') search.by = given.by;
  return search;
}

export interface Window {
  from: string;
  to: string;
  interval: Api.UsageInterval;
}

/** The time that is meant, now; the interval is a longer one where there would be too many. */
export function windowOf({ range, from, to, interval }: UsageSearch): Window {
  const chosen = ranges[range ?? '24h'];
  const isOwn = from !== undefined || to !== undefined;
  const end = to ? Date.parse(to) : Date.now();
  const start = from ? Date.parse(from) : end - chosen.ms;
  const span = Math.max(end - start, MINUTE);
  const wanted = interval ?? (isOwn ? naturalInterval(span) : chosen.interval);
  const fitting = fits(wanted, span) ? wanted : naturalInterval(span);
  return { from: new Date(start).toISOString(), to: new Date(start + span).toISOString(), interval: fitting };
}

/** One more than the span has: it begins where an interval does. */
export function fits(interval: Api.UsageInterval, span: number): boolean {
  return span / widths[interval] + 1 <= MOST;
}

function naturalInterval(span: number): Api.UsageInterval {
  if (span <= 3 * HOUR) return 'minute';
  return span <= 8 * DAY ? 'hour' : 'day';
}
