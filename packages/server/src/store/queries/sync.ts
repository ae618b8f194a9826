import type { BusyPolicy, Collection } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { type MessageColumns, toMessageDocument } from './message-documents.ts';
import { BELOW, NEXT } from './stamps.ts';
import { GONE, LIVE } from './sync-sources.ts';

// Documents for synchronised clients, in the order of their transactions; see functions/sync/.

/** Whose copy it is: all of a project (null), or what one person may read. `chat`: only what is of this session or space. */
export interface SyncScope {
  project: string;
  entityId: string | null;
  chat: string | null;
}

/** Everything up to here is known: by the transaction, and among what one wrote by the id. */
export interface Position {
  xid: number;
  id: string;
  /**
   * Who begins is given what there is by the id alone, as far as it was written before the transaction `xid` (-1: the horizon of the first
   * statement), and then what has changed from that one on. Otherwise each page would sort all that is left.
   */
  scans?: boolean;
  /** Only deleted documents, of all times that are known: for a reader whose checkpoint is invalid and who may still have them. */
  gone?: boolean;
}

export interface Changed extends Position {
  /** The position of a scan after it. */
  place: string;
  /** Null: it is gone, or this reader may not see it any more. */
  document: Record<string, unknown> | null;
}

export interface Changes {
  rows: Changed[];
  /** All transactions before this one had ended when it was read. */
  below: number;
  generation: string;
  /** Of what was deleted up to here, nothing is known any more; -1: everything is. */
  purged: number;
}

/** Where a person is now; and where they were, as of when they left. */
const MEMBER = `mine as materialized (select m.space_id, m.joined_xid from troupe.memberships m join troupe.spaces s on s.id = m.space_id
    where m.entity_id = $2 and s.project_id = $1 and ($6::uuid is null or m.space_id = $6)),
  departed as materialized (select distinct on (x.place_id) x.place_id as space_id, x.xid, x.gone_at from troupe.tombstones x
    where x.entity_id = $2 and x.collection = 'memberships' and x.project_id = $1 and ($6::uuid is null or x.place_id = $6)
      and not exists (select from troupe.memberships m where m.space_id = x.place_id and m.entity_id = $2)
    order by x.place_id, x.xid desc),`;

const HORIZON = `horizon as materialized (select ${BELOW} as below, troupe.sync_generation() as generation,
    coalesce((select x.xid from troupe.purged_tombstones x where x.project_id = $1), -1) as purged)`;
// What is the same in both: every parameter is of a known type, also where a source has no use for it.
const TYPED = `($1::uuid, $2::uuid, $3::bigint, $6::uuid) is not null or true`;

function pageOf(
  collection: Collection,
  whose: 'project' | 'person',
  { scans, gone }: Pick<Position, 'scans' | 'gone'>,
): string {
  const { candidates, scan } = LIVE[collection];
  const sources = gone
    ? GONE[collection][whose]
    : `${candidates[whose]} union all ${GONE[collection][whose]}`;
  if (scans)
    return scan
      ? scan[whose]
      : `select c.* from (${candidates[whose]}) c where c.id collate "C" > $4 and c.xid < (select f.below from floor f) and (${TYPED})
          order by c.id collate "C" limit $5`;
  return `select distinct on (c.xid, c.id collate "C") c.* from (${sources}) c
    where (c.xid, c.id collate "C") > ($3, $4) and c.xid < (select h.below from horizon h) and (${TYPED})
    order by c.xid, c.id collate "C", c.gone limit $5`;
}

/**
 * After a position, in order. Only what was written before the oldest transaction that still runs: no earlier one can follow. The statement's own
 * snapshot says which that is.
 */
export async function changesAfter(
  db: Database,
  collection: Collection,
  { project, entityId, chat }: SyncScope,
  { xid, id, scans = false, gone = false }: Position,
  limit: number,
): Promise<Changes> {
  const whose = entityId === null ? 'project' : 'person';
  const floor = scans
    ? `floor as materialized (select case when $7::bigint < 0 then h.below else $7 end as below from horizon h),`
    : '';
  const { document, joined, scan } = LIVE[collection];
  const order = scans ? (scan?.order ?? 'p.id collate "C"') : 'p.xid, p.id collate "C"';
  // A position of the order by id, from an earlier release: the scan begins again.
  const from = scans && scan && !id.includes(':') ? '' : id;
  const rows = await db.run<{
    xid: number;
    id: string;
    place: string;
    document: Changed['document'];
    below: number;
    generation: string;
    purged: number;
  }>(
    {
      name: `${scans ? 'scan' : gone ? 'gone' : 'changes'}_${collection}_${whose}`,
      text: `with ${whose === 'person' ? MEMBER : ''} ${HORIZON}, ${floor}
        page as materialized (${pageOf(collection, whose, { scans, gone })}) ${joined ? `, ${joined.before}` : ''}
        select p.xid, p.id, ${scans && scan ? 'p.place' : 'p.id'} as place, ${joined?.columns ?? `case when not p.gone then ${document} end as document`}, h.below, h.generation, h.purged
        from horizon h left join page p on true ${joined?.tables ?? ''} order by ${order}`,
      // How far back it goes decides whether the end of the table is read or what the person has: 5 ms against 150 with 200 sessions.
      ...(scans ? {} : { plannedAnew: true as const }),
      values: [project, entityId, scans ? -1 : xid, from, limit, chat, ...(scans ? [xid] : [])],
    },
    db.pool,
  );
  const { below, generation, purged } = rows[0]!;
  const found = rows.filter((row) => row.id !== null);
  if (joined) for (const row of found) row.document = toMessageDocument(row as unknown as MessageColumns);
  return { below, generation, purged, rows: found };
}

export interface Looked {
  /** As of `changesAfter`. */
  below: number;
  /** The next transaction will be this one or a later one. */
  next: number;
  generation: string;
  /** Whose copies have changed. Null: that of the whole project only. */
  touched: { collection: Collection; project: string; entity: string | null }[];
}

// Whoever is in a space has a copy of what is in it.
const members = (collection: string, from: string, space: string, extra = '') =>
  `select '${collection}' as collection, s.project_id, m.entity_id from ${from} join troupe.spaces s on s.id = ${space}
    left join troupe.memberships m on m.space_id = s.id where s.project_id = any($2) ${extra}`;
const SPACES_COLLECTIONS = `(values ('spaces'), ('memberships'), ('messages'), ('runs')) k(collection)`;

/** What has changed since a transaction and below the horizon, for everybody at once: a look into the end of each table. */
export async function lookForChanges(db: Database, since: number, projects: string[]): Promise<Looked> {
  const rows = await db.run<{
    collection: Collection | null;
    project: string;
    entity: string | null;
    below: number;
    next: number;
    generation: string;
  }>(
    {
      name: 'look_for_changes',
      // Nothing or next to it is new, which one plan for all values does not know.
      plannedAnew: true,
      text: `with horizon as materialized (select ${BELOW} as below, ${NEXT} as next, troupe.sync_generation() as generation),
        said as materialized (select distinct m.thread_id from troupe.messages m where m.xid >= $1 and m.xid < (select below from horizon)),
        touched as (
          select 'sessions' as collection, s.project_id, s.entity_id from troupe.sessions s where s.xid >= $1 and s.xid < (select below from horizon) and s.project_id = any($2)
          union select 'tasks', t.project_id, t.user_id from troupe.tasks t where t.xid >= $1 and t.xid < (select below from horizon) and t.project_id = any($2)
          union select 'sub_agents', a.project_id, a.user_id from troupe.sub_agents a where a.xid >= $1 and a.xid < (select below from horizon) and a.project_id = any($2)
          union select 'messages', s.project_id, s.entity_id from said join troupe.sessions s on s.thread_id = said.thread_id where s.project_id = any($2)
          union ${members('messages', 'said', 'said.thread_id')}
          union select 'sub_agent_messages', a.project_id, a.user_id from said join troupe.sub_agents a on a.thread_id = said.thread_id where a.project_id = any($2)
          union select 'sub_agent_tool_calls', a.project_id, a.user_id from troupe.tool_calls c join troupe.runs r on r.id = c.run_id and r.task_id is not null
            join troupe.sub_agents a on a.task_id = r.task_id where c.xid >= $1 and c.xid < (select below from horizon) and a.project_id = any($2)
          union select 'runs', r.project_id, s.entity_id from troupe.runs r left join troupe.sessions s on s.thread_id = r.thread_id where r.xid >= $1 and r.xid < (select below from horizon) and r.project_id = any($2)
          union ${members('runs', 'troupe.runs r', 'r.space_id', 'and r.xid >= $1 and r.xid < (select below from horizon)')}
          union ${members('spaces', '(select x.id from troupe.spaces x where x.xid >= $1 and x.xid < (select below from horizon)) c', 'c.id')}
          union ${members('memberships', '(select distinct x.space_id from troupe.memberships x where x.xid >= $1 and x.xid < (select below from horizon)) c', 'c.space_id')}
          union select k.collection, s.project_id, m.entity_id from troupe.memberships m join troupe.spaces s on s.id = m.space_id cross join ${SPACES_COLLECTIONS}
            where m.xid >= $1 and m.xid < (select below from horizon) and m.joined_xid >= $1 and s.project_id = any($2)
          union select x.collection, x.project_id, x.entity_id from troupe.tombstones x where x.xid >= $1 and x.xid < (select below from horizon) and x.project_id = any($2)
          union select k.collection, x.project_id, x.entity_id from troupe.tombstones x cross join ${SPACES_COLLECTIONS}
            where x.xid >= $1 and x.xid < (select below from horizon) and x.collection = 'memberships' and x.project_id = any($2)
          union select x.collection, x.project_id, m.entity_id from troupe.tombstones x join troupe.memberships m on m.space_id = x.place_id
            where x.xid >= $1 and x.xid < (select below from horizon) and x.project_id = any($2))
        select t.collection, t.project_id as project, t.entity_id as entity, h.below, h.next, h.generation from horizon h left join touched t on true`,
      values: [since, projects],
    },
    db.pool,
  );
  const { below, next, generation } = rows[0]!;
  const touched = rows.flatMap(({ collection, project, entity }) =>
    collection ? [{ collection, project, entity }] : [],
  );
  return { below, next, generation, touched };
}

export interface LongTransaction {
  /** Null: it was prepared, and no process has it. */
  pid: number | null;
  application: string;
  database: string | null;
  seconds: number;
}

/** Who has kept a transaction open for the longest time that has written something: nothing after it can be copied. */
export async function longestTransaction(db: Database): Promise<LongTransaction | null> {
  const rows = await db.run<LongTransaction & { [column: string]: unknown }>(
    {
      name: 'longest_transaction',
      text: `select x.pid, x.application, x.database, extract(epoch from clock_timestamp() - x.since)::float8 as seconds from (
          select a.pid, a.application_name as application, a.datname as database, a.xact_start as since, a.backend_xid as xid
            from pg_stat_activity a where a.backend_xid is not null and a.pid <> pg_backend_pid()
          union all select null, 'prepared transaction ' || p.gid, p.database, p.prepared, p.transaction from pg_prepared_xacts p) x
        order by age(x.xid) desc limit 1`,
      values: [],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** A document as this reader sees it now, and the transaction that wrote it last. */
export interface Found {
  document: Record<string, unknown>;
  xid: number;
}

const FIND: Record<'messages' | 'sessions' | 'memberships' | 'tasks', string> = {
  tasks: `select troupe.task_document(t) as document, t.xid from troupe.tasks t where t.id = $3::uuid and t.project_id = $1 and ($2::uuid is null or t.user_id = $2)`,
  messages: `select troupe.message_document(m) as document, m.xid from troupe.messages m cross join lateral (select troupe.place_of_thread(m.thread_id) as p offset 0) x
    where m.id = $3::uuid and (x.p).collection = 'messages' and (x.p).project_id = $1
      and ($2::uuid is null or (x.p).user_id = $2 or ((x.p).user_id is null and exists (select from troupe.memberships o where o.space_id = (x.p).chat_id and o.entity_id = $2)))`,
  sessions: `select troupe.session_document(s) as document, s.xid from troupe.sessions s where s.id = $3::uuid and s.project_id = $1 and ($2::uuid is null or s.entity_id = $2)`,
  memberships: `select troupe.membership_document(m) as document, m.xid from troupe.memberships m join troupe.spaces s on s.id = m.space_id
    where m.space_id = split_part($3, ':', 1)::uuid and m.entity_id = split_part($3, ':', 2)::uuid and s.project_id = $1
      and ($2::uuid is null or exists (select from troupe.memberships o where o.space_id = m.space_id and o.entity_id = $2))`,
};

/** The id must have the form that ids of the collection have. */
export async function findDocument(
  db: Database,
  collection: keyof typeof FIND,
  { project, entityId }: Pick<SyncScope, 'project' | 'entityId'>,
  id: string,
): Promise<Found | null> {
  const rows = await db.run<Found & { [column: string]: unknown }>(
    { name: `find_document_${collection}`, text: FIND[collection], values: [project, entityId, id] },
    db.pool,
  );
  return rows[0] ?? null;
}

/** Where a message is to go. Gone: there was such a chat for this person; null: none that they know of. */
export async function findChatFor(
  db: Database,
  { project, entityId }: Pick<SyncScope, 'project' | 'entityId'>,
  chat: string,
): Promise<{ kind: 'session'; agentId: string; policy: BusyPolicy } | { kind: 'space' | 'gone' } | null> {
  const rows = await db.run<{ kind: 'session'; agentId: string; policy: BusyPolicy }>(
    {
      name: 'find_chat',
      text: `select 'session' as kind, s.agent_id as "agentId", s.policy from troupe.sessions s where s.id = $3::uuid and s.project_id = $1 and ($2::uuid is null or s.entity_id = $2)
        union all select 'space', null, null from troupe.spaces s where s.id = $3::uuid and s.project_id = $1
          and ($2::uuid is null or exists (select from troupe.memberships m where m.space_id = s.id and m.entity_id = $2))
        union all select 'gone', null, null from troupe.tombstones x where x.project_id = $1 and (x.collection = 'sessions' and x.id = $3::text and ($2::uuid is null or x.entity_id = $2)
          or x.collection = 'memberships' and x.id = $3::text || ':' || $2::text or x.collection = 'spaces' and x.id = $3::text and $2::uuid is null)
        order by 1 desc limit 1`,
      values: [project, entityId, chat.toLowerCase()],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The horizon of this moment: whoever begins to follow here has missed nothing that comes after. */
export async function syncHorizon(db: Database): Promise<{ below: number; generation: string }> {
  const rows = await db.run<{ below: number; generation: string }>(
    {
      name: 'sync_horizon',
      text: `select ${BELOW} as below, troupe.sync_generation() as generation`,
      values: [],
    },
    db.pool,
  );
  return rows[0]!;
}
