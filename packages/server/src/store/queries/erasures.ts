import type pg from 'pg';
import { inTransaction } from '../client-transaction.ts';
import type { Database } from '../database.ts';
import type { Author } from './author.ts';
import { deleteThreads } from './delete-threads.ts';
import { addJob } from './jobs.ts';

// Erases a person: everything that belongs to them is deleted, and what they said in spaces of others is blanked.
// Every batch counts in its own transaction, so that the counts are right however often the job is killed.

export interface ErasureRow {
  entityId: string;
  projectId: string;
  counts: Record<string, number>;
  requestedAt: Date;
  finishedAt: Date | null;
}

const ERASURE = `select x.entity_id as "entityId", x.project_id as "projectId", x.counts, x.requested_at as "requestedAt", x.finished_at as "finishedAt"
  from troupe.erasures x`;

export async function findErasure(db: Database, project: string, entity: string): Promise<ErasureRow | null> {
  const { rows } = await db.pool.query<ErasureRow>(
    `${ERASURE} where x.project_id = $1 and x.entity_id = $2`,
    [project, entity],
  );
  return rows[0] ?? null;
}

/**
 * Notes the request and takes the name off the person, so that their tokens no longer lead to them. Repeating it changes nothing.
 * Returns why not, if it is refused.
 */
export async function requestErasure(
  db: Database,
  author: Author,
  entity: string,
): Promise<'not_found' | 'entity_of_agent' | null> {
  return inTransaction(db, async (client) => {
    const known = await client.query(
      'select from troupe.erasures x where x.project_id = $1 and x.entity_id = $2',
      [author.project, entity],
    );
    if (known.rowCount! > 0) return null;
    const { rows } = await client.query<{ type: string }>(
      'select e.type from troupe.entities e where e.project_id = $1 and e.id = $2 for update',
      [author.project, entity],
    );
    if (!rows[0]) return 'not_found';
    if (rows[0].type !== 'human') return 'entity_of_agent';
    await client.query(
      `insert into troupe.erasures (entity_id, project_id, actor_kind, actor_id) values ($1, $2, $3, $4) on conflict do nothing`,
      [entity, author.project, author.kind, author.id],
    );
    await client.query(
      `update troupe.entities e set external_id = null, display_name = null, metadata = '{}', updated_at = now() where e.id = $1`,
      [entity],
    );
    await note(client, author, 'entity.erasure_requested', entity, {});
    await addJob(
      client,
      'erase_person',
      { entityId: entity, project: author.project },
      { key: `erase:${entity}` },
    );
    return null;
  });
}

async function note(client: pg.ClientBase, author: Author, action: string, target: string, data: object) {
  await client.query(
    'insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data) values ($1, $2, $3, $4, $5, $6)',
    [author.project, author.kind, author.id, action, target, JSON.stringify(data)],
  );
}

const ADD = `update troupe.erasures x set counts = x.counts || jsonb_build_object($2::text, coalesce((x.counts->>$2)::bigint, 0) + $3)
  where x.entity_id = $1 and $3::bigint > 0`;

async function addCount(client: pg.ClientBase, entity: string, what: string, n: number): Promise<void> {
  if (n > 0) await client.query(ADD, [entity, what, n]);
}

interface Person {
  project: string;
  entity: string;
}

/** Some sessions of the person, and threads of runs that work for them outside sessions. */
export async function threadsOfPerson(
  db: Database,
  { project, entity }: Person,
  limit: number,
): Promise<{ thread: string; rows: number }[]> {
  const { rows } = await db.pool.query<{ thread: string; rows: number }>(
    `select t.id as thread, t.last_message_seq + t.last_event_seq as rows from troupe.sessions s join troupe.threads t on t.id = s.thread_id
        where s.entity_id = $2 and s.project_id = $1
      union select t.id, t.last_message_seq + t.last_event_seq from troupe.runs r join troupe.threads t on t.id = r.thread_id and t.kind = 'run'
        where r.project_id = $1 and r.owner_id = $2 limit $3`,
    [project, entity, limit],
  );
  return rows;
}

/** Deletes them with everything in them. Returns how many. */
export async function eraseThreads(
  db: Database,
  { entity }: Person,
  threads: string[],
  author: Author,
): Promise<number> {
  const counted: Record<string, number> = {};
  return deleteThreads(db, {
    threads,
    author,
    later: true,
    confirm: async (client) => {
      const { rows } = await client.query<{
        sessions: number;
        messages: number;
        runs: number;
        files: number;
      }>(
        `select (select count(*)::int from troupe.sessions s where s.thread_id = any($1)) as sessions,
          (select count(*)::int from troupe.messages m where m.thread_id = any($1)) as messages,
          (select count(*)::int from troupe.runs r where r.thread_id = any($1)) as runs,
          (select count(*)::int from troupe.files f where f.thread_id = any($1)) as files`,
        [threads],
      );
      Object.assign(counted, rows[0]);
      return threads;
    },
    also: async (client) => {
      for (const [what, n] of Object.entries(counted)) await addCount(client, entity, what, n);
    },
  });
}

/** Runs of the person that have not ended: of their sessions, and those that work for them. */
export async function liveRunsOfPerson(db: Database, threads: string[]): Promise<string[]> {
  const { rows } = await db.pool.query<{ id: string }>(
    `select r.id from troupe.runs r where r.thread_id = any($1) and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') order by r.id`,
    [threads],
  );
  return rows.map(({ id }) => id);
}

export async function spacesOfMember(db: Database, { entity }: Person): Promise<string[]> {
  const { rows } = await db.pool.query<{ id: string }>(
    'select m.space_id as id from troupe.memberships m where m.entity_id = $1 order by m.space_id',
    [entity],
  );
  return rows.map(({ id }) => id);
}

const MESSAGES = 2_000;

/**
 * Blanks what the person said in a space, from a sequence on: `next` is where to go on, null at the end. The messages
 * keep their places, since sequences have no gaps; copies are told of the change.
 */
export async function blankMessages(
  db: Database,
  { entity }: Person,
  space: string,
  from: number,
): Promise<number | null> {
  return inTransaction(db, async (client) => {
    const { rows } = await client.query<{ next: number | null; n: number }>(
      `with page as (select m.seq, m.sender_id from troupe.messages m where m.thread_id = $1 and m.seq >= $3 order by m.seq limit ${MESSAGES}),
          blanked as (update troupe.messages m set content = '{"text": "[deleted]"}', metadata = null
            from page p where m.thread_id = $1 and m.seq = p.seq and p.sender_id = $2 and m.content <> '{"text": "[deleted]"}' returning 1)
        select (select max(p.seq) + 1 from page p) as next, (select count(*)::int from blanked) as n`,
      [space, entity, from],
    );
    await addCount(client, entity, 'spaceMessages', rows[0]!.n);
    return rows[0]!.next;
  });
}

/** Takes the name of the person out of the events of a space, and deletes stored prompts, which quote its messages. */
export async function blankSpace(db: Database, { entity }: Person, space: string): Promise<void> {
  await inTransaction(db, async (client) => {
    await client.query(
      `update troupe.event_batches b set entries = (select json_agg(case when x.entry::jsonb #>> '{1,entityId}' = $2 and x.entry::jsonb #> '{1,name}' is not null
            then jsonb_set(x.entry::jsonb, '{1,name}', 'null')::json else x.entry end order by x.position) from json_array_elements(b.entries) with ordinality x (entry, position))
        where b.thread_id = $1 and strpos(b.entries::text, $2) > 0`,
      [space, entity],
    );
    const { rowCount } = await client.query('delete from troupe.run_prompts p where p.space_id = $1', [
      space,
    ]);
    await addCount(client, entity, 'prompts', rowCount ?? 0);
  });
}

/** All spaces of the project with a message of the person: also those that they have left. */
export async function spacesSpokenIn(db: Database, { project, entity }: Person): Promise<string[]> {
  const { rows } = await db.pool.query<{ id: string }>(
    `select s.id from troupe.spaces s where s.project_id = $1 and (exists (select from troupe.messages m where m.thread_id = s.id and m.sender_id = $2)
      or exists (select from troupe.event_batches b where b.thread_id = s.id and strpos(b.entries::text, $2::text) > 0)) order by s.id`,
    [project, entity],
  );
  return rows.map(({ id }) => id);
}

const REST: [what: string, text: string][] = [
  ['memories', 'delete from troupe.memories x where x.project_id = $1 and x.owner_id = $2'],
  ['goals', 'delete from troupe.goals x where x.project_id = $1 and x.owner_id = $2'],
  // Answers that are kept for repeated requests.
  [
    'answers',
    'delete from troupe.idempotency_keys x where x.project_id = $1 and strpos(x.body::text, $2::uuid::text) > 0',
  ],
  ['clients', 'delete from troupe.clients x where x.project_id = $1 and x.entity_id = $2'],
  [
    'deliveries',
    `with erased as (update troupe.trigger_deliveries d set erased = true, before = case when d.ended_at is null then d.before end,
        after = case when d.ended_at is null then d.after end where d.project_id = $1 and d.user_id = $2 and not d.erased returning d.id),
      silent as (update troupe.trigger_attempts a set response = a.response - 'body' from erased where a.delivery_id = erased.id and a.response ? 'body'),
      documents as (delete from troupe.change_documents c using troupe.trigger_deliveries d where d.project_id = $1 and d.user_id = $2 and c.change_id = d.change_id
        and not exists (select from troupe.trigger_deliveries x where x.change_id = c.change_id and x.ended_at is null))
      select from erased`,
  ],
  ['tasks', 'update troupe.tasks x set user_id = null where x.project_id = $1 and x.user_id = $2'],
  ['subAgents', 'update troupe.sub_agents x set user_id = null where x.project_id = $1 and x.user_id = $2'],
  [
    'ownedRuns',
    'update troupe.runs r set owner_id = r.entity_id where r.project_id = $1 and r.owner_id = $2',
  ],
];

/**
 * The rest, and the end: false if the person has something again, so that all must be done once more. The entity is deleted,
 * unless messages or runs name it; then it stays without a name.
 */
export async function finishErasure(
  db: Database,
  { project, entity }: Person,
  author: Author,
): Promise<boolean> {
  return inTransaction(db, async (client) => {
    await client.query('select from troupe.entities e where e.id = $1 for update', [entity]);
    for (const [what, text] of REST) {
      const { rowCount } = await client.query(text, [project, entity]);
      await addCount(client, entity, what, rowCount ?? 0);
    }
    const left = await client.query(
      `select from troupe.sessions s where s.entity_id = $1 union all select from troupe.memberships m where m.entity_id = $1 limit 1`,
      [entity],
    );
    if (left.rowCount! > 0) return false;
    const { rows } = await client.query<{ refused: string | null }>(
      'select troupe.delete_person($1, $2) as refused',
      [project, entity],
    );
    await addCount(client, entity, rows[0]!.refused === null ? 'entities' : 'entitiesAnonymised', 1);
    const done = await client.query<ErasureRow>(
      `update troupe.erasures x set finished_at = now() where x.entity_id = $1 and x.finished_at is null
        returning x.counts, x.requested_at as "requestedAt", x.finished_at as "finishedAt"`,
      [entity],
    );
    if (done.rows[0]) await note(client, author, 'entity.erased', entity, done.rows[0]);
    return true;
  });
}
