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

export interface SessionFilter extends Omit<AllSessionsFilter, 'agentId' | 'search'> {
  agentId: string;
}

export interface SessionPage {
  sessions: SessionRow[];
  /** Where the next page begins; null after the last one. A page of a filtered list can be short, or empty, before the last. */
  next: string | null;
}

// The place of a session in the list is the id of its newest run, which begins with the time; of one without runs, an id that begins
// with the time at which it was opened. So the list is read from the newest runs backwards, and no session has to be written to
// when something happens in it.
const OPENED = `(lpad(to_hex((extract(epoch from s.created_at) * 1000)::bigint), 12, '0') || '7' || substr(replace(s.id::text, '-', ''), 14))::uuid`;
/** The time that an id begins with. */
const TIME_OF = (id: string) =>
  `to_timestamp(('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;
const NEWEST_RUN = `(select r.id from troupe.runs r where r.thread_id = s.thread_id order by r.created_at desc limit 1)`;

/** How many sessions are read for a page if not all of them belong to it. */
const MAX_READ = 2_000;
/** How many runs of the project are read to find sessions in the order of their newest runs. */
const MAX_RUNS = 5_000;

const ALIVE: Partial<Record<SessionStatus, string>> = {
  running: `select r.thread_id from troupe.runs r where r.status = 'running'
    union all select r.thread_id from troupe.runs r where r.status = 'queued' and not r.ready
    union all select r.thread_id from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null
    union all select r.thread_id from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null`,
  waiting: `select r.thread_id from troupe.runs r where r.status in ('waiting_tool', 'waiting_reply')`,
  failed: `select t.id from troupe.threads t where t.project_id = $1 and t.failed_run_id is not null`,
};

/** Sessions of an agent, newest first. */
export async function listSessions(
  db: Database,
  scope: SessionScope,
  filter: SessionFilter,
): Promise<SessionPage> {
  const entities = await entitiesOf(db, scope, filter.user);
  if (!entities) return { sessions: [], next: null };
  const { agentId, status, tag, before, limit } = filter;
  const query = new Query(scope.project, before, limit);
  query.choose(status, (one) => `${STATUS} = ${one}`);
  query.choose(tag, (one) => `${one} = any(s.tags)`);
  const [entity] = entities;
  if (entity) query.choose(agentId, (one) => `s.agent_id = ${one}`);
  const owner = entity ? `entity_id = ${query.value(entity)}` : `agent_id = ${query.value(agentId)}`;
  const read = `read as materialized (select s.id, s.id as place from troupe.sessions s where s.project_id = $1 and s.${owner}
    and ($2::uuid is null or s.id < $2) order by s.id desc limit ${query.most})`;
  return query.run(db, 'list_sessions', read);
}

/** Sessions of all agents, ordered by their newest run. */
export async function listAllSessions(
  db: Database,
  scope: SessionScope,
  filter: AllSessionsFilter,
): Promise<SessionPage> {
  const entities = await entitiesOf(db, scope, filter.user);
  if (!entities) return { sessions: [], next: null };
  const { agentId, status, tag, search, before, limit } = filter;
  const query = new Query(scope.project, before, limit);
  const whose = ['s.project_id = $1'];
  if (entities[0]) whose.push(`s.entity_id = ${query.value(entities[0])}`);
  if (agentId !== undefined) whose.push(`s.agent_id = ${query.value(agentId)}`);
  if (status !== undefined && ALIVE[status]) whose.push(`s.thread_id in (${ALIVE[status]})`);
  const few = whose.length > 1 && (await areFew(db, whose.join(' and '), query.values));

  query.choose(status, (one) => `${STATUS} = ${one}`);
  query.choose(tag, (one) => `${one} = any(s.tags)`);
  query.choose(
    search,
    (one) => `(strpos(lower(s.title), lower(${one})) > 0 or starts_with(s.id::text, lower(${one})))`,
  );
  const read = (few ? OF_FEW : OF_MANY)(whose.join(' and '), query.most);
  return query.run(db, 'list_all_sessions', read, few ? undefined : '(select w.id from runs_end w)');
}

/** The person whose sessions are meant: none for all, undefined if there is no such person. */
async function entitiesOf(
  db: Database,
  { project, entityId }: SessionScope,
  user: string | undefined,
): Promise<string[] | undefined> {
  if (user === undefined) return entityId === null ? [] : [entityId];
  const [found] = await db.run<{ id: string }>(
    {
      name: 'entity_of_user',
      text: 'select e.id from troupe.entities e where e.project_id = $1 and e.external_id = $2',
      values: [project, user],
    },
    db.pool,
  );
  return found && (entityId === null || entityId === found.id) ? [found.id] : undefined;
}

/** A page of sessions. `read` finds at most `most` of them with their place in the list; the chosen conditions filter these. */
class Query {
  readonly values: unknown[];
  readonly #chosen: string[] = [];
  readonly #limit: number;

  constructor(project: string, before: string | undefined, limit: number) {
    this.values = [project, before ?? null];
    this.#limit = limit;
  }

  value(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  choose(value: unknown, condition: (place: string) => string): void {
    if (value !== undefined) this.#chosen.push(condition(this.value(value)));
  }

  get most(): number {
    return this.#chosen.length > 0 ? MAX_READ : this.#limit + 1;
  }

  /** `end`: the last place that was looked at, if that was not the last of all. */
  async run(db: Database, name: string, read: string, end = 'null::uuid'): Promise<SessionPage> {
    const where = this.#chosen.length > 0 ? `where ${this.#chosen.join(' and ')}` : '';
    const rows = await db.run<
      SessionRow & { place: string | null; last: string | null; read: number; end: string | null }
    >(
      {
        name,
        text: `with ${read},
            edge as (select (array_agg(k.place order by k.place))[1] as last, count(*)::int as read, ${end} as "end" from read k),
            found as materialized (select k.id, k.place from read k join troupe.sessions s on s.id = k.id
              ${where} order by k.place desc limit ${this.value(this.#limit + 1)})
          select f.*, e.last, e.read, e."end" from edge e left join (
            ${SESSION.replace('select ', 'select k.place, ')} join found k on k.id = s.id) f on true
          order by f.place desc`,
        values: this.values,
        plannedAnew: true,
      },
      db.pool,
    );
    const edge = rows[0]!;
    const found = rows.filter((row) => row.place !== null);
    const shown = found.slice(0, this.#limit);
    const unread = edge.read === this.most ? edge.last : edge.end;
    const next = found.length > this.#limit ? shown.at(-1)!.place : unread;
    return {
      sessions: shown.map(({ place: _, last: __, read: ___, end: ____, ...session }) => session),
      next,
    };
  }
}

/** Whether all of them can be sorted for each page. */
async function areFew(db: Database, whose: string, values: unknown[]): Promise<boolean> {
  const rows = await db.run<{ n: number }>(
    {
      name: 'few_sessions',
      text: `select count(*)::int as n, $2::uuid is null from (select from troupe.sessions s where ${whose} limit ${MAX_READ + 1}) x`,
      values: [...values],
      plannedAnew: true,
    },
    db.pool,
  );
  return rows[0]!.n <= MAX_READ;
}

const OF_FEW = (
  whose: string,
  most: number,
) => `read as materialized (select y.* from (select s.id, coalesce(${NEWEST_RUN}, ${OPENED}) as place
    from troupe.sessions s where ${whose}) y where ($2::uuid is null or y.place < $2) order by y.place desc limit ${most})`;

// A session is listed at its newest run only, so no page repeats it. Sessions without a run are read only as far back as the
// others on the page go. The lateral joins keep the order of the runs, so that reading stops when the page is full.
const OF_MANY = (whose: string, most: number) => `runs_end as materialized (select r.id from troupe.runs r
    where r.project_id = $1 and ($2::uuid is null or r.id < $2) order by r.id desc offset ${MAX_RUNS - 1} limit 1),
  spoken as materialized (
    select s.id, r.id as place from troupe.runs r
        cross join lateral (select s.id from troupe.sessions s where s.thread_id = r.thread_id and ${whose} limit 1) s
      where r.project_id = $1 and r.door = 'session' and ($2::uuid is null or r.id < $2)
        and r.id >= coalesce((select w.id from runs_end w), '00000000-0000-0000-0000-000000000000')
        and r.id = (select n.id from troupe.runs n where n.thread_id = r.thread_id order by n.created_at desc, n.id desc limit 1)
      order by r.id desc limit ${most}),
  back as materialized (select coalesce(case when count(*) = ${most} then ${TIME_OF('(array_agg(p.place order by p.place))[1]')} end,
    (select ${TIME_OF('w.id')} from runs_end w), '-infinity') as til from spoken p),
  read as materialized (select * from (
    select * from spoken
    union all
    (select s.id, ${OPENED} from troupe.sessions s
      where ${whose} and s.created_at >= (select b.til from back b)
        and ($2::uuid is null or (s.created_at < ${TIME_OF('$2')} + interval '1 millisecond' and ${OPENED} < $2))
        and (select n.id from troupe.runs n where n.thread_id = s.thread_id limit 1) is null
      order by s.created_at desc limit ${most})) both_kinds
  order by place desc limit ${most})`;
