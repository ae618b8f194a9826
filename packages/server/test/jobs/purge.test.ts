import { type Database, newId, silentLogger } from '@troupe/server';
import { buildProject, buildSnapshot, buildStart, until, violations } from '@troupe/testing';
import { expect, test } from 'vitest';
import { houseTasks } from '../../src/jobs/housekeeping.ts';
import { runPurges } from '../../src/jobs/purge.ts';
import { leaseBudget, reportBudgets, setBudget } from '../../src/store/queries/budgets.ts';
import { addJob } from '../../src/store/queries/jobs.ts';
import { purgeBudgetLeases, purgeWorkers } from '../../src/store/queries/purge.ts';
import { purgeEndedRuns } from '../../src/store/queries/spans.ts';
import { start } from '../../src/store/queries/start.ts';
import { after } from '../after.ts';
import { freshDatabase, startJobs } from './fixture.ts';

async function insertWorker(db: Database, age: string): Promise<string> {
  const incarnation = newId();
  await db.pool.query(
    `insert into troupe.workers (incarnation, host, pid, beat, started_at) values ($1, 'gone', 1, 5, now() - $2::interval)`,
    [incarnation, age],
  );
  return incarnation;
}

/** As a living worker does: its lock is held for as long as the connection is. */
async function holdLock(db: Database, incarnation: string): Promise<void> {
  const client = await db.connectDirect('lock');
  after(() => client.end());
  await client.query('select pg_advisory_lock(troupe.worker_lock($1))', [incarnation]);
}

async function workers(db: Database): Promise<string[]> {
  const { rows } = await db.pool.query<{ incarnation: string }>('select incarnation from troupe.workers');
  return rows.map((row) => row.incarnation).sort();
}

test('rows of workers long gone go; the young, the living and the holders of runs stay', async () => {
  const db = await freshDatabase();
  await insertWorker(db, '2 days');
  const young = await insertWorker(db, '1 hour');
  const living = await insertWorker(db, '2 days');
  await holdLock(db, living);
  const holder = await insertWorker(db, '2 days');
  const ids = await buildProject(db);
  const item = buildStart(ids, await buildSnapshot(db, ids), 'go');
  await start(db, [item]);
  await db.pool.query(`update troupe.runs set status = 'running', worker_id = $1`, [holder]);
  expect(await purgeWorkers(db)).toBe(1);
  expect(await workers(db)).toEqual([young, living, holder].sort());
  expect(await purgeWorkers(db)).toBe(0);
});

test('shares of a budget whose worker is gone are settled; those of the living stay', async () => {
  const db = await freshDatabase();
  const ids = await buildProject(db);
  const budget = newId();
  await setBudget(
    db.rows,
    { project: ids.project, scope: 'project', scopeId: ids.project, unit: 'tokens' },
    { id: budget, amount: 1_000, onExhausted: 'stop' },
  );
  const [gone, living, inRow] = [newId(), newId(), await insertWorker(db, '1 hour')] as const;
  for (const worker of [gone, living, inRow]) await leaseBudget(db, budget, worker, 0, 100);
  await reportBudgets(db, gone, [{ budget, spent: 40, returned: 10 }]);
  await holdLock(db, living);
  expect(await purgeBudgetLeases(db, 1_000_000)).toBe(0); // Postgres is younger than that
  expect(await purgeBudgetLeases(db, 0)).toBe(1);
  const { rows } = await db.pool.query('select spent, leased from troupe.budgets');
  expect(rows).toEqual([{ spent: 40, leased: 200 }]);
  expect(await purgeBudgetLeases(db, 0)).toBe(0);
  expect(await violations(db.pool)).toEqual([]);
});

test('ends of runs that nobody told of are kept for ten minutes', async () => {
  const db = await freshDatabase();
  await db.pool.query(
    `insert into troupe.ended_runs (run_id, lives, ended_at) values ($1, 1, now() - interval '11 minutes'), ($2, 1, now())`,
    [newId(), newId()],
  );
  expect(await purgeEndedRuns(db)).toBe(1);
  expect(await purgeEndedRuns(db)).toBe(0);
});

async function insertDeliveries(db: Database, count: number, status: string, age: string): Promise<void> {
  await db.pool.query(
    `with rule as (insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled)
        select gen_random_uuid(), p.id, $2 || replace($3, ' ', '-'), '{}', '{runs}', 'runs', '{create}', false from troupe.projects p returning id, project_id)
      insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, depth, own,
        status, next_attempt_at, ended_at, changed_at)
      select gen_random_uuid(), rule.project_id, rule.id, 1, 1, n, 'create', 'runs', n::text, 0, false,
        $2, case when $2 = 'pending' then now() - $3::interval end, case when $2 <> 'pending' then now() - $3::interval end, now()
      from rule, generate_series(1, $1::int) n`,
    [count, status, age],
  );
}

async function countDeliveries(db: Database): Promise<Record<string, number>> {
  const { rows } = await db.pool.query<{ status: string; n: number }>(
    'select status, count(*)::int as n from troupe.trigger_deliveries group by 1',
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

test('one purge job deletes a backlog of any size, in small transactions', async () => {
  const db = await freshDatabase();
  await buildProject(db);
  await insertDeliveries(db, 20_500, 'delivered', '8 days');
  await insertDeliveries(db, 2_000, 'dead', '31 days');
  await insertDeliveries(db, 500, 'pending', '31 days');
  await insertDeliveries(db, 3, 'delivered', '6 days');
  await insertDeliveries(db, 1_500, 'dead', '29 days');
  await insertDeliveries(db, 2, 'pending', '29 days');
  await db.pool.query(`create table transactions (xid xid8, rows int);
    create function noted() returns trigger language plpgsql as $$ begin
      insert into transactions select pg_current_xact_id(), count(*) from old; return null; end $$;
    create trigger noted after delete on troupe.trigger_deliveries referencing old table as old for each statement execute function noted()`);
  // Each job ends after one round: the rest is left to the jobs that it adds.
  await startJobs(db, houseTasks({ tombstoneDays: 30, purgeMs: 0 }));
  await addJob(db, 'purge', {});
  await until('all jobs are done', async () => {
    const { rows } = await db.pool.query('select from graphile_worker.jobs');
    return rows.length === 0;
  });
  expect(await countDeliveries(db)).toEqual({ delivered: 3, dead: 1_500, pending: 2 });
  const { rows } = await db.pool.query(
    'select sum(rows)::int as rows, max(rows)::int as most, count(distinct xid)::int as transactions from transactions',
  );
  expect(rows).toEqual([{ rows: 23_000, most: 1_000, transactions: 24 }]);
});

test('purge jobs run one at a time, and a backlog does not add more of them', async () => {
  const db = await freshDatabase();
  await buildProject(db);
  await insertDeliveries(db, 5_000, 'delivered', '8 days');
  let running = 0;
  let most = 0;
  const { purge } = houseTasks({ tombstoneDays: 30, purgeMs: 0 });
  const jobs = {
    purge: async (...args: Parameters<NonNullable<typeof purge>>) => {
      most = Math.max(most, ++running);
      const { rows } = await db.pool.query('select from graphile_worker.jobs');
      expect(rows.length).toBeLessThanOrEqual(2);
      await purge!(...args).finally(() => running--);
    },
  };
  await startJobs(db, jobs);
  await startJobs(db, jobs);
  for (let hour = 0; hour < 5; hour++) await addJob(db, 'purge', {}, { key: 'purge', queue: 'purge' });
  await until('all are purged', async () => {
    const { rows } = await db.pool.query('select from graphile_worker.jobs');
    return rows.length === 0;
  });
  expect(await countDeliveries(db)).toEqual({});
  expect(most).toBe(1);
});

test('purges take turns, and one that fails does not stop the others', async () => {
  const calls: string[] = [];
  const purge = (name: string, rows: number) => ({
    name,
    limit: 10,
    batch: async (_db: Database, limit: number) => {
      calls.push(name);
      if (rows < 0) throw new Error('refused');
      const purged = Math.min(limit, rows);
      rows -= purged;
      return purged;
    },
  });
  const context = { db: null as never, logger: silentLogger, signal: new AbortController().signal };
  const finished = await runPurges([purge('large', 25), purge('small', 3), purge('empty', 0)], context);
  expect(finished).toEqual({ counts: { large: 25, small: 3 }, unfinished: false });
  expect(calls.splice(0)).toEqual(['large', 'small', 'empty', 'large', 'large']);
  const timed = await runPurges([purge('large', 25), purge('small', 3)], context, 0);
  expect(timed).toEqual({ counts: { large: 10, small: 3 }, unfinished: true });
  await expect(runPurges([purge('broken', -1), purge('small', 3)], context)).rejects.toThrow('refused');
  expect(calls.slice(-2)).toEqual(['broken', 'small']);
  const stopping = { ...context, signal: AbortSignal.abort() };
  expect(await runPurges([purge('large', 25)], stopping)).toEqual({ counts: {}, unfinished: true });
});
