import type { Database } from '../database.ts';
import { deleteThreads } from './delete-threads.ts';
import { LIVE_THREADS, type Purged, type Scope } from './retention-scope.ts';

// Sessions that are inactive or past their time.

const LAST_ACTIVITY = `greatest(s.created_at, (select v.created_at from troupe.event_batches v
  where v.thread_id = s.thread_id and v.last_seq = t.last_event_seq))`;
// Neither a run nor a task nor a join that has not ended refers to the session.
const IS_FREE = `s.thread_id not in (select l.thread_id from live l)
  and not exists (select from troupe.tasks k where k.chat_id = s.id and k.status in ('pending', 'running', 'waiting'))
  and not exists (select from troupe.joins j where j.thread_id = s.thread_id
    or j.task_id in (select k.id from troupe.tasks k where k.chat_id = s.id)
    or j.run_id in (select r.id from troupe.runs r where r.thread_id = s.thread_id))`;

const FROM = `from troupe.sessions s join troupe.threads t on t.id = s.thread_id`;
/** $1: the project, $2: agents or null for all, $3: the cutoff. */
const INACTIVE = (agents: boolean) => `s.project_id = $1
  and ${agents ? 's.agent_id = any($2::uuid[])' : '$2::uuid[] is null'} and s.created_at < $3 and ${LAST_ACTIVITY} < $3 and ${IS_FREE}`;
/** $1: a project, or null for all. */
const EXPIRED = `s.expires_at <= now() and ($1::uuid is null or s.project_id = $1) and ${IS_FREE}`;

interface Due {
  where: string;
  order: string;
  values: unknown[];
}

const inactive = ({ project, agents, cutoff }: Scope): Due => ({
  where: INACTIVE(agents !== null),
  order: 's.created_at',
  values: [project, agents, cutoff],
});
const expired = (project: string | null): Due => ({
  where: EXPIRED,
  order: 's.expires_at',
  values: [project],
});

/** Deletes sessions without activity since the cutoff. */
export const purgeSessions = (db: Database, scope: Scope, limit: number) => purge(db, inactive(scope), limit);

/** Deletes sessions whose `expires_at` has passed. */
export const purgeExpiredSessions = (db: Database, limit: number) => purge(db, expired(null), limit);

export const countSessions = (db: Database, scope: Scope, limit: number) => count(db, inactive(scope), limit);
export const countExpiredSessions = (db: Database, project: string, limit: number) =>
  count(db, expired(project), limit);

/** Rows that one transaction deletes; what is beyond is deleted in batches afterwards. */
const MAX_ROWS = 5_000;

async function purge(db: Database, { where, order, values }: Due, limit: number): Promise<Purged> {
  const { rows } = await db.pool.query<{ thread: string; rows: number }>(
    `with live as materialized (${LIVE_THREADS}) select s.thread_id as thread, t.last_message_seq + t.last_event_seq as rows ${FROM}
      where ${where} order by ${order} limit ${limit}`,
    values,
  );
  if (rows.length === 0) return { rows: 0, more: false };
  const threads = rows.map(({ thread }) => thread);
  const deleted = await deleteThreads(db, {
    threads,
    author: null,
    later: rows.reduce((sum, row) => sum + row.rows, 0) > MAX_ROWS,
    confirm: async (client) => {
      const still = await client.query<{ thread: string }>(
        `with live as materialized (${LIVE_THREADS}) select s.thread_id as thread ${FROM} where ${where} and s.thread_id = any($${values.length + 1})`,
        [...values, threads],
      );
      return still.rows.map(({ thread }) => thread);
    },
  });
  // Fewer than found: another process has them, or somebody uses them. The next purge looks again.
  return { rows: deleted, more: deleted > 0 && rows.length === limit };
}

async function count(db: Database, { where, order, values }: Due, limit: number) {
  const { rows } = await db.pool.query<{ count: number; messages: number; oldest: Date | null }>(
    `with live as materialized (${LIVE_THREADS}) select count(*)::int as count, coalesce(sum(x.messages), 0)::bigint as messages, min(x.at) as oldest
      from (select t.last_message_seq as messages, ${LAST_ACTIVITY} as at ${FROM} where ${where} order by ${order} limit ${limit}) x`,
    values,
  );
  return rows[0]!;
}
