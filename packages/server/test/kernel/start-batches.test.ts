import { newId } from '@troupe/server';
import { buildProject, buildStart, type KernelFixture, openKernel, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { start } from '../../src/store/index.ts';

// Items of one batch that have something in common. No worker takes the runs.

let fixture: KernelFixture;
let snapshot: string;
beforeAll(async () => {
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: false });
  snapshot = await fixture.snapshot();
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const item = (options: Parameters<typeof buildStart>[3] = {}) =>
  buildStart(fixture.ids, snapshot, 'go', options);
const threads = async (...ids: string[]) =>
  (await fixture.db.pool.query('select id from troupe.threads where id = any($1)', [ids])).rows.length;

test('two messages to one thread are numbered in order, and the second run waits for the first', async () => {
  const first = item({ run: { serial: true } });
  const [second, third] = [1, 2].map(() => item({ thread: first.thread, run: { serial: true } }));
  expect(await start(fixture.db, [first, second!, third!])).toMatchObject([
    { ok: true, seq: 1, ready: true },
    { ok: true, seq: 2, ready: false },
    { ok: true, seq: 3, ready: false },
  ]);
});

test('a start that is repeated in the same batch finds the run, and creates no second thread', async () => {
  const first = item();
  const again = { ...first, thread: newId() };
  expect(await start(fixture.db, [first, again])).toMatchObject([
    { ok: true, run: first.run.id, duplicate: false },
    { ok: true, run: first.run.id, thread: first.thread, duplicate: true },
  ]);
  expect(await threads(again.thread)).toBe(0);
  // And once more, in a batch of its own.
  expect(await start(fixture.db, [{ ...first, thread: newId() }, item()])).toMatchObject([
    { ok: true, run: first.run.id, thread: first.thread, duplicate: true },
    { ok: true, duplicate: false },
  ]);
});

test('one message id in two threads belongs to the first of them', async () => {
  const message = newId();
  const other = item();
  await start(fixture.db, [other]);
  const [first, second] = [item({ message }), item({ message, thread: other.thread })];
  expect(await start(fixture.db, [first, second])).toMatchObject([
    { ok: true, seq: 1 },
    { ok: false, code: 'message_id_taken' },
  ]);
});

test('items that are refused leave the others alone', async () => {
  const stranger = await buildProject(fixture.db);
  const [foreign, fine] = [item(), item()];
  await start(fixture.db, [foreign]);
  expect(
    await start(fixture.db, [
      item({ thread: newId() }),
      { ...item({ thread: foreign.thread }), project: stranger.project },
      fine,
    ]),
  ).toMatchObject([
    { ok: false, code: 'thread_not_found' },
    { ok: false, code: 'thread_not_found' },
    { ok: true, run: fine.run.id, seq: 1 },
  ]);
});

test('reads no table from end to end, whatever the runs name', async () => {
  const client = await fixture.db.pool.connect();
  try {
    await client.query('begin');
    const parent = item();
    for (const given of [[parent], [item({ run: { parent: parent.run.id } }), item()]])
      await client.query('select troupe.start($1)', [JSON.stringify(given)]);
    const { rows } = await client.query(
      `select relname from pg_stat_xact_user_tables where schemaname = 'troupe' and seq_scan > 0`,
    );
    expect(rows).toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('a run that names what the project does not have fails its batch', async () => {
  const fine = item();
  await expect(start(fixture.db, [fine, item({ run: { entity: newId() } })])).rejects.toThrow(
    'the project has no such entity',
  );
  expect(await threads(fine.thread)).toBe(0);
});
