import type { RunStatus } from '@troupe/protocol';
import { firstIdAt } from '../../base/index.ts';
import type { Database } from '../database.ts';
import { RUN } from './run-columns.ts';
import type { RunRecord } from './runs.ts';

export interface RunFilter {
  /** Any of these. */
  statuses?: readonly RunStatus[] | undefined;
  agentId?: string | undefined;
  sessionId?: string | undefined;
  spaceId?: string | undefined;
  networkId?: string | undefined;
  door?: string | undefined;
  triggerType?: string | undefined;
  /** Those that calls of this run began. */
  parentRunId?: string | undefined;
  /** Those that worked on this task. */
  task?: string | undefined;
  entityId?: string | undefined;
  /** By when they were made. */
  since?: Date | undefined;
  until?: Date | undefined;
  before?: string | undefined;
  limit: number;
}

export interface ListedRunRecord extends RunRecord {
  asked: string | null;
}

interface Scope {
  project: string;
  entityId: string | null;
}

/** What a run was asked: kept with it, or the message that it answers. */
const ASKED = (most: number) => `left(coalesce(r.trigger->>'text', r.trigger->>'instruction',
  (select m.content->>'text' from troupe.messages m where m.thread_id = r.thread_id and m.seq = r.trigger_seq)), ${most})`;

// Runs that have not ended are few among all, and each of these is one look into a partial index. So are those that failed.
const OPEN: Partial<Record<RunStatus, string[]>> = {
  queued: [
    `status = 'queued' and ready and lane is null and code_tools is null`,
    `status = 'queued' and ready and lane is null and code_tools is not null`,
    `status in ('queued', 'running') and lane is not null and status = 'queued' and ready`,
    `status = 'queued' and not ready`,
  ],
  running: [`status = 'running'`],
  waiting_tool: [`status in ('waiting_tool', 'waiting_reply') and status = 'waiting_tool'`],
  waiting_reply: [`status in ('waiting_tool', 'waiting_reply') and status = 'waiting_reply'`],
};

const ENDED = ['completed', 'failed', 'canceled'] as const;
const list = (statuses: readonly RunStatus[]) => statuses.map((status) => `'${status}'`).join(', ');

/** Open runs with these statuses, by their partial indexes. */
function open(statuses: readonly RunStatus[]): string {
  const looks = statuses.flatMap((status) => OPEN[status] ?? []);
  return `r.id in (${looks.map((where) => `select id from troupe.runs where project_id = $1 and ${where}`).join(' union all ')})`;
}

/** Ended runs with these statuses. Completed ones are found among all; the others have an index of their own. */
function ended(statuses: readonly RunStatus[]): string {
  const all = statuses.includes('completed') ? ENDED : (['failed', 'canceled'] as const);
  return `r.status in (${list(all)}) and r.status in (${list(statuses)})`;
}

/** How many runs of a project are read for a page if no index has the ones that a filter selects. */
const MAX_READ = 5_000;

/** The last run that is read for a page; null if that is all of them. */
const END = (before: string | null) => `(select w.id from troupe.runs w
  where w.project_id = $1 ${before ? `and w.id < ${before}` : ''} order by w.id desc offset ${MAX_READ - 1} limit 1)`;

interface Conditions {
  where: string;
  values: unknown[];
  /** An expression for the last run that is read; null if an index leads to the runs of the filter. */
  end: string | null;
}

/** The conditions of a filter on `r`, and their values; `$1` is the project. */
function conditionsOf({ project, entityId }: Scope, filter: RunFilter): Conditions {
  const values: unknown[] = [project];
  const conditions = ['r.project_id = $1'];
  const add = (value: unknown, condition: (place: string) => string) => {
    if (value === undefined || value === null) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const ofSession = (one: string) =>
    `r.thread_id = (select x.thread_id from troupe.sessions x where x.id = ${one} and x.project_id = $1)`;
  add(
    entityId,
    (one) =>
      `exists (select from troupe.sessions x where x.thread_id = r.thread_id and x.entity_id = ${one})`,
  );
  add(filter.before, (one) => `r.id < ${one}`);
  add(filter.agentId, (one) => `r.agent_id = ${one}`);
  add(filter.sessionId, ofSession);
  add(filter.spaceId, (one) => `r.space_id = ${one}`);
  add(filter.networkId, (one) => `r.network_id = ${one}`);
  add(filter.door, (one) => `r.door = ${one}`);
  add(filter.triggerType, (one) => `r.trigger_type = ${one}`);
  add(filter.parentRunId, (one) => `r.parent_run_id = ${one} and r.parent_call_id is not null`);
  add(filter.task, (one) => `r.task_id = ${one}`);
  add(filter.entityId, (one) => `r.entity_id = ${one}`);
  // Ids begin with the time, as the process knew it that made them: close enough for the index to begin there.
  add(filter.since && firstIdAt(filter.since.getTime() - SKEW_MS), (one) => `r.id >= ${one}`);
  add(filter.since, (one) => `r.created_at >= ${one}`);
  add(filter.until && firstIdAt(filter.until.getTime() + SKEW_MS), (one) => `r.id < ${one}`);
  add(filter.until, (one) => `r.created_at < ${one}`);
  // What follows from the filter and leads to a partial index: without it, all runs of a project are read to find that there is none.
  if (filter.door === 'network' || filter.triggerType === 'network')
    conditions.push('r.network_id is not null');
  if (filter.door === 'space' || IN_SPACES.includes(filter.triggerType ?? ''))
    conditions.push(`r.door = 'space'`);
  const { sessionId, spaceId, networkId, parentRunId, task, door, triggerType } = filter;
  const isIndexed = [sessionId, spaceId, networkId, parentRunId, task].some((one) => one !== undefined);
  const isSelective = [entityId ?? undefined, door, triggerType].some((one) => one !== undefined);
  const before = filter.before === undefined ? null : `$${values.indexOf(filter.before) + 1}`;
  const end = isSelective && !isIndexed ? END(before) : null;
  if (end) conditions.push(`r.id >= coalesce(${end}, '${NOBODY}')`);
  return { where: conditions.join(' and '), values, end };
}

const SKEW_MS = 60_000;
const IN_SPACES = ['space_message', 'plan', 'service'];

export interface RunPage {
  runs: ListedRunRecord[];
  /** Before which run the next page begins; null after the last page. A page can be short, or empty, before the last. */
  next: string | null;
}

/** Newest first. Planned for the given filter: a plan for all filters would suit none. */
export async function listRuns(db: Database, scope: Scope, filter: RunFilter): Promise<RunPage> {
  const { where, values, end } = conditionsOf(scope, filter);
  // The runs are found before they are joined: joins would lead the planner away from the index.
  const found = await db.run<{ id: string | null; end: string | null }>(
    {
      name: 'find_runs',
      text: `select f.id, x."end" from (select ${end ?? 'null'} as "end") x left join (
          ${newest(where, filter, `$${values.length + 1}`)}) f on true order by f.id desc`,
      values: [...values, filter.limit + 1],
      plannedAnew: true,
    },
    db.pool,
  );
  const ids = found.flatMap(({ id }) => id ?? []);
  const shown = ids.slice(0, filter.limit);
  return {
    runs: shown.length === 0 ? [] : await furnished(db, shown),
    next: ids.length > filter.limit ? shown.at(-1)! : found[0]!.end,
  };
}

/** Ids of the newest runs. A filter by agent or status reads one index for ended runs and those of open runs. */
function newest(where: string, { agentId, statuses }: RunFilter, limit: string): string {
  const last = `order by r.id desc limit ${limit}`;
  const ids = (condition: string) =>
    `(select r.id from troupe.runs r where ${where} and ${condition} ${last})`;
  if (agentId === undefined && statuses === undefined) return ids('true');
  const all = statuses ?? [...ENDED, ...(Object.keys(OPEN) as RunStatus[])];
  const ends = all.filter((status) => !OPEN[status]);
  const opens = all.filter((status) => OPEN[status]);
  const parts = [
    ...(ends.length > 0 ? [ids(ended(ends))] : []),
    ...(opens.length > 0 ? [ids(open(opens))] : []),
  ];
  return `select r.id from (${parts.join(' union all ')}) r ${last}`;
}

function furnished(db: Database, ids: readonly string[]): Promise<ListedRunRecord[]> {
  const columns = RUN.replace('select ', `select ${ASKED(200)} as asked, `);
  return db.run<ListedRunRecord>(
    {
      name: 'list_runs',
      text: `${columns} where r.id = any($1::uuid[]) order by r.id desc`,
      values: [ids],
    },
    db.pool,
  );
}

/** How many runs a search reads for a page. */
const SEARCHED = 2_000;
/** And how much of what each was asked. */
const READ = 2_000;

/**
 * Those whose id begins so, wherever they are, and those of the next runs before the cursor that failed with this code or were asked
 * something with this text. `next`: where the search goes on; null where there is nothing more.
 */
export async function searchRuns(
  db: Database,
  scope: Scope,
  filter: RunFilter,
  search: string,
): Promise<RunPage> {
  const { where: always, values, end } = conditionsOf(scope, filter);
  const { statuses } = filter;
  const where = statuses ? `${always} and r.status in (${list(statuses)})` : always;
  const range = idsBeginning(search);
  const [text, low, high, most] = [1, 2, 3, 4].map((place) => `$${values.length + place}`);
  const looked = await db.run<{
    id: string | null;
    named: boolean;
    last: string | null;
    read: number;
    end: string | null;
  }>(
    {
      name: 'search_runs',
      text: `with read as materialized (select r.id, r.thread_id, r.trigger_seq, r.trigger, r.error from troupe.runs r
            where ${where} order by r.id desc limit ${SEARCHED}),
          said as (select r.id, false as named from read r
            where not (r.id >= ${low} and r.id <= ${high})
              and (r.error->>'code' = ${text} or strpos(lower(${ASKED(READ)}), lower(${text})) > 0) order by r.id desc limit ${most}),
          named as (select r.id, true as named from troupe.runs r
            where ${where} and r.id >= ${low} and r.id <= ${high} order by r.id desc limit ${most}),
          found as (table said union all ${filter.before === undefined ? 'table named' : 'select * from named where false'})
        select f.id, f.named, x.last, x.read, x."end"
        from (select (array_agg(id order by id))[1] as last, count(*)::int as read, ${end ?? 'null'} as "end" from read) x left join found f on true
        order by f.id desc`,
      values: [...values, search, range?.low ?? NOBODY, range?.high ?? NOBODY, filter.limit],
      plannedAnew: true,
    },
    db.pool,
  );
  const ids = looked.flatMap(({ id }) => id ?? []).slice(0, filter.limit);
  const said = looked.filter(({ named, id }) => id !== null && !named);
  const { last, read, end: unread } = looked[0]!;
  // Where more were found than are shown, it goes on behind the last one that is; else behind what was read.
  const shown = said.filter(({ id }) => ids.includes(id!)).at(-1)?.id ?? null;
  const next = said.length >= filter.limit ? shown : read === SEARCHED ? last : unread;
  return {
    runs: ids.length === 0 ? [] : await furnished(db, ids),
    next,
  };
}

/** No id is this one. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** The first and the last id that begin so; null where none can. */
function idsBeginning(text: string): { low: string; high: string } | null {
  const digits = text.replaceAll('-', '').toLowerCase();
  if (!/^[0-9a-f]{4,32}$/.test(digits) || !/^[0-9a-f]{1,8}(-|$)/i.test(text)) return null;
  const filled = (digit: string) =>
    digits.padEnd(32, digit).replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
  return { low: filled('0'), high: filled('f') };
}
