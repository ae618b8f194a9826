import { Jobs } from '@troupe/server/parts';
import { stopwatch, until } from '@troupe/testing';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/base/logger.ts';
import { housekeeping, houseTasks } from '../../src/jobs/housekeeping.ts';
import { addJob } from '../../src/store/queries/jobs.ts';
import { after } from '../after.ts';
import { allGone, done, freshDatabase, jobsProcess, note, startJobs } from './fixture.ts';

test('a job is carried out at once, with its payload, and is gone', async () => {
  const db = await freshDatabase();
  const seen: unknown[] = [];
  await startJobs(db, {
    see: async (payload, { attempt, lastAttempt }) => void seen.push({ payload, attempt, lastAttempt }),
  });
  const elapsed = stopwatch();
  await addJob(db, 'see', { nested: [1, 'two', null] });
  await until('it was seen', () => seen.length > 0);
  expect(elapsed()).toBeLessThan(900); // announced, not found by the poll that comes every second
  expect(seen).toEqual([{ payload: { nested: [1, 'two', null] }, attempt: 1, lastAttempt: false }]);
  await allGone(db);
});

test('a job belongs to the transaction in which it was added', async () => {
  const db = await freshDatabase();
  await startJobs(db, { note });
  const client = await db.pool.connect();
  await client.query('begin');
  await addJob(client, 'note', 'never');
  await client.query('rollback');
  await client.query('begin');
  await addJob(client, 'note', 'by a client');
  await client.query('commit');
  client.release();
  await db.rows.transaction().execute((transaction) => addJob(transaction, 'note', 'by kysely'));
  await until('two jobs were done', async () => (await done(db)).length === 2);
  await allGone(db);
  expect((await done(db)).sort()).toEqual(['by a client', 'by kysely']);
});

test('a job of a time is carried out once, not before it, however many processes there are', async () => {
  const db = await freshDatabase();
  await Promise.all([jobsProcess(db.url), jobsProcess(db.url)]);
  const { rows } = await db.pool.query<{ at: Date }>(`select now() + interval '1500 ms' as at`);
  const runAt = rows[0]!.at;
  await Promise.all(Array.from({ length: 20 }, (_, n) => addJob(db, 'note', `job ${n}`, { runAt })));
  await until('all were done', async () => (await done(db)).length >= 20);
  await allGone(db);
  const { rows: found } = await db.pool.query<{ what: string; late: number }>(
    `select what, extract(epoch from at - $1)::float8 as late from done`,
    [runAt],
  );
  expect(found.map((row) => row.what).sort()).toEqual(
    Array.from({ length: 20 }, (_, n) => `job ${n}`).sort(),
  );
  expect(Math.min(...found.map((row) => row.late))).toBeGreaterThanOrEqual(0);
});

test('of jobs with one key the last one waits; a removed one never comes', async () => {
  const db = await freshDatabase();
  const soon = new Date(Date.now() + 300);
  await addJob(db, 'note', 'first', { key: 'timer', runAt: soon });
  await addJob(db, 'note', 'second', { key: 'timer', runAt: soon });
  await addJob(db, 'note', 'unwanted', { key: 'other', runAt: soon });
  await db.pool.query('select from graphile_worker.remove_job($1)', ['other']);
  await startJobs(db, { note });
  await until('it was done', async () => (await done(db)).length > 0);
  await allGone(db);
  expect(await done(db)).toEqual(['second']);
});

test('a job that fails is tried again; what failed is logged', async () => {
  const db = await freshDatabase();
  const lines: string[] = [];
  const attempts: number[] = [];
  const tasks = {
    flaky: async (_payload: unknown, { attempt, lastAttempt }: { attempt: number; lastAttempt: boolean }) => {
      attempts.push(attempt);
      if (!lastAttempt) throw new Error('not today');
    },
  };
  await startJobs(db, tasks, createLogger('warn', { write: (line) => void lines.push(line) }));
  await addJob(db, 'flaky', null, { maxAttempts: 2 });
  await until('the second try', () => attempts.length === 2);
  await allGone(db);
  expect(attempts).toEqual([1, 2]);
  expect(lines.find((line) => line.includes('"task":"flaky"'))).toContain('not today');
});

test('closing waits for the job under way and takes no other', async () => {
  const db = await freshDatabase();
  let finish = () => {};
  let begun = 0;
  const jobs = await startJobs(db, {
    slow: async () => {
      begun++;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    },
  });
  // A question for work that is on its way when closing begins may still be answered with a job.
  await until('all have asked for work', async () => {
    const { rows } = await db.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'troupe/test/jobs'
        and state = 'idle'`,
    );
    return rows.length >= 4;
  });
  await addJob(db, 'slow', 1);
  await until('it has begun', () => begun === 1);
  let closed = false;
  const closing = jobs.close(5_000).then(() => {
    closed = true;
  });
  await addJob(db, 'slow', 2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(closed).toBe(false);
  finish();
  await closing;
  const { rows } = await db.pool.query('select locked_by, attempts from graphile_worker.jobs');
  expect(rows).toEqual([{ locked_by: null, attempts: 0 }]);
  expect(begun).toBe(1);
});

test('closing tells a slow job to hurry, and does not wait for ever', async () => {
  const db = await freshDatabase();
  let begun = false;
  let told = false;
  const jobs = await startJobs(db, {
    stuck: async (_payload, { signal }) => {
      begun = true;
      signal.addEventListener('abort', () => {
        told = true;
      });
      await new Promise(() => {});
    },
  });
  await addJob(db, 'stuck', null);
  await until('it has begun', () => begun);
  const elapsed = stopwatch();
  await jobs.close(400);
  expect(told).toBe(true);
  expect(elapsed()).toBeLessThan(1_500);
});

test('housekeeping is known to cron and can be carried out', async () => {
  const db = await freshDatabase();
  const lines: string[] = [];
  const logger = createLogger('warn', { write: (line) => void lines.push(line) });
  const jobs = new Jobs({ db, logger, tasks: houseTasks(), crontab: housekeeping });
  await jobs.start();
  after(() => jobs.close(2_000));
  await until('cron knows all', async () => {
    const { rows } = await db.pool.query('select identifier from graphile_worker._private_known_crontabs');
    return rows.length === housekeeping.length;
  });
  for (const task of Object.keys(houseTasks())) await addJob(db, task, {});
  await until('all were tried', async () => {
    const { rows } = await db.pool.query('select from graphile_worker.jobs where attempts = 0');
    return rows.length === 0;
  });
  await until('nobody is at them', async () => {
    const { rows } = await db.pool.query('select from graphile_worker.jobs where locked_by is not null');
    return rows.length === 0;
  });
  expect(lines).toEqual([]);
});
