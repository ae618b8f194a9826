import type { Database } from '../database.ts';

// Expired rows. Each statement deletes at most `limit` of them; `jobs/purge.ts` repeats it.

const lockIsFree = (incarnation: string) => `not exists (select from pg_locks held
  where held.locktype = 'advisory' and held.granted and held.objsubid = 1
    and held.database = (select oid from pg_database where datname = current_database())
    and ((held.classid::bigint << 32) | held.objid::bigint) = troupe.worker_lock(${incarnation}))`;

/**
 * Rows of workers that are long gone and hold nothing. Those that hold runs are left to the living: taking runs away
 * needs the heartbeat as a second witness.
 */
export async function purgeWorkers(db: Database, limit = 1_000): Promise<number> {
  const rows = await db.run<{ incarnation: string }>(
    {
      name: 'purge_workers',
      text: `delete from troupe.workers x where x.incarnation in (select w.incarnation from troupe.workers w
          where w.started_at < now() - interval '1 day' and ${lockIsFree('w.incarnation')}
            and not exists (select from troupe.runs r where r.worker_id = w.incarnation and r.status = 'running')
          limit $1 for update skip locked) returning x.incarnation`,
      values: [limit],
    },
    db.pool,
  );
  return rows.length;
}

/**
 * Shares of budgets whose worker is gone and has no row: it stopped in order and left them settled, or its row went
 * with a crash of Postgres. They are settled as in a takeover. Postgres must have been up for `graceSeconds`, so that
 * whoever lives has shown up again.
 */
export async function purgeBudgetLeases(db: Database, graceSeconds = 60): Promise<number> {
  const rows = await db.run<{ reaped: number | null }>(
    {
      name: 'purge_budget_leases',
      text: `with ownerless as materialized (
          select distinct l.worker_id from troupe.budget_leases l
          where pg_postmaster_start_time() < now() - make_interval(secs => $1)
            and not exists (select from troupe.workers w where w.incarnation = l.worker_id)
            and ${lockIsFree('l.worker_id')})
        select troupe.reap(o.worker_id, null, false) as reaped from ownerless o order by o.worker_id`,
      values: [graceSeconds],
    },
    db.pool,
  );
  return rows.filter((row) => row.reaped !== null).length;
}

/**
 * Tombstones older than `days`. The same statement records up to which transaction they were deleted, so that a client
 * with an older checkpoint starts again.
 */
export async function purgeTombstones(db: Database, days: number, limit = 10_000): Promise<number> {
  const rows = await db.run<{ purged: number }>(
    {
      name: 'purge_tombstones',
      text: `with gone as (delete from troupe.tombstones x where (x.collection, x.id, x.xid) in (select o.collection, o.id, o.xid from troupe.tombstones o
            where o.gone_at < now() - make_interval(days => $1) limit $2 for update skip locked) returning x.project_id, x.xid),
          noted as (insert into troupe.purged_tombstones as p (project_id, xid) select g.project_id, max(g.xid) from gone g group by g.project_id order by g.project_id
            on conflict (project_id) do update set xid = greatest(p.xid, excluded.xid))
        select count(*)::int as purged from gone`,
      values: [days, limit],
    },
    db.pool,
  );
  return rows[0]!.purged;
}

/** Prompts of runs in spaces: each quotes a large part of its space. */
export async function purgePrompts(db: Database, limit = 5_000, days = 30): Promise<number> {
  const rows = await db.run<{ n: number }>(
    {
      name: 'purge_prompts',
      text: `with gone as (delete from troupe.run_prompts x where (x.run_id, x.step) in (select o.run_id, o.step from troupe.run_prompts o
            where o.created_at < now() - make_interval(days => $1) limit $2 for update skip locked) returning 1)
        select count(*)::int as n from gone`,
      values: [days, limit],
    },
    db.pool,
  );
  return rows[0]!.n;
}
