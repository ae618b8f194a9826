import type { Json } from '@troupe/protocol';
import type pg from 'pg';
import { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { type Kysely, kysely } from '../kysely.ts';
import type { DB } from '../schema.gen.ts';

// Jobs are rows of Graphile Worker's schema, which its own migrations make. What is sent here is its public interface.

export interface JobOptions {
  /** Not before; default: at once. */
  runAt?: Date;
  /** At most one job of this key waits: adding it again replaces the one that has not begun. */
  key?: string;
  /** How often it may fail; default 25, which is about three days. */
  maxAttempts?: number;
  /** Jobs of one queue run one after another, in all processes. */
  queue?: string;
}

/**
 * Adds a job. On a transaction of somebody else it is there if and when that commits.
 * A job may run more than once (its process died before it could say so), so a task must bear repetition.
 */
export async function addJob(
  on: Database | pg.ClientBase | Kysely<DB>,
  task: string,
  payload: Json,
  options: JobOptions = {},
): Promise<void> {
  const text = `select from graphile_worker.add_job($1, payload => $2::json, run_at => $3::timestamptz,
    job_key => $4, max_attempts => $5::int, queue_name => $6)`;
  const { runAt, key, maxAttempts, queue } = options;
  const values = [task, toJsonText(payload), runAt ?? null, key ?? null, maxAttempts ?? null, queue ?? null];
  if (on instanceof Database) await on.pool.query(text, values);
  else if ('executeQuery' in on) await on.executeQuery(kysely().CompiledQuery.raw(text, values));
  else await on.query(text, values);
}

const lockOf = (runner: string) => `hashtextextended('troupe.jobs:' || ${runner}, 0)`;

/** Shows that whoever works under these names is alive: held for as long as the connection lives. */
export async function holdJobLocks(client: pg.Client, runners: string[]): Promise<void> {
  await client.query(`select pg_advisory_lock(${lockOf('runner')}) from unnest($1::text[]) runner`, [
    runners,
  ]);
}

/** What was taken under this name is free again: nobody is at it any more. */
export async function releaseJobsOf(db: Database, runner: string): Promise<void> {
  await db.pool.query('select graphile_worker.force_unlock_workers(array[$1])', [runner]);
}

/**
 * Jobs that somebody took who is gone are free again; left alone, they would be for four hours. `graceSeconds` is how
 * long a job must have been taken, and Postgres been up: a process that lost its connection has so long to come back.
 */
export async function releaseJobsOfTheGone(db: Database, graceSeconds: number): Promise<number> {
  const rows = await db.run<{ released: number }>(
    {
      name: 'release_jobs_of_the_gone',
      text: `with gone as materialized (
          select j.locked_by as runner, count(*) as jobs from graphile_worker.jobs j
          where j.locked_at < now() - make_interval(secs => $1)
            and pg_postmaster_start_time() < now() - make_interval(secs => $1)
            and not exists (select from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
              and l.database = (select oid from pg_database where datname = current_database())
              and ((l.classid::bigint << 32) | l.objid::bigint) = ${lockOf('j.locked_by')})
          group by 1)
        select coalesce(sum(jobs), 0)::int as released, graphile_worker.force_unlock_workers(array_agg(runner)) from gone`,
      values: [graceSeconds],
    },
    db.pool,
  );
  return rows[0]!.released;
}
