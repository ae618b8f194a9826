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

/** Most runs are completed: these are found among all. All others by an index that has them only. */
function ofStatuses(statuses: readonly RunStatus[]): string {
  if (statuses.includes('completed'))
    return `r.status in (${statuses.map((status) => `'${status}'`).join(', ')})`;
  const parts = statuses.map(
    (status) => OPEN[status] ?? [`status in ('completed', 'failed', 'canceled') and status = '${status}'`],
  );
  const looks = parts.flat().map((where) => `select id from troupe.runs where project_id = $1 and ${where}`);
  return `r.id in (${looks.join(' union all ')})`;
}

/** The conditions of a filter on `r`, and their values; `$1` is the project. */
function conditionsOf({ project, entityId }: Scope, filter: RunFilter): { where: string; values: unknown[] } {
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
  if (filter.statuses) conditions.push(ofStatuses(filter.statuses));
  return { where: conditions.join(' and '), values };
}

const SKEW_MS = 60_000;
const IN_SPACES = ['space_message', 'plan', 'service'];

/** The newest first. Planned for what is asked: a plan for all filters would be one for none. */
export async function listRuns(db: Database, scope: Scope, filter: RunFilter): Promise<ListedRunRecord[]> {
  const { where, values } = conditionsOf(scope, filter);
  // Which they are is found before they are furnished: joins would lead the planner away from the index.
  return furnished(
    db,
    `select r.id from troupe.runs r where ${where} order by r.id desc limit $${values.length + 1}`,
    [...values, filter.limit],
  );
}

function furnished(db: Database, ids: string, values: unknown[]): Promise<ListedRunRecord[]> {
  const columns = RUN.replace('select ', `select ${ASKED(200)} as asked, `);
  return db.run<ListedRunRecord>(
    {
      name: 'list_runs',
      text: `with found as materialized (${ids}) ${columns} where r.id in (select id from found) order by r.id desc`,
      values,
      plannedAnew: true,
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
): Promise<{ runs: ListedRunRecord[]; next: string | null }> {
  const { where, values } = conditionsOf(scope, filter);
  const range = idsBeginning(search);
  const [text, low, high, most] = [1, 2, 3, 4].map((place) => `$${values.length + place}`);
  const looked = await db.run<{ id: string | null; named: boolean; last: string | null; read: number }>(
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
        select f.id, f.named, x.last, x.read from (select (array_agg(id order by id))[1] as last, count(*)::int as read from read) x left join found f on true
        order by f.id desc`,
      values: [...values, search, range?.low ?? NOBODY, range?.high ?? NOBODY, filter.limit],
      plannedAnew: true,
    },
    db.pool,
  );
  const ids = looked.flatMap(({ id }) => id ?? []).slice(0, filter.limit);
  const said = looked.filter(({ named, id }) => id !== null && !named);
  const { last, read } = looked[0]!;
  // Where more were found than are shown, it goes on behind the last one that is; else behind what was read.
  const shown = said.filter(({ id }) => ids.includes(id!)).at(-1)?.id ?? null;
  const next = said.length >= filter.limit ? shown : read === SEARCHED ? last : null;
  return {
    runs: ids.length === 0 ? [] : await furnished(db, 'select unnest($1::uuid[]) as id', [ids]),
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
