import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { type RawBuilder, sql } from '../kysely.ts';

// What agents keep from run to run: who they belong to, and memories. Goals are beside it.

/** Whose memories and goals: an agent's entity, and the person they were told by. Those of the agent itself are for all. */
export interface Kept {
  project: string;
  entity: string;
  owner: string;
}

/** The run that writes, and that its worker still has it: a worker that lost it writes nothing. */
export interface RunFence {
  run: string;
  epoch: number;
  worker: string;
}

/** Where a run keeps things: `person`, with the person that it works for. */
export interface KeptByRun extends RunFence {
  project: string;
  entity: string;
  per: 'agent' | 'person';
}

export type KeptWhere = Kept | KeptByRun;

/** Project, entity and owner as arguments; the owner of a run is looked up where it is needed. */
export function placeOf(where: KeptWhere): RawBuilder<unknown> {
  return sql`${where.project}::uuid, ${where.entity}::uuid, ${ownerOf(where)}`;
}

export function ownerOf(where: KeptWhere): RawBuilder<unknown> {
  if ('owner' in where) return sql`${where.owner}::uuid`;
  return where.per === 'agent'
    ? sql`${where.entity}::uuid`
    : sql`troupe.owner_of(${where.run}::uuid, ${where.entity}::uuid)`;
}

export function fenceOf(where: KeptWhere): RawBuilder<unknown> {
  const { run, epoch, worker } = 'run' in where ? where : { run: null, epoch: null, worker: null };
  return sql`${run}::uuid, ${epoch}::int, ${worker}::uuid`;
}

/** Why nothing was written: the run is another's by now, or nobody knows any more which person it works for. */
export type KeptRefused = { ok: false; code: 'run_lost' } | { ok: false; code: 'owner_unknown' };

export type KeptDeleted = { ok: true; deleted: number } | KeptRefused;

export type KeptWritten =
  | { ok: true }
  | KeptRefused
  | { ok: false; code: 'too_many'; held: number }
  | { ok: false; code: 'not_found'; ids: string[] };

/** Null where the project has no such agent. A name that nobody has yet is the owner null. */
export async function findKept(
  db: Database,
  {
    project,
    agent,
    person,
    user,
  }: { project: string; agent: string; person: string | null; user: string | null },
): Promise<{ entity: string; owner: string | null } | null> {
  const [row] = await db.run<{ entity: string; owner: string | null }>(
    {
      name: 'find_kept',
      text: `select e.id as entity, case when $3::uuid is not null then $3::uuid
          when $4::text is not null then (select p.id from troupe.entities p where p.project_id = $1 and p.external_id = $4) else e.id end as owner
        from troupe.entities e where e.project_id = $1 and e.agent_id = $2`,
      values: [project, agent, person, user],
    },
    db.pool,
  );
  return row ?? null;
}

export interface MemoryRow {
  key: string;
  value: string;
  createdAt: Date;
  updatedAt: Date;
}

const shown = ['key', 'value', 'created_at as createdAt', 'updated_at as updatedAt'] as const;

/** By key; `after` is the last key of the page before. */
export function listMemories(
  on: Rows,
  { project, entity, owner }: Kept,
  {
    prefix,
    search,
    after,
    limit,
  }: { prefix?: string | undefined; search?: string | undefined; after?: string | undefined; limit: number },
): Promise<MemoryRow[]> {
  return on
    .selectFrom('memories')
    .select(shown)
    .where('project_id', '=', project)
    .where('entity_id', '=', entity)
    .where('owner_id', '=', owner)
    .$if(prefix !== undefined, (query) => query.where(sql<boolean>`starts_with(key, ${prefix})`))
    .$if(search !== undefined, (query) =>
      query.where(sql<boolean>`position(lower(${search}) in lower(key || chr(10) || value)) > 0`),
    )
    .$if(after !== undefined, (query) => query.where('key', '>', after!))
    .orderBy('key')
    .limit(limit)
    .execute();
}

export async function readMemory(
  on: Rows,
  { project, entity, owner }: Kept,
  key: string,
): Promise<MemoryRow | null> {
  const row = await on
    .selectFrom('memories')
    .select(shown)
    .where('project_id', '=', project)
    .where('entity_id', '=', entity)
    .where('owner_id', '=', owner)
    .where('key', '=', key)
    .executeTakeFirst();
  return row ?? null;
}

/** All of them or none; each key once. */
export async function setMemories(
  on: Rows,
  where: KeptWhere,
  memories: readonly { key: string; value: string }[],
  most: number,
): Promise<KeptWritten> {
  const { rows } = await sql<{ answer: KeptWritten }>`select troupe.set_memories(${placeOf(where)},
    ${toJsonText(memories)}::jsonb, ${most}::int, ${fenceOf(where)}) as answer`.execute(on);
  return rows[0]!.answer;
}

export async function deleteMemories(
  on: Rows,
  where: KeptWhere,
  keys: readonly string[],
): Promise<KeptDeleted> {
  const { rows } = await sql<{ answer: KeptDeleted }>`select troupe.delete_memories(${placeOf(where)},
    ${keys}::text[], ${fenceOf(where)}) as answer`.execute(on);
  return rows[0]!.answer;
}

/** As a run sees them: its own, and those for all, of which one of its own takes the place. */
export async function memoriesOfRun(
  on: Rows,
  where: KeptByRun,
  { keys, most }: { keys: readonly string[] | null; most: number },
): Promise<MemoryRow[]> {
  const { rows } =
    await sql<MemoryRow>`select distinct on (m.key) m.key, m.value, m.created_at as "createdAt", m.updated_at as "updatedAt"
    from troupe.memories m where m.project_id = ${where.project} and m.entity_id = ${where.entity}
      and m.owner_id in (${where.entity}::uuid, (select ${ownerOf(where)})) and (${keys}::text[] is null or m.key = any(${keys}::text[]))
    order by m.key, m.owner_id = m.entity_id limit ${most}`.execute(on);
  return rows;
}

export interface Remembered {
  memories: { key: string; value: string }[];
  memoryCount: number;
  goals: { id: string; description: string; priority: number }[];
  goalCount: number;
}

/** For a prompt, in one statement: the newest memories, and the goals that are being pursued. */
export async function rememberedByRun(
  on: Rows,
  where: Omit<KeptByRun, 'epoch' | 'worker'>,
  { most, longest }: { most: number; longest: number },
): Promise<Remembered> {
  const { rows } =
    await sql<Remembered>`with owners as materialized (select array[${where.entity}::uuid, ${ownerOf({ ...where, epoch: 0, worker: '' })}] as ids),
    known as (select distinct on (m.key) m.key, left(m.value, ${longest}::int) as value, m.updated_at from troupe.memories m, owners o
      where m.project_id = ${where.project} and m.entity_id = ${where.entity} and m.owner_id = any(o.ids) order by m.key, m.owner_id = m.entity_id),
    aims as (select g.id, left(g.description, ${longest}::int) as description, g.priority from troupe.goals g, owners o
      where g.project_id = ${where.project} and g.entity_id = ${where.entity} and g.owner_id = any(o.ids) and g.status = 'active')
    select (select coalesce(json_agg(json_build_object('key', n.key, 'value', n.value) order by n.key), '[]')
        from (select * from known order by updated_at desc, key limit ${most}::int) n) as memories,
      (select count(*) from known) as "memoryCount",
      (select coalesce(json_agg(json_build_object('id', n.id, 'description', n.description, 'priority', n.priority) order by n.priority, n.id), '[]')
        from (select * from aims order by priority, id limit ${most}::int) n) as goals,
      (select count(*) from aims) as "goalCount"`.execute(on);
  return rows[0]!;
}
