import { type Database, newId } from '@troupe/server';
import { type AgentIds, buildProject, until, violations } from '@troupe/testing';
import { expect, test } from 'vitest';
import { releaseJobsOfTheGone } from '../../src/store/queries/jobs.ts';
import { rearmPlans } from '../../src/store/queries/plans.ts';
import { after } from '../after.ts';
import { end, freshDatabase, jobsProcess } from './fixture.ts';

// Processes that are killed around the moment at which they fire a plan. Nobody works on the runs: that they are there is the point.

const script = new URL('plans-process.ts', import.meta.url);

async function plansDue(db: Database, agent: AgentIds, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId);
  await db.pool.query(
    `insert into troupe.plans (id, project_id, agent_id, entity_id, name, cron, time_zone, next_run_at)
      select i, $2, $3, $4, i::text, '0 0 1 1 *', 'UTC', date_trunc('milliseconds', now()) - interval '1 hour' from unnest($1::uuid[]) i`,
    [ids, agent.project, agent.agent, agent.entity],
  );
  return ids;
}
const runs = async (db: Database) =>
  (await db.pool.query(`select trigger->>'planId' as plan from troupe.runs`)).rows.map(({ plan }) => plan);
const undone = async (db: Database) =>
  (await db.pool.query('select from troupe.plans where next_run_at <= now()')).rows.length;

const locked = async (db: Database) =>
  (await db.pool.query('select from graphile_worker.jobs where locked_at is not null')).rows.length;

test('kill -9 in the middle of firing: one run, whether what it had sent is carried out or lost with it', async () => {
  const db = await freshDatabase();
  const plans = await plansDue(db, await buildProject(db), 2);
  const holder = await db.pool.connect();
  after(async () => holder.release());
  await holder.query('begin');
  await holder.query('select from troupe.plans for update');
  const victim = await jobsProcess(db.url, script);
  const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%fire_plan%'`;
  await until('it is firing both', async () => (await db.pool.query(`select ${waiting}`)).rows.length === 2);
  await end(victim, 'SIGKILL');
  await db.pool.query(`select pg_terminate_backend(pid) from (select pid ${waiting} limit 1) one`);
  expect(await runs(db)).toEqual([]);
  await holder.query('commit');
  await until('one was carried out', async () => (await runs(db)).length === 1);
  await until('its jobs were freed', async () => {
    await releaseJobsOfTheGone(db, 0);
    return (await locked(db)) === 0;
  });
  expect(await undone(db)).toBe(1);
  await jobsProcess(db.url, script);
  await until('both have passed', async () => (await undone(db)) === 0 && (await locked(db)) === 0);
  expect((await runs(db)).toSorted()).toEqual(plans.toSorted());
  expect(await violations(db.pool)).toEqual([]);
  // The job whose work was done without it is of no use to anybody.
  expect(await rearmPlans(db, 0)).toBe(0);
  const { rows } = await db.pool.query('select key from graphile_worker.jobs');
  expect(rows.map(({ key }) => key).toSorted()).toEqual(plans.map((id) => `plan:${id}`).toSorted());
});

test('kill -9 of one process after another at any moment, two at a time: every plan runs once', async () => {
  const db = await freshDatabase();
  const plans = await plansDue(db, await buildProject(db), 150);
  for (let round = 0; round < 2; round++) {
    const pair = await Promise.all([jobsProcess(db.url, script), jobsProcess(db.url, script)]);
    await until('some were fired', async () => (await undone(db)) < plans.length - 50 * round);
    await Promise.all(pair.map((child) => end(child, 'SIGKILL')));
    await until('their jobs were freed', async () => {
      await releaseJobsOfTheGone(db, 0);
      return (await locked(db)) === 0;
    });
  }
  await jobsProcess(db.url, script);
  await until('all have passed', async () => (await undone(db)) === 0);
  expect((await runs(db)).toSorted()).toEqual(plans.toSorted());
  expect(await violations(db.pool)).toEqual([]);
});
