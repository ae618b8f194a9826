import type { JsonObject, TriggerInput } from '@troupe/protocol';
import { once } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { isContention, isTaken } from '../errors.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import { inTransaction, type Transaction } from '../transaction.ts';

// Rules, and the capture triggers that they need; see functions/triggers/.

/** What people edit, but its name and whether it is enabled, which stand beside it. */
export type TriggerDefinition = Omit<TriggerInput, 'name' | 'enabled' | 'ratePerMinute'> & {
  ratePerMinute: number | null;
};

export interface TriggerRow {
  id: string;
  name: string;
  version: number;
  definition: TriggerDefinition;
  enabled: boolean;
  disabledReason: string | null;
  conditionError: { message: string; path: string; at: string } | null;
  deadInRow: number;
  open: number;
  createdAt: Date;
  updatedAt: Date;
}

const SHOWN = once(
  () => sql`t.id, t.name, t.version, t.definition, t.enabled, t.disabled_reason as "disabledReason", t.condition_error as "conditionError",
  t.dead_in_row as "deadInRow", t.created_at as "createdAt", t.updated_at as "updatedAt",
  (select count(*) from troupe.trigger_deliveries d where d.trigger_id = t.id and d.status in ('pending', 'sending')) as open`,
);

/** One rule at a time is changed: what is captured follows from all of them. */
export async function lockTriggers(transaction: Transaction): Promise<void> {
  await sql`select pg_advisory_xact_lock(35, 0)`.execute(transaction);
}

/**
 * Turns on what rules are about now, and off what none is about. Whoever writes such a table is waited for, and keeps others waiting:
 * for `patienceMs` at most. Throws what is contention then; nothing was changed.
 */
export async function armCaptures(transaction: Transaction, patienceMs: number): Promise<void> {
  await sql`select troupe.arm_captures(${patienceMs})`.execute(transaction);
}

/** Whether what keeps it from being turned on is a vacuum, which goes away after a second. */
export async function isTidied(transaction: Transaction): Promise<boolean> {
  const { rows } = await sql<{ tidied: boolean }>`select troupe.is_tidied() as tidied`.execute(transaction);
  return rows[0]!.tidied;
}

/** Turns off what is captured for no rule any more, where that could not be done at once. */
export async function restCaptures(db: Database): Promise<void> {
  try {
    await inTransaction(db, async (transaction) => {
      await lockTriggers(transaction);
      await armCaptures(transaction, 10);
    });
  } catch (error) {
    if (!isContention(error)) throw error;
  }
}

/** The smallest id decides between equal names; `after` is the last name of the page before. */
export async function listTriggers(
  on: Rows,
  project: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<TriggerRow[]> {
  const { rows } = await sql<TriggerRow>`select ${SHOWN()} from troupe.triggers t
    where t.project_id = ${project} and (${after}::text is null or lower(t.name) > lower(${after}))
    order by lower(t.name) limit ${limit}`.execute(on);
  return rows;
}

/** By id or name. */
export async function readTrigger(on: Rows, project: string, ref: string): Promise<TriggerRow | null> {
  const { rows } = await sql<TriggerRow>`select ${SHOWN()} from troupe.triggers t
    where t.project_id = ${project} and (t.id::text = lower(${ref}) or lower(t.name) = lower(${ref})) limit 1`.execute(
    on,
  );
  return rows[0] ?? null;
}

export async function countTriggers(on: Rows, project: string): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`select count(*) from troupe.triggers where project_id = ${project}`.execute(on);
  return rows[0]!.count;
}

export interface TriggerWrite {
  name: string;
  definition: TriggerDefinition;
  enabled: boolean;
  /** What follows from the glob. */
  collections: readonly string[];
  pattern: string;
}

/** False where another one has the name. */
export async function insertTrigger(
  transaction: Transaction,
  project: string,
  id: string,
  { name, definition, enabled, collections, pattern }: TriggerWrite,
): Promise<boolean> {
  const text = toJsonText(definition);
  const { rows } =
    await sql`insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled)
    values (${id}, ${project}, ${name}, ${text}::jsonb, ${collections}::text[], ${pattern}, ${definition.events}::text[], ${enabled})
    on conflict (project_id, lower(name)) do nothing returning id`.execute(transaction);
  if (rows.length === 0) return false;
  await sql`insert into troupe.trigger_versions (trigger_id, version, definition) values (${id}, 1, ${text}::jsonb)`.execute(
    transaction,
  );
  return true;
}

/** The next version. What counted so far counts no more. False where another one has the name. */
export async function updateTrigger(
  transaction: Transaction,
  id: string,
  { name, definition, enabled, collections, pattern }: TriggerWrite,
): Promise<boolean> {
  const text = toJsonText(definition);
  try {
    await sql`with changed as (update troupe.triggers set name = ${name}, definition = ${text}::jsonb, collections = ${collections}::text[], pattern = ${pattern},
        events = ${definition.events}::text[], enabled = ${enabled}, disabled_reason = case when ${enabled} then null else disabled_reason end, condition_error = null, dead_in_row = 0,
        version = version + 1, updated_at = now() where id = ${id} returning id, version, definition)
      insert into troupe.trigger_versions (trigger_id, version, definition) select id, version, definition from changed`.execute(
      transaction,
    );
    return true;
  } catch (error) {
    if (isTaken(error, 'triggers_name')) return false;
    throw error;
  }
}

/** What it does stays as it is, and so does its version. */
export async function enableTrigger(transaction: Transaction, id: string): Promise<void> {
  await sql`update troupe.triggers set enabled = true, disabled_reason = null, dead_in_row = 0, updated_at = now() where id = ${id}`.execute(
    transaction,
  );
}

export async function deleteTrigger(transaction: Transaction, id: string): Promise<void> {
  await sql`delete from troupe.triggers where id = ${id}`.execute(transaction);
}

/** Newest documents of a collection, with the paths of their collections. `alias` names the user by the external id. */
export async function newestDocuments(
  db: Database,
  project: string,
  collection: string,
  limit: number,
): Promise<{ path: string; alias: string | null; document: JsonObject }[]> {
  const from = NEWEST[collection];
  if (!from) throw new Error(`there is no collection ${collection}`);
  const text = `select n.*, troupe.path_alias(n.path) as alias from (${from}) n`;
  const rows = await db.run<{ path: string; alias: string | null; document: JsonObject }>(
    { name: `newest_${collection}`, text, values: [project, limit] },
    db.pool,
  );
  return rows;
}

const ofProject = (table: string, path: string, document: string) =>
  `select ${path}(x) as path, ${document}(x) as document
    from (select * from troupe.${table} where project_id = $1 order by id desc limit $2) x`;
/** Of the threads of a project, the newest few: their newest messages are among the newest of all, near enough for a look. */
const ofThreads = (threads: string, collection: string) =>
  `select troupe.message_path(x) as path, troupe.message_document(x) as document
    from (select m.* from (${threads}) t cross join lateral (select * from troupe.messages m where m.thread_id = t.id order by m.seq desc limit $2) m
      where ${collection === 'messages' ? 'true' : 'troupe.begins_document(m)'} order by m.created_at desc, m.id desc limit $2) x`;

const NEWEST: Record<string, string> = {
  tasks: ofProject('tasks', 'troupe.task_path', 'troupe.task_document'),
  sub_agents: ofProject('sub_agents', 'troupe.sub_agent_path', 'troupe.sub_agent_document'),
  spaces: ofProject('spaces', 'troupe.space_path', 'troupe.space_document'),
  runs: ofProject('runs', 'troupe.run_path', 'troupe.run_document'),
  sessions: `select troupe.session_path(x) as path, troupe.session_document(x) as document
    from (select s.* from troupe.agents a cross join lateral (select * from troupe.sessions s where s.agent_id = a.id order by s.id desc limit $2) s
      where a.project_id = $1 order by s.id desc limit $2) x`,
  memberships: `select troupe.membership_path(x) as path, troupe.membership_document(x) as document
    from (select m.* from troupe.spaces s join troupe.memberships m on m.space_id = s.id where s.project_id = $1 order by m.joined_at desc limit $2) x`,
  messages: ofThreads(
    `(select s.thread_id as id from troupe.agents a cross join lateral (select * from troupe.sessions s where s.agent_id = a.id order by s.id desc limit 20) s
        where a.project_id = $1 order by s.id desc limit 20)
      union all (select s.id from troupe.spaces s where s.project_id = $1 order by s.id desc limit 20)`,
    'messages',
  ),
  sub_agent_messages: ofThreads(
    'select a.thread_id as id from troupe.sub_agents a where a.project_id = $1 order by a.id desc limit 20',
    'sub_agent_messages',
  ),
  sub_agent_tool_calls: `select troupe.tool_call_path(x) as path, troupe.tool_call_document(x) as document
    from (select c.* from (select * from troupe.runs r where r.project_id = $1 and r.task_id is not null order by r.id desc limit 20) r
      join troupe.tool_calls c on c.run_id = r.id order by c.created_at desc limit $2) x`,
};

/** Ids in the paths of rules, as they are written. */
export interface PathIds {
  users: string[];
  chats: string[];
  subAgents: string[];
  spaces: string[];
}

/** An id of a path that exists. `users`: the entities that it can mean; of a session, its owner; empty: any. */
export interface FoundPathId {
  kind: keyof PathIds;
  id: string;
  users: string[];
}

export async function findPathIds(db: Database, project: string, ids: PathIds): Promise<FoundPathId[]> {
  return db.run<FoundPathId>(
    {
      name: 'find_path_ids',
      text: `select 'users' as kind, x.id, array_agg(e.id::text) as users from unnest($2::text[]) x(id) join troupe.entities e on e.project_id = $1
          and (e.id::text = lower(x.id) or e.external_id = replace(x.id, '%2F', '/')) group by x.id
        union all select 'chats', x.id, array[s.entity_id::text] from unnest($3::text[]) x(id) join troupe.sessions s on s.project_id = $1 and s.id::text = lower(x.id)
        union all select 'chats', x.id, '{}' from unnest($3::text[]) x(id) join troupe.spaces s on s.project_id = $1 and s.id::text = lower(x.id)
        union all select 'chats', x.id, '{}' from unnest($3::text[]) x(id) join troupe.runs r on r.project_id = $1 and r.id::text = lower(x.id)
        union all select 'subAgents', x.id, '{}' from unnest($4::text[]) x(id) join troupe.sub_agents a on a.project_id = $1 and a.id::text = lower(x.id)
        union all select 'spaces', x.id, '{}' from unnest($5::text[]) x(id) join troupe.spaces s on s.project_id = $1 and s.id::text = lower(x.id)`,
      values: [project, ids.users, ids.chats, ids.subAgents, ids.spaces],
    },
    db.pool,
  );
}
