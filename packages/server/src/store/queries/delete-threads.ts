import type pg from 'pg';
import { inTransaction } from '../client-transaction.ts';
import type { Database } from '../database.ts';
import type { Author } from './author.ts';
import { KEEP_USAGE_OF_RUNS, KEEP_USAGE_OF_STEPS } from './usage-purged.ts';

// Deletes threads with everything that hangs on them: runs, their children and tasks, messages, events and files.

// The threads $1, and those of runs that calls of their runs began, however deep, and of tasks of their sessions and runs.
const THREADS = `with recursive tree as (
    select r.id, r.thread_id from troupe.runs r where r.thread_id = any($1)
    union select c.id, c.thread_id from tree p join troupe.runs c on c.parent_run_id = p.id and c.parent_call_id is not null)
  select unnest($1::uuid[]) as id union select t.thread_id from tree t
  union select c.thread_id from troupe.sessions s join troupe.tasks k on k.chat_id = s.id join troupe.runs c on c.task_id = k.id where s.thread_id = any($1)
  union select c.thread_id from tree p join troupe.tasks k on k.chat_id = p.id join troupe.runs c on c.task_id = k.id`;
const MORE_THREADS = `select from (${THREADS}) x where x.id <> all($2::uuid[])`;

// Runs, heads, calls, then the thread: the order in which everyone locks them. A run that is started meanwhile waits for
// the thread and then finds none.
const LOCKS: string[] = [
  `select 1 from troupe.runs r where r.thread_id = any($1) order by r.id for update`,
  `select 1 from troupe.run_heads h where h.run_id in (select r.id from troupe.runs r where r.thread_id = any($1)) order by h.run_id for update`,
  `select 1 from troupe.threads t where t.id = any($1) order by t.id for update`,
];

// The session and the note of who deleted it. Of several at once one finds it there, and one note is written.
const DELETE_SESSIONS = `with gone as (delete from troupe.sessions s where s.thread_id = any($1) returning s.*)
  insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data)
    select gone.project_id, $2, $3, 'session.deleted', gone.id::text, jsonb_build_object('agentId', gone.agent_id, 'entityId', gone.entity_id) from gone
    where $2::text is not null`;

const RUNS = `(select r.id from troupe.runs r where r.thread_id = any($1))`;
const DELETE_RUNS: string[] = [
  `delete from troupe.run_heads h where h.run_id in ${RUNS}`,
  `delete from troupe.run_steps p where p.run_id in ${RUNS}`,
  `delete from troupe.run_prompts p where p.run_id in ${RUNS}`,
  `delete from troupe.run_shown p where p.run_id in ${RUNS}`,
  `delete from troupe.folded_messages f where f.run_id in ${RUNS}`,
  `delete from troupe.tool_calls c where c.run_id in ${RUNS}`,
  `delete from troupe.tasks t where t.id in (select r.task_id from troupe.runs r where r.thread_id = any($1) and r.task_id is not null)`,
  `delete from troupe.runs r where r.thread_id = any($1)`,
];
/** The content of threads, without the threads. */
export const DELETE_CONTENT: string[] = [
  `delete from troupe.messages m where m.thread_id = any($1)`,
  `delete from troupe.event_batches e where e.thread_id = any($1)`,
  `delete from troupe.files f where f.thread_id = any($1)`,
  `delete from troupe.file_totals f where f.thread_id = any($1)`,
  `delete from troupe.todo_lists l where l.thread_id = any($1)`,
  `delete from troupe.findings f where f.thread_id = any($1)`,
];
const DELETE_THREADS = `delete from troupe.threads t where t.id = any($1)`;

export interface ThreadDeletion {
  threads: string[];
  /** Who deletes them, for the audit log. Null: a purge, which notes its counts. */
  author: Pick<Author, 'kind' | 'id'> | null;
  /** Called with all locks held: the threads of `threads` that can still be deleted. */
  confirm?: (client: pg.PoolClient) => Promise<string[]>;
  /** All of them, or none. */
  together?: boolean;
  /** Called in the transaction, after the deletion of the runs. */
  also?: (client: pg.PoolClient) => Promise<void>;
  /** Leaves messages, events and files to `emptyDeletedThreads`, so that the transaction stays short. */
  later?: boolean;
}

const HAS_LIVE = `select from troupe.runs r where r.thread_id = any($1) and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') limit 1`;

/**
 * Deletes them in one transaction. A worker that still has one of the runs is refused its next commit. A purge leaves threads
 * alone that lead to a run that has not ended. Returns how many of `threads` were deleted.
 */
export async function deleteThreads(db: Database, deletion: ThreadDeletion): Promise<number> {
  const deleted = await inTransaction(db, (client) => deleteLocked(client, deletion));
  if (deleted !== 'live') return deleted;
  if (deletion.threads.length === 1 || deletion.together) return 0;
  // One of them has a live run below it. Apart, the others can be deleted.
  let sum = 0;
  for (const thread of deletion.threads) sum += await deleteThreads(db, { ...deletion, threads: [thread] });
  return sum;
}

async function deleteLocked(client: pg.PoolClient, deletion: ThreadDeletion): Promise<number | 'live'> {
  let roots = deletion.threads;
  let threads: string[] = [];
  for (let isComplete = false; !isComplete; ) {
    const { rows } = await client.query<{ id: string }>(THREADS, [roots]);
    threads = rows.map(({ id }) => id);
    for (const text of LOCKS) await client.query(text, [threads]);
    // One that was started before we had the thread. From here on none of them begins another.
    await client.query(LOCKS[0]!, [threads]);
    // Before that, while we waited, it may have: from the beginning, so that locks are taken in their order.
    const { rowCount } = await client.query(MORE_THREADS, [roots, threads]);
    isComplete = rowCount === 0;
    if (isComplete && deletion.confirm) {
      const confirmed = (await deletion.confirm(client)).filter((thread) => roots.includes(thread));
      isComplete = confirmed.length === roots.length;
      roots = confirmed;
    }
    if (roots.length === 0) return 0;
    if (isComplete && !deletion.author && (await client.query(HAS_LIVE, [threads])).rowCount! > 0)
      return 'live';
    if (!isComplete) await client.query('rollback; begin');
  }
  const { kind = null, id = null } = deletion.author ?? {};
  for (const text of [KEEP_USAGE_OF_RUNS, KEEP_USAGE_OF_STEPS]) await client.query(text, [threads]);
  await client.query(DELETE_SESSIONS, [roots, kind, id]);
  for (const text of DELETE_RUNS) await client.query(text, [threads]);
  await deletion.also?.(client);
  if (deletion.later)
    await client.query(
      'insert into troupe.deleted_threads (thread_id) select unnest($1::uuid[]) on conflict do nothing',
      [threads],
    );
  else for (const text of [...DELETE_CONTENT, DELETE_THREADS]) await client.query(text, [threads]);
  return roots.length;
}

const MAX_ROWS = 2_000;
const MAX_THREADS = 200;

/**
 * Deletes some of the content of deleted threads, and the threads that have none left. Returns false when nothing is left to do;
 * threads that another process works on are left to it.
 */
export function emptyDeletedThreads(db: Database): Promise<boolean> {
  return inTransaction(db, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      'select thread_id as id from troupe.deleted_threads limit $1 for update skip locked',
      [MAX_THREADS],
    );
    const threads = rows.map(({ id }) => id);
    if (threads.length === 0) return false;
    let room = MAX_ROWS;
    for (const table of ['messages', 'event_batches', 'files']) {
      if (room === 0) break;
      const { rowCount } = await client.query(
        `delete from troupe.${table} x where x.ctid = any (array(select y.ctid from troupe.${table} y where y.thread_id = any($1) limit $2))`,
        [threads, room],
      );
      room -= rowCount ?? 0;
    }
    if (room > 0) {
      for (const text of [...DELETE_CONTENT, DELETE_THREADS]) await client.query(text, [threads]);
      await client.query('delete from troupe.deleted_threads x where x.thread_id = any($1)', [threads]);
    }
    return true;
  });
}
