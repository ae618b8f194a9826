import { createModels, Kernel, newId, silentLogger, type Tools } from '@troupe/server';
import { createScripted } from '@troupe/server/parts';
import { buildStart, type KernelFixture, openKernel, plainDoor, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { expireUnclaimed } from '../../src/store/queries/code-tools.ts';

// Which worker takes which runs. One database with no worker of its own; each test brings those that it needs.

const STUCK = 5_000;
let fixture: KernelFixture;
const open = new Set<Kernel>();

beforeAll(async () => {
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: false });
});
afterAll(async () => {
  await Promise.all([...open].map((kernel) => kernel.close()));
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const needing = (...functions: string[]) =>
  fixture.snapshot({
    tools: functions.map((name) => ({ name, provider: 'code', config: { function: name } })),
  });
const start = async (snapshot: string, more = {}, by: Kernel = fixture.kernel): Promise<string> => {
  const item = buildStart(fixture.ids, snapshot, 'go');
  Object.assign(item.run, more);
  expect(await by.start(item)).toMatchObject({ ok: true });
  return item.run.id;
};
const worker = async (...code: string[]): Promise<Kernel> => {
  const kernel = new Kernel({ db: fixture.db, logger: silentLogger });
  open.add(kernel);
  const tools: Tools = { code: code.sort(), resolve: () => undefined };
  await kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: createScripted(() => ({ text: 'done' })).provider }),
    tools,
  });
  return kernel;
};
const close = async (kernel: Kernel) => {
  open.delete(kernel);
  await kernel.close();
};
const status = async (run: string) => (await fixture.row(run)).status;
const completed = (run: string) =>
  until('the run is completed', async () => (await status(run)) === 'completed');

test('a worker takes what needs no more than it has, and of a lane too', async () => {
  const [none, a, b, both] = [
    await fixture.snapshot(),
    await needing('a'),
    await needing('b'),
    await needing('a', 'b'),
  ];
  const kernel = await worker('a');
  // Started where the worker is, in a lane, and elsewhere.
  const fit = [
    await start(none, {}, kernel),
    await start(a, {}, kernel),
    await start(a, { lane: 'x', laneLimit: 1 }),
    await start(a),
  ];
  const unfit = [await start(b, {}, kernel), await start(both), await start(b, { lane: 'x', laneLimit: 1 })];
  for (const run of fit) await completed(run);
  for (const run of unfit) expect(await status(run)).toBe('queued');

  const other = await worker('a', 'b', 'c');
  for (const run of unfit) await completed(run);
  await close(kernel);
  await close(other);
});

test('a run that ended is taken up again by a worker that has what its snapshot needs then', async () => {
  const run = await start(await needing('a'));
  await fixture.kernel.cancel(run);
  expect(await fixture.kernel.retry(run, { snapshot: await needing('b'), wallMs: 60_000 })).toMatchObject({
    ok: true,
  });
  expect((await fixture.row(run)).code_tools).toEqual(['b']);
  const kernel = await worker('b');
  await completed(run);
  await close(kernel);
});

test('runs that nobody can take are given up after their time, unless somebody had their tools meanwhile', async () => {
  const snapshot = await needing('lost');
  const runs = [await start(snapshot), await start(snapshot, { lane: 'y', laneLimit: 1 })];
  const late = `update troupe.runs set run_at = now() - interval '1 hour', wall_ms = 600000 where id = any($1)`;
  await fixture.db.pool.query(late, [runs]);
  expect(await expireUnclaimed(fixture.db, ['lost', 'more'], 10)).toEqual([]);
  await fixture.db.pool.query(`update troupe.code_tools set seen_at = now() - interval '11 minutes'`);
  expect((await expireUnclaimed(fixture.db, [], 10)).sort()).toEqual([...runs].sort());
  for (const run of runs)
    expect(await fixture.row(run)).toMatchObject({ status: 'canceled', cancel_reason: 'timeout' });
});

test(`${STUCK} runs that nobody can take cost the others nothing`, async () => {
  const { db, ids } = fixture;
  const [none, fits] = [await fixture.snapshot(), await needing('a')];
  const stuck = await needing('nobody');
  await db.pool.query(
    `with made as (insert into troupe.threads (id, project_id, kind) select troupe.new_id(), $1, 'run' from generate_series(1, $3) returning id)
      insert into troupe.runs (id, project_id, door, snapshot_id, thread_id, root_run_id, trigger_type, wall_ms, run_at, code_tools)
      select id, $1, 'plain', $2, id, id, 'message', 60000, now() - interval '1 hour', array['nobody'] from made`,
    [ids.project, stuck, STUCK],
  );
  // What the tests before left behind is looked at, too, until it is swept up.
  await db.pool.query('vacuum troupe.runs');
  /** How many rows of runs a claim that finds nothing looks at. */
  const looksAt = async (code: string[]): Promise<number> => {
    const client = await db.pool.connect();
    // What this connection did before may not be counted elsewhere yet.
    const looked = async () => {
      const { rows } = await client.query<{ looked: number }>(
        `select (seq_tup_read + idx_tup_fetch)::int as looked from pg_stat_xact_user_tables where schemaname = 'troupe' and relname = 'runs'`,
      );
      return rows[0]!.looked;
    };
    try {
      await client.query('begin');
      const before = await looked();
      const claimed = await client.query('select troupe.claim($1, 32, $2, $3, $4)', [
        ...[newId(), ['plain'], {}],
        code,
      ]);
      expect(claimed.rows).toEqual([]);
      return (await looked()) - before;
    } finally {
      await client.query('rollback');
      client.release();
    }
  };
  expect(await looksAt([])).toBeLessThan(10);
  expect(await looksAt(['a', 'b'])).toBeLessThan(10);

  const kernel = await worker('a');
  const runs = [await start(none), await start(fits), await start(none, {}, kernel)];
  for (const run of runs) await completed(run);
  await close(kernel);
  await db.pool.query('delete from troupe.runs where snapshot_id = $1', [stuck]);
});
