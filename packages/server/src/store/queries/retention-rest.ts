import { inTransaction } from '../client-transaction.ts';
import type { Database } from '../database.ts';
import { deleteRuns, type ExpiredRun, type TimePosition } from './retention-runs.ts';
import { LIVE_THREADS, type Purged, type Scope } from './retention-scope.ts';

// Plans, batches, events, files, deliveries and audit entries that have expired.

/** The smallest id that an id of this time or later can have: ids begin with the time. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

interface Counted {
  count: number;
  oldest: Date | null;
}
async function count(db: Database, rows: string, values: unknown[]): Promise<Counted> {
  const found = await db.pool.query<Counted>(
    `select count(*)::int as count, min(x.at) as oldest from (${rows}) x`,
    values,
  );
  return found.rows[0]!;
}
async function purge(db: Database, text: string, values: unknown[], limit: number): Promise<Purged> {
  const { rowCount } = await db.pool.query(text, values);
  return { rows: rowCount ?? 0, more: rowCount === limit };
}

const PLANS = `select p.id, p.updated_at as at from troupe.agents a join troupe.plans p on p.agent_id = a.id
  where a.project_id = $1 and ($2::uuid[] is null or a.id = any($2)) and p.status in ('completed', 'canceled') and p.updated_at < $3 limit $4`;

export const countPlans = (db: Database, { project, agents, cutoff }: Scope, limit: number) =>
  count(db, PLANS, [project, agents, cutoff, limit]);
/** Ended plans. */
export const purgePlans = (db: Database, { project, agents, cutoff }: Scope, limit: number) =>
  purge(
    db,
    `delete from troupe.plans x where x.id in (select y.id from (${PLANS} for update of p skip locked) y) and x.status <> 'pending'`,
    [project, agents, cutoff, limit],
    limit,
  );

const DELIVERIES = `select d.id, d.ended_at as at from troupe.trigger_deliveries d where d.project_id = $1 and d.id < $2::uuid
  and d.status in ('delivered', 'dead') and d.ended_at < $3 order by d.id limit $4`;

export const countDeliveries = (db: Database, { project, cutoff }: Scope, limit: number) =>
  count(db, DELIVERIES, [project, firstIdAt(cutoff), cutoff, limit]);
/** Deliveries that have ended. */
export const purgeProjectDeliveries = (db: Database, { project, cutoff }: Scope, limit: number) =>
  purge(
    db,
    `delete from troupe.trigger_deliveries x where x.id in (select y.id from (${DELIVERIES} for update skip locked) y)`,
    [project, firstIdAt(cutoff), cutoff, limit],
    limit,
  );

// The oldest entries are looked at, not all: ids and times have the same order.
const AUDIT = `select x.id, x.created_at as at from (select a.id, a.created_at from troupe.audit_log a where a.project_id = $1 order by a.id limit $3) x
  where x.created_at < $2`;

export const countAudit = (db: Database, { project, cutoff }: Scope, limit: number) =>
  count(db, AUDIT, [project, cutoff, limit]);
/** Entries of the audit log. The table refuses to delete any that the rule of its project does not cover. */
export const purgeAudit = (db: Database, { project, cutoff }: Scope, limit: number) =>
  purge(
    db,
    `delete from troupe.audit_log y where y.id in (select z.id from (${AUDIT}) z)`,
    [project, cutoff, limit],
    limit,
  );

const BATCHES = `select b.id, b.created_at as at from troupe.network_batches b where b.project_id = $1 and b.id < $2::uuid
  and not exists (select from troupe.network_batch_items i where i.batch_id = b.id and i.status in ('pending', 'queued', 'running'))
  and coalesce((select max(i.ended_at) from troupe.network_batch_items i where i.batch_id = b.id), b.canceled_at, b.created_at) < $3
  order by b.id limit $4`;

export const countBatches = (db: Database, { project, cutoff }: Scope, limit: number) =>
  count(db, BATCHES, [project, firstIdAt(cutoff), cutoff, limit]);

/** Rows of a batch that are deleted in one transaction, with their runs. */
const BATCH_ROWS = 100;

/** Finished batches with their runs, some rows at a time. Counts batches that are gone. */
export async function purgeBatches(db: Database, { project, cutoff }: Scope): Promise<Purged> {
  const { rows } = await db.pool.query<{ id: string }>(BATCHES, [project, firstIdAt(cutoff), cutoff, 20]);
  let gone = 0;
  let worked = false;
  for (const { id: batch } of rows) {
    const chunk = await db.pool.query<{ row: number } & Pick<ExpiredRun, 'id' | 'threadId' | 'size'>>(
      `select w.row_number as row, r.id, r.thread_id as "threadId", t.last_message_seq + t.last_event_seq as size
        from (select x.row_number from troupe.network_batch_rows x where x.batch_id = $1 order by x.row_number limit $2) w
          left join troupe.network_batch_items i on i.batch_id = $1 and i.row_number = w.row_number
          left join troupe.runs r on r.id = i.run_id left join troupe.threads t on t.id = r.thread_id`,
      [batch, BATCH_ROWS],
    );
    const numbers = [...new Set(chunk.rows.map(({ row }) => row))];
    const runs = chunk.rows.filter(({ threadId }) => threadId !== null);
    const deleteRows = `delete from troupe.network_batch_rows w where w.batch_id = $1 and w.row_number = any($2)`;
    if (runs.length > 0) {
      // All runs of these rows, or none: an item never names a run that is gone.
      const deleted = await deleteRuns(db, runs, cutoff, {
        all: true,
        also: async (client) => void (await client.query(deleteRows, [batch, numbers])),
      });
      worked ||= deleted > 0;
    } else if (numbers.length > 0) {
      await db.pool.query(deleteRows, [batch, numbers]);
      worked = true;
    } else {
      const { rowCount } = await db.pool.query('delete from troupe.network_batches b where b.id = $1', [
        batch,
      ]);
      gone += rowCount ?? 0;
      worked = true;
    }
  }
  return { rows: gone, more: worked };
}

const SPACES = `select s.id from troupe.spaces s where s.project_id = $1 and (select e.created_at from troupe.event_batches e
    where e.thread_id = s.id order by e.last_seq limit 1) < $2 limit $3`;

/** Spaces with events older than the cutoff. */
export async function spacesWithOldEvents(
  db: Database,
  { project, cutoff }: Scope,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.pool.query<{ id: string }>(SPACES, [project, cutoff, limit]);
  return rows.map(({ id }) => id);
}

const OLD_EVENTS = `from troupe.event_batches e join troupe.threads t on t.id = e.thread_id
  where e.thread_id = any($1) and e.created_at < $2 and e.last_seq < t.last_event_seq`;

export const countEvents = (db: Database, threads: string[], cutoff: Date, limit: number) =>
  count(db, `select e.created_at as at ${OLD_EVENTS} limit $3`, [threads, cutoff, limit]);

/** Batches of events of the threads, except the last of each: it has the time of the last activity. */
export const purgeEvents = (db: Database, threads: string[], cutoff: Date, limit: number) =>
  purge(
    db,
    `delete from troupe.event_batches x where x.ctid = any (array(select e.ctid ${OLD_EVENTS} limit $3)) and x.created_at < $2`,
    [threads, cutoff, limit],
    limit,
  );

export interface OldFile {
  threadId: string;
  path: string;
  at: string;
  bytes: number;
  /** Of a session that the rule applies to. */
  due: boolean;
  /** No run is at work in the session. */
  free: boolean;
}

/** The next files after a position, in the order in which they were written last. */
export async function oldFiles(
  db: Database,
  { project, agents, cutoff }: Scope,
  after: TimePosition,
  limit: number,
): Promise<OldFile[]> {
  const { rows } = await db.pool.query<OldFile>(
    `with live as materialized (${LIVE_THREADS}),
        page as materialized (select f.thread_id, f.path, f.updated_at, octet_length(f.content) as bytes from troupe.files f
          where f.updated_at >= $3 and f.updated_at < $5 and (f.updated_at, f.thread_id) > ($3, $4::uuid) order by f.updated_at, f.thread_id limit $6)
      select p.thread_id as "threadId", p.path, p.updated_at::text as at, p.bytes, s.id is not null as due, p.thread_id not in (select l.thread_id from live l) as free
      from page p left join troupe.sessions s on s.thread_id = p.thread_id and s.project_id = $1 and ($2::uuid[] is null or s.agent_id = any($2))
      order by p.updated_at, p.thread_id`,
    [project, agents, after.at, after.id, cutoff, limit],
  );
  return rows;
}

/** Deletes the files that have not been written since the cutoff, and updates the totals of their sessions. */
export async function deleteOldFiles(
  db: Database,
  files: readonly Pick<OldFile, 'threadId' | 'path'>[],
  cutoff: Date,
): Promise<number> {
  if (files.length === 0) return 0;
  const threads = [...new Set(files.map(({ threadId }) => threadId))].sort();
  return inTransaction(db, async (client) => {
    // As every write of a file: the thread, then its totals.
    await client.query('select 1 from troupe.threads t where t.id = any($1) order by t.id for key share', [
      threads,
    ]);
    await client.query(
      'select 1 from troupe.file_totals f where f.thread_id = any($1) order by f.thread_id for update',
      [threads],
    );
    const { rows } = await client.query<{ n: number }>(
      `with gone as (delete from troupe.files f using unnest($1::uuid[], $2::text[]) x (thread, path)
            where f.thread_id = x.thread and f.path = x.path and f.updated_at < $3 returning f.thread_id, octet_length(f.content) as bytes),
          sums as (select g.thread_id, count(*)::int as files, sum(g.bytes) as bytes from gone g group by 1),
          totals as (update troupe.file_totals f set files = f.files - s.files, bytes = f.bytes - s.bytes from sums s where f.thread_id = s.thread_id)
        select count(*)::int as n from gone`,
      [files.map(({ threadId }) => threadId), files.map(({ path }) => path), cutoff],
    );
    return rows[0]!.n;
  });
}

/** The size of tables with their indexes, by row of one of them. */
export async function averageBytes(db: Database, table: string, of: readonly string[]): Promise<number> {
  const { rows } = await db.pool.query<{ bytes: number }>(
    `select (sum(pg_total_relation_size(c.oid)) / max(greatest(p.reltuples, pg_stat_get_live_tuples(p.oid), 1)))::float8 as bytes
      from pg_class c, pg_class p where c.relnamespace = 'troupe'::regnamespace and c.relname = any($2) and p.relnamespace = c.relnamespace and p.relname = $1`,
    [table, of],
  );
  return rows[0]!.bytes;
}
