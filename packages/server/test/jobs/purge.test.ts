import { type Database, newId } from '@troupe/server';
import { buildProject, buildSnapshot, buildStart, violations } from '@troupe/testing';
import { expect, test } from 'vitest';
import { leaseBudget, reportBudgets, setBudget } from '../../src/store/queries/budgets.ts';
import { purgeBudgetLeases, purgeWorkers } from '../../src/store/queries/purge.ts';
import { purgeEndedRuns } from '../../src/store/queries/spans.ts';
import { start } from '../../src/store/queries/start.ts';
import { after } from '../after.ts';
import { freshDatabase } from './fixture.ts';

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
