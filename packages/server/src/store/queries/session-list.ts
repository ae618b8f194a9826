import type { SessionStatus } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { SESSION, STATUS } from './session-columns.ts';
import type { SessionRow, SessionScope } from './sessions.ts';

export interface AllSessionsFilter {
  agentId?: string | undefined;
  status?: SessionStatus | undefined;
  tag?: string | undefined;
  user?: string | undefined;
  /** Something in the title, or how the id begins. */
  search?: string | undefined;
  /** The place of the last one that is known. */
  before?: string | undefined;
  limit: number;
}

// The place of a session in the list is the id of its newest run, which begins with the time; of one without runs, an id that begins
// with the time at which it was opened. So the list is read from the newest runs backwards, and no session has to be written to
// when something happens in it.
const OPENED = `(lpad(to_hex((extract(epoch from s.created_at) * 1000)::bigint), 12, '0') || '7' || substr(replace(s.id::text, '-', ''), 14))::uuid`;
/** The time that an id begins with. */
const TIME_OF = (id: string) =>
  `to_timestamp(('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;
const NEWEST_RUN = `(select r.id from troupe.runs r where r.thread_id = s.thread_id order by r.created_at desc limit 1)`;

/** How many are read for a page where not all that are read belong to it. */
const READ = 2_000;

const ALIVE: Partial<Record<SessionStatus, string>> = {
  running: `select r.thread_id from troupe.runs r where r.status = 'running'
    union all select r.thread_id from troupe.runs r where r.status = 'queued' and not r.ready
    union all select r.thread_id from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null
    union all select r.thread_id from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null`,
  waiting: `select r.thread_id from troupe.runs r where r.status in ('waiting_tool', 'waiting_reply')`,
  failed: `select r.thread_id from troupe.runs r where r.project_id = $1 and r.status in ('completed', 'failed', 'canceled') and r.status = 'failed'
    and exists (select from troupe.threads t where t.id = r.thread_id and t.failed_run_id = r.id)`,
};

/** Those that were spoken to last first. `next`: where the next page begins; null where this is the last one. */
export async function listAllSessions(
  db: Database,
  scope: SessionScope,
  filter: AllSessionsFilter,
): Promise<{ sessions: SessionRow[]; next: string | null }> {
  const { agentId, status, tag, user, search, before, limit } = filter;
  const values: unknown[] = [scope.project, before ?? null];
  const place = (value: unknown) => `$${values.push(value)}`;
  const whose = ['s.project_id = $1'];
  if (scope.entityId !== null) whose.push(`s.entity_id = ${place(scope.entityId)}`);
  if (agentId !== undefined) whose.push(`s.agent_id = ${place(agentId)}`);
  if (user !== undefined)
    whose.push(
      `s.entity_id = (select e.id from troupe.entities e where e.project_id = $1 and e.external_id = ${place(user)})`,
    );
  if (status !== undefined && ALIVE[status]) whose.push(`s.thread_id in (${ALIVE[status]})`);
  const few = whose.length > 1 && (await areFew(db, whose.join(' and '), values));

  const chosen: string[] = [];
  if (status !== undefined) chosen.push(`${STATUS} = ${place(status)}`);
  if (tag !== undefined) chosen.push(`${place(tag)} = any(s.tags)`);
  if (search !== undefined) {
    const text = place(search);
    chosen.push(`(strpos(lower(s.title), lower(${text})) > 0 or starts_with(s.id::text, lower(${text})))`);
  }
  const most = chosen.length > 0 ? READ : limit + 1;
  const read = (few ? OF_FEW : OF_MANY)(whose.join(' and '), most);
  const rows = await db.run<SessionRow & { place: string | null; last: string | null; read: number }>(
    {
      name: 'list_all_sessions',
      text: `with ${read},
          edge as (select (array_agg(k.place order by k.place))[1] as last, count(*)::int as read from read k),
          found as materialized (select k.id, k.place from read k join troupe.sessions s on s.id = k.id
            ${chosen.length > 0 ? `where ${chosen.join(' and ')}` : ''} order by k.place desc limit ${place(limit + 1)})
        select f.*, e.last, e.read from edge e left join (
          ${SESSION.replace('select ', 'select k.place, ')} join found k on k.id = s.id) f on true
        order by f.place desc`,
      values,
      plannedAnew: true,
    },
    db.pool,
  );
  const edge = rows[0]!;
  const found = rows.filter((row) => row.place !== null);
  const shown = found.slice(0, limit);
  const next = found.length > limit ? shown.at(-1)!.place : edge.read === most ? edge.last : null;
  return { sessions: shown.map(({ place: _, last: __, read: ___, ...session }) => session), next };
}

/** Whether all of them can be put in order for each page. */
async function areFew(db: Database, whose: string, values: unknown[]): Promise<boolean> {
  const rows = await db.run<{ n: number }>(
    {
      name: 'few_sessions',
      text: `select count(*)::int as n, $2::uuid is null from (select from troupe.sessions s where ${whose} limit ${READ + 1}) x`,
      values: [...values],
      plannedAnew: true,
    },
    db.pool,
  );
  return rows[0]!.n <= READ;
}

const OF_FEW = (
  whose: string,
  most: number,
) => `read as materialized (select y.* from (select s.id, coalesce(${NEWEST_RUN}, ${OPENED}) as place
    from troupe.sessions s where ${whose}) y where ($2::uuid is null or y.place < $2) order by y.place desc limit ${most})`;

// A session is where its newest run is, and nowhere else: no page has it twice. Those without a run are looked for only as far back
// as the others on the page go.
const OF_MANY = (whose: string, most: number) => `spoken as materialized (
    select s.id, r.id as place from troupe.runs r join troupe.sessions s on s.thread_id = r.thread_id
      where r.project_id = $1 and r.door = 'session' and ($2::uuid is null or r.id < $2) and ${whose}
        and not exists (select from troupe.runs n where n.thread_id = r.thread_id and n.created_at >= r.created_at and n.id > r.id)
      order by r.id desc limit ${most}),
  back as materialized (select case when count(*) = ${most} then ${TIME_OF('(array_agg(p.place order by p.place))[1]')} else '-infinity' end as til from spoken p),
  read as materialized (select * from (
    select * from spoken
    union all
    (select s.id, ${OPENED} from troupe.sessions s
      where ${whose} and s.created_at >= (select b.til from back b)
        and ($2::uuid is null or (s.created_at < ${TIME_OF('$2')} + interval '1 millisecond' and ${OPENED} < $2))
        and (select n.id from troupe.runs n where n.thread_id = s.thread_id limit 1) is null
      order by s.created_at desc limit ${most})) both_kinds
  order by place desc limit ${most})`;
