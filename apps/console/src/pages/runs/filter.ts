import type { Api, Troupe } from '@troupe/sdk';

/** Which runs the list shows: all of it is in the address, under the names that the API has. */
export interface RunsSearch {
  /** Several, separated by commas. */
  status?: string;
  agentId?: string;
  networkId?: string;
  sessionId?: string;
  spaceId?: string;
  parentRunId?: string;
  task?: string;
  door?: Api.DoorName;
  triggerType?: string;
  /** A time, or `today`, `1h`, `24h`, `7d`, `30d`: those move along with the clock. */
  since?: string;
  until?: string;
  search?: string;
}

export const STATUSES = [
  'queued',
  'running',
  'waiting_tool',
  'waiting_reply',
  'completed',
  'failed',
  'canceled',
] as const satisfies Api.RunStatus[];
export const DOORS = ['session', 'space', 'network', 'task'] as const satisfies Api.DoorName[];
export const statusWords: Record<Api.RunStatus, string> = {
  queued: 'Queued',
  running: 'Running',
  waiting_tool: 'Waiting for a tool',
  waiting_reply: 'Waiting for a reply',
  completed: 'Completed',
  failed: 'Failed',
  canceled: 'Canceled',
};
export const doorWords: Record<Api.DoorName, string> = {
  session: 'Session',
  space: 'Space',
  network: 'Network',
  task: 'Task',
};
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;

const ids = ['agentId', 'networkId', 'sessionId', 'spaceId', 'parentRunId', 'task'] as const;
const UUID = /^[0-9a-f-]{36}$/i;

/** What an address says, without what it cannot mean: an old or mistyped one shows more, not an error. */
export function parseRunsSearch(given: Record<string, unknown>): RunsSearch {
  const text = (name: string) => {
    const value = given[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  };
  const search: RunsSearch = {};
  const statuses = STATUSES.filter((status) => text('status').split(',').includes(status));
  if (statuses.length > 0) search.status = statuses.join(',');
  for (const name of ids) if (UUID.test(text(name))) search[name] = text(name);
  const door = DOORS.find((name) => name === text('door'));
  if (door) search.door = door;
  if (/^[a-z_]{1,100}$/.test(text('triggerType'))) search.triggerType = text('triggerType');
  if (text('since') in spans || text('since') === 'today' || isTime(text('since')))
    search.since = text('since');
  if (isTime(text('until'))) search.until = text('until');
  if (text('search')) search.search = text('search').slice(0, 200);
  return search;
}

function isTime(text: string): boolean {
  return text.includes('T') && !Number.isNaN(Date.parse(text));
}

type Query = NonNullable<NonNullable<Parameters<Troupe['runs']['list']>[0]>['query']>;

/** What the API is asked, now. */
export function queryOf({ since, until, ...search }: RunsSearch): Query {
  return {
    ...search,
    ...(since ? { since: sinceTime(since) } : {}),
    ...(until ? { until: new Date(until).toISOString() } : {}),
  };
}

function sinceTime(since: string): string {
  if (since === 'today') return new Date(new Date().setHours(0, 0, 0, 0)).toISOString();
  const span = spans[since as keyof typeof spans];
  return new Date(span ? Date.now() - span : since).toISOString();
}

/** Whether a run that was in the list still belongs there, as far as that can have changed. */
export function stillFits({ status }: RunsSearch, run: { status: Api.RunStatus }): boolean {
  return !status || status.split(',').includes(run.status);
}

export function hasEnded({ status }: { status: string }): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled';
}
