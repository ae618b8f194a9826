import { newId } from '@troupe/server';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createCommits } from '../../src/kernel/commits.ts';
import { commit } from '../../src/store/queries/commit.ts';
import { RaceFixture } from './fixture.ts';

let fixture: RaceFixture;
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
});
afterAll(async () => {
  await fixture.closeAndCountDeadlocks();
});

it('a bad start of the one kind does not make good ones of the other look like repetitions', async () => {
  const commits = createCommits(fixture.process(0).db);
  for (const badIsPlain of [true, false]) {
    const good = Array.from({ length: 3 }, () => fixture.item({ run: badIsPlain ? { delayMs: 0 } : {} }));
    const bad = fixture.item({ run: { snapshot: newId(), ...(badIsPlain ? {} : { delayMs: 0 }) } });
    const answers = await Promise.allSettled([...good, bad].map((item) => commits.start.submit(item)));
    expect(answers.map((answer) => answer.status)).toEqual([...good.map(() => 'fulfilled'), 'rejected']);
    for (const answer of answers.slice(0, 3)) {
      expect(answer).toMatchObject({ value: { ok: true, duplicate: false } });
    }
  }
});

it('runs that end together are locked in the order of their ids, whatever the order of their threads', async () => {
  const door = `door ${newId()}`;
  const threads = [newId(), newId()].sort();
  const [first, second] = [newId(), newId()].sort() as [string, string];
  for (const [n, run] of [second, first].entries()) {
    const item = fixture.item({ run: { door, id: run } });
    item.thread = threads[n]!;
    await fixture.process(0).kernel.start(item);
  }
  const held = await fixture.claim(door, 2, newId());
  const other = await fixture.pool.connect();
  try {
    await other.query('begin');
    await other.query('select from troupe.runs where id = $1 for no key update', [first]);
    const ending = commit(
      fixture.process(0).db,
      held.map((run) => run.finishes()),
    );
    const waiting = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'process 0%'`;
    while ((await fixture.pool.query<{ n: number }>(waiting)).rows[0]!.n === 0);
    // Had the commit taken the second run's lock already, this would never come back.
    await other.query(`set lock_timeout = '2s'`);
    await other.query('select from troupe.runs where id = $1 for no key update', [second]);
    await other.query('commit');
    expect((await ending).map((verdict) => verdict.ok)).toEqual([true, true]);
  } finally {
    other.release();
  }
});

it('a message to a thread of another project is refused, and leaks and stops nothing', async () => {
  const project = newId();
  await fixture.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [project, project]);
  const [run] = await fixture.hold(1, { run: { serial: true } });
  for (const policy of ['queue', 'steer', 'interrupt', 'reject'] as const) {
    const post = { ...fixture.post(run!.thread, policy), project };
    const answer = await fixture
      .process(0)
      .kernel.post(post)
      .catch((error: Error) => ({ ok: false, code: error.message }));
    expect(answer).not.toHaveProperty('run');
    expect(answer.ok).toBe(false);
    expect(await fixture.status(run!.run)).toBe('running');
  }
});

it('what a start names cannot be deleted while it waits for a thread', async () => {
  const [held] = await fixture.hold(1);
  const snapshot = newId();
  await fixture.pool.query(
    'insert into troupe.compiled_snapshots select $1, project_id, $2, compiled from troupe.compiled_snapshots where id = $3',
    [snapshot, newId().replaceAll('-', '').padEnd(64, '1'), fixture.snapshotId],
  );
  const item = fixture.item({ thread: held!.thread, run: { snapshot, delayMs: 1 } });
  const lock = await fixture.pool.connect();
  await lock.query('begin');
  await lock.query('select from troupe.threads where id = $1 for update', [held!.thread]);
  const started = fixture.process(0).kernel.start(item);
  const waiting = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'process 0%'`;
  while ((await fixture.pool.query<{ n: number }>(waiting)).rows[0]!.n === 0);
  const deleted = fixture.pool.query('delete from troupe.compiled_snapshots where id = $1', [snapshot]).then(
    () => 'deleted',
    (error: { code: string }) => error.code,
  );
  const blocked = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like 'delete from troupe.compiled%'`;
  while ((await fixture.pool.query<{ n: number }>(blocked)).rows[0]!.n === 0);
  await lock.query('commit');
  lock.release();
  expect(await started).toMatchObject({ ok: true });
  expect(await deleted).toBe('23503');
});
