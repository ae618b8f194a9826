import type { Database } from '../database.ts';

export interface WorkerSelf {
  incarnation: string;
  host: string;
  pid: number;
  beat: number;
  capacity: number;
  load: number;
  draining: boolean;
  /** The code tools that it has. */
  codeTools: readonly string[];
}

export interface WorkerSeen {
  incarnation: string;
  beat: number;
}

/** One heartbeat; answers with what all others last did. On its own pool, so that nothing else can hold it up. */
export async function beat(db: Database, self: WorkerSelf): Promise<WorkerSeen[]> {
  return db.run<{ incarnation: string; beat: number }>(
    {
      name: 'beat',
      text: `with me as (
          insert into troupe.workers (incarnation, host, pid, beat, capacity, load, draining, code_tools) values ($1, $2, $3, $4, $5, $6, $7, $8)
          on conflict (incarnation) do update set beat = excluded.beat, capacity = excluded.capacity, load = excluded.load, draining = excluded.draining, beat_at = now())
        select incarnation, beat from troupe.workers where incarnation <> $1`,
      values: [
        ...[self.incarnation, self.host, self.pid, self.beat, self.capacity, self.load, self.draining],
        self.codeTools,
      ],
    },
    db.liveness,
  );
}

/** Runs that the database says this worker holds. */
export async function heldBy(db: Database, incarnation: string): Promise<{ id: string; epoch: number }[]> {
  return db.run(
    {
      name: 'held_by',
      text: `select id, epoch from troupe.runs where worker_id = $1 and status = 'running'`,
      values: [incarnation],
    },
    db.liveness,
  );
}

/** Workers that hold runs but have no row: it went with a crash of Postgres, or they were reaped halfway. */
export async function rowlessHolders(db: Database): Promise<string[]> {
  const rows = await db.run<{ worker_id: string }>(
    {
      name: 'rowless_holders',
      text: `select distinct r.worker_id from troupe.runs r where r.status = 'running'
        and not exists (select from troupe.workers w where w.incarnation = r.worker_id)`,
      values: [],
    },
    db.liveness,
  );
  return rows.map((row) => row.worker_id);
}

/** Which of these hold the advisory lock that they hold while they live. */
export async function lockHolders(db: Database, incarnations: string[]): Promise<Set<string>> {
  const rows = await db.run<{ incarnation: string }>(
    {
      name: 'lock_holders',
      text: `select w.incarnation from unnest($1::uuid[]) w(incarnation) join pg_locks l on l.locktype = 'advisory' and l.granted
          and l.database = (select oid from pg_database where datname = current_database())
          and ((l.classid::bigint << 32) | l.objid::bigint) = troupe.worker_lock(w.incarnation) and l.objsubid = 1`,
      values: [incarnations],
    },
    db.liveness,
  );
  return new Set(rows.map((row) => row.incarnation));
}

/** Puts the runs of a dead worker back into the queue. Null where it turns out to live. */
export async function reap(
  db: Database,
  incarnation: string,
  seenBeat: number | null,
  hung: boolean,
): Promise<number | null> {
  const rows = await db.run<{ n: number | null }>(
    { name: 'reap', text: 'select troupe.reap($1, $2, $3) as n', values: [incarnation, seenBeat, hung] },
    db.liveness,
  );
  return rows[0]!.n;
}

/** Runs that were claimed for this worker but never reached it: the answer to its claim was lost. */
export async function disown(
  db: Database,
  incarnation: string,
  runs: { id: string; epoch: number }[],
): Promise<void> {
  await db.run(
    {
      name: 'disown',
      text: `with back as (
          update troupe.runs r set status = 'queued', worker_id = null, run_at = now(), updated_at = now(),
            takeovers = case when h.step > r.step then 0 else r.takeovers end
          from unnest($2::uuid[], $3::int[]) x(id, epoch) join troupe.run_heads h on h.run_id = x.id
          where r.id = x.id and r.epoch = x.epoch and r.worker_id = $1 and r.status = 'running' returning r.id, r.epoch)
        update troupe.run_heads h set worker_id = null from back where h.run_id = back.id and h.epoch = back.epoch`,
      values: [incarnation, runs.map((run) => run.id), runs.map((run) => run.epoch)],
    },
    db.liveness,
  );
}

export async function forgetWorker(db: Database, incarnation: string): Promise<void> {
  await db.run(
    {
      name: 'forget_worker',
      text: 'delete from troupe.workers where incarnation = $1',
      values: [incarnation],
    },
    db.liveness,
  );
}

/** Seconds since Postgres started; right after a restart nobody is judged. */
export async function postgresUptimeMs(db: Database): Promise<number> {
  const rows = await db.run<{ ms: number }>(
    {
      name: 'uptime',
      text: `select (extract(epoch from clock_timestamp() - pg_postmaster_start_time()) * 1000)::float8 as ms`,
      values: [],
    },
    db.liveness,
  );
  return rows[0]!.ms;
}

export interface WorkerRow {
  id: string;
  host: string;
  pid: number;
  startedAt: Date;
  lastBeatAt: Date;
  /** By the clock of the database. */
  silentMs: number;
  places: number;
  taken: number;
  draining: boolean;
  functions: string[];
}

/** Everybody who works, those that began last first. */
export async function listWorkers(db: Database): Promise<WorkerRow[]> {
  return db.run<WorkerRow>(
    {
      name: 'list_workers',
      text: `select incarnation as id, host, pid, started_at as "startedAt", beat_at as "lastBeatAt", (extract(epoch from clock_timestamp() - beat_at) * 1000)::float8 as "silentMs",
          capacity as places, load as taken, draining, code_tools as functions from troupe.workers order by started_at desc, incarnation`,
      values: [],
    },
    db.pool,
  );
}
