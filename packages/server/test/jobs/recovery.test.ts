import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, silentLogger, startEmbedded } from '@troupe/server';
import { migrateJobs } from '@troupe/server/parts';
import { stopwatch, until } from '@troupe/testing';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/base/logger.ts';
import { addJob, releaseJobsOfTheGone } from '../../src/store/queries/jobs.ts';
import { after } from '../after.ts';
import { openProxy } from '../faults/proxy.ts';
import { allGone, connect, done, end, freshDatabase, jobsProcess, note, startJobs } from './fixture.ts';

const isBack = (lines: string[]) => lines.some((line) => line.includes('carried out again'));

function listen() {
  const lines: string[] = [];
  return { lines, logger: createLogger('info', { write: (line) => void lines.push(line) }) };
}

test('after all its connections were cut, jobs go on, and the one under way is not done twice', async () => {
  const db = await freshDatabase();
  const { lines, logger } = listen();
  let finish = () => {};
  const begun: unknown[] = [];
  await startJobs(
    db,
    {
      note,
      slow: async (payload) => {
        begun.push(payload);
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
    },
    logger,
  );
  await addJob(db, 'slow', 'only once');
  await until('it has begun', () => begun.length === 1);
  const { rows } = await db.pool.query<{ cut: boolean }>(
    `select pg_terminate_backend(pid) as cut from pg_stat_activity
      where datname = current_database() and application_name like 'troupe/test/jobs%'`,
  );
  expect(rows.length).toBeGreaterThanOrEqual(2);
  await addJob(db, 'note', 'after the cut');
  await until('jobs are back', () => isBack(lines));
  await until('the new job was done', async () => (await done(db)).includes('after the cut'));
  // The job under way belongs to a runner that was replaced; it counts as alive.
  expect(await releaseJobsOfTheGone(db, 0)).toBe(0);
  finish();
  await allGone(db);
  expect(begun).toEqual(['only once']);
});

test('a runner that loses its connection while it starts is stopped', async () => {
  const direct = await freshDatabase();
  const proxy = await openProxy(direct.url);
  after(async () => proxy.close());
  const { lines, logger } = listen();
  await startJobs(connect(proxy.via(direct.url)), { note }, logger);
  // The next three runners ask for their tasks, and get no answer, when the connection with their lock breaks.
  const blocker = await direct.pool.connect();
  await blocker.query('begin; lock table graphile_worker._private_tasks in access exclusive mode');
  proxy.loseAnswersTo((text) => text.includes('troupe.jobs:') && proxy.lost < 3);
  const cut = () =>
    direct.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'troupe/test/jobs%'`,
    );
  await cut();
  await until('three have lost it', () => proxy.lost === 3);
  await cut();
  await blocker.query('rollback');
  blocker.release();
  await addJob(direct, 'note', 'now');
  await until('jobs are back', async () => isBack(lines) && (await done(direct)).includes('now'));
  lines.length = 0;
  // Longer than the pause of a runner between two looks for jobs.
  await addJob(direct, 'note', 'later', { runAt: new Date(Date.now() + 2_500) });
  await until('the job was done', async () => (await done(direct)).includes('later'));
  expect(lines.filter((line) => line.includes('No tasks found'))).toEqual([]);
});

test('after a restart of Postgres jobs go on, and the one that ended meanwhile is marked as done', async () => {
  const home = mkdtempSync(join(tmpdir(), 'troupe-jobs-'));
  after(async () => rmSync(home, { recursive: true, force: true }));
  const first = await startEmbedded({ home, logger: silentLogger });
  await migrate(first.url);
  await migrateJobs(first.url, silentLogger);
  const db = connect(first.url);
  await db.pool.query('create table done (what text, by int, at timestamptz default clock_timestamp())');
  const { lines, logger } = listen();
  let finish = () => {};
  let begun = 0;
  await startJobs(
    db,
    {
      note,
      slow: async () => {
        begun++;
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
    },
    logger,
  );
  await addJob(db, 'slow', null);
  await until('it has begun', () => begun === 1);
  const port = Number(new URL(first.url).port);
  await first.stop();
  finish(); // there is no database to tell it to
  await until('the loss was noticed', () => lines.some((line) => line.includes('interrupted')));
  const second = await startEmbedded({ home, port, logger: silentLogger });
  after(() => second.stop());
  const elapsed = stopwatch();
  await addJob(db, 'note', 'after the restart');
  await until('the new job was done', async () => (await done(db)).includes('after the restart'));
  expect(elapsed()).toBeLessThan(5_000);
  await until('jobs are back', () => isBack(lines));
  await allGone(db);
  expect(begun).toBe(1);
});

test('a connection that is cut while a job is marked as done does not undo it', async () => {
  const db = await freshDatabase();
  let finish = () => {};
  let begun = 0;
  await startJobs(db, {
    slow: async () => {
      begun++;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    },
  });
  await addJob(db, 'slow', null);
  await until('it has begun', () => begun === 1);
  const holder = await db.pool.connect();
  await holder.query('begin');
  await holder.query('select from graphile_worker._private_jobs for update');
  finish();
  await until('the statement was cut', async () => {
    const { rows } = await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like 'delete from%'`,
    );
    return rows.length === 1;
  });
  await holder.query('rollback');
  holder.release();
  await allGone(db);
  expect(begun).toBe(1);
});

test('again and again', async () => {
  const db = await freshDatabase();
  await startJobs(db, { note });
  for (let round = 1; round <= 5; round++) {
    await addJob(db, 'note', `round ${round}`);
    await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'troupe/test/jobs%'`,
    );
  }
  await addJob(db, 'note', 'the last');
  await until('all were done', async () => (await done(db)).includes('the last'));
  await allGone(db);
  expect(new Set(await done(db)).size).toBe(6);
});

test('the job of a killed process is carried out by another; those of the living are left alone', async () => {
  const db = await freshDatabase();
  const victim = await jobsProcess(db.url);
  await addJob(db, 'hang', 'on');
  await until('it was begun', async () => (await done(db)).length === 1);
  expect(await releaseJobsOfTheGone(db, 0)).toBe(0);
  await end(victim, 'SIGKILL');
  await until('its job was freed', async () => (await releaseJobsOfTheGone(db, 0)) === 1);
  const heir = await jobsProcess(db.url);
  await until('it was begun again', async () => (await done(db)).length === 2);
  const { rows } = await db.pool.query<{ by: number }>('select by from done order by at');
  expect(rows.map((row) => row.by)).toEqual([victim.pid, heir.pid]);
});
