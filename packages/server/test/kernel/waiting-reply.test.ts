import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { listWaiting } from '../../src/store/queries/inbox.ts';
import { call, clientTool, codeTool, type ScriptedFixture } from './fixture.ts';
import { SpaceRunFixture, type TestSpace } from './space-fixture.ts';

let spaces: SpaceRunFixture;
let fixture: ScriptedFixture;
let testSpace: TestSpace;
beforeAll(async () => {
  spaces = await SpaceRunFixture.open(inject('postgresUrl'));
  fixture = spaces.fixture;
  testSpace = await spaces.space();
});
afterEach(() => fixture.checkInvariants());
afterAll(() => spaces.close());

const tools = [codeTool('say'), clientTool('pick')];
const say = (wait: object, id = 'say') => call('say', { text: 'And you?', wait: { for: null, ...wait } }, id);
const done = (output: number) => ({ status: 'completed', output }) as const;

async function waiting(calls: object[]) {
  const snapshot = await fixture.agent([{ calls } as never, { text: 'thanks' }], { tools });
  return spaces.ask(testSpace, snapshot);
}

const spoken = async () =>
  (await fixture.events(testSpace.space))
    .filter(({ type }) => type.startsWith('run.'))
    .map(({ type }) => type);

it('a run whose calls all wait for replies waits for replies, tells so, and goes on with them', async () => {
  const { run, thread } = await waiting([say({ timeoutMs: 60_000 })]);
  await fixture.becomes(run, 'waiting_reply');
  expect(fixture.kernel.worker!.load).toBe(0);
  expect((await fixture.types(thread)).at(-1)).toBe('run.waiting_reply');
  expect((await spoken()).at(-1)).toBe('run.waiting_reply');

  // Nobody settles it but a reply, and nobody is asked to.
  expect(await fixture.kernel.settle(run, 'say', done(1))).toMatchObject({
    ok: false,
    code: 'call_not_open',
  });
  const settlement = { call: 'say', waitsFor: 'client' as const, outcome: done(1), message: run };
  expect(await fixture.kernel.settleAll(run, [settlement], null)).toMatchObject({
    refused: [{ code: 'call_not_open', waitsFor: 'reply' }],
  });
  const asked = { waitsFor: ['client', 'approval', 'person', 'task'] as const, after: null, limit: 10 };
  const { project } = fixture.ids;
  expect(await listWaiting(fixture.db, { project, entityId: null }, asked)).toEqual([]);

  await spaces.ask(testSpace, null);
  expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
  expect(fixture.shown(run)).toMatchObject({ say: { status: 'resolved', replies: [{ text: 'Hello.' }] } });
});

it('is queued at once where the reply came before it lay down', async () => {
  fixture.atPark = async () => {
    fixture.atPark = undefined;
    await spaces.ask(testSpace, null);
  };
  const { run, thread } = await waiting([say({ timeoutMs: 60_000 })]);
  expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
  expect(await fixture.types(thread)).not.toContain('run.waiting_reply');
  expect(fixture.shown(run)).toMatchObject({ say: { status: 'resolved' } });
});

it('waits for a tool while one is open too, and for replies once only they are left', async () => {
  const { run, thread } = await waiting([say({ timeoutMs: 60_000 }), call('pick')]);
  await fixture.becomes(run, 'waiting_tool');
  expect(await fixture.kernel.settle(run, 'pick', done(7))).toMatchObject({
    ok: true,
    queued: false,
    status: 'waiting_reply',
    openCalls: 1,
  });
  expect(await fixture.row(run)).toMatchObject({ status: 'waiting_reply', open_calls: 1 });
  expect((await fixture.types(thread)).at(-1)).toBe('run.waiting_reply');
  await spaces.ask(testSpace, null);
  await fixture.ended(run);
  expect(fixture.shown(run)).toMatchObject({ pick: 7, say: { status: 'resolved' } });
});

it('a reply that comes while a tool is open does not queue the run; the settler does', async () => {
  const { run } = await waiting([say({ timeoutMs: 60_000 }), call('pick')]);
  await fixture.becomes(run, 'waiting_tool');
  await spaces.ask(testSpace, null);
  expect(await fixture.row(run)).toMatchObject({ status: 'waiting_tool', open_calls: 1 });
  expect(await fixture.kernel.settle(run, 'pick', done(7))).toMatchObject({ queued: true });
  await fixture.ended(run);
});

it('ends with what came where time runs out: nothing, some, or beside a tool that expires', async () => {
  const nobody = await waiting([say({ timeoutMs: 30 })]);
  await fixture.ended(nobody.run);
  expect(fixture.shown(nobody.run)).toMatchObject({ say: { success: true, status: 'timeout', replies: [] } });
  expect((await fixture.types(nobody.thread)).filter((type) => type === 'run.queued')).toHaveLength(2);

  const other = await spaces.person(testSpace.space);
  const some = await waiting([say({ for: [testSpace.person, other], timeoutMs: 700 })]);
  await fixture.becomes(some.run, 'waiting_reply');
  await spaces.ask(testSpace, null);
  await fixture.ended(some.run);
  expect(fixture.shown(some.run)).toMatchObject({
    say: { status: 'partial_timeout', replies: [{ entityId: testSpace.person }] },
  });

  const short = clientTool('pick', { deadlineMs: 30 });
  const snapshot = await fixture.agent([{ calls: [say({ timeoutMs: 30 }), call('pick')] }, { text: 'ok' }], {
    tools: [codeTool('say'), short],
  });
  const both = await spaces.ask(testSpace, snapshot);
  await fixture.ended(both.run);
  expect(fixture.shown(both.run)).toMatchObject({ say: { status: 'timeout' }, pick: { code: 'expired' } });
});

it('expires like any other call where its wait is gone', async () => {
  const snapshot = await fixture.agent([{ calls: [say({ timeoutMs: 1_000 })] }, { text: 'ok' }], { tools });
  const { run } = await spaces.ask(testSpace, snapshot);
  await fixture.becomes(run, 'waiting_reply');
  await fixture.db.pool.query('delete from troupe.reply_waits where run_id = $1', [run]);
  await fixture.ended(run);
  expect(fixture.shown(run)).toMatchObject({ say: { code: 'expired' } });
});

it('is canceled like any other, and nothing waits afterwards', async () => {
  const { run } = await waiting([say({ timeoutMs: 60_000 })]);
  await fixture.becomes(run, 'waiting_reply');
  await fixture.kernel.cancel(run);
  await until('no wait is left', async () => {
    const { rows } = await fixture.db.pool.query('select from troupe.reply_waits where run_id = $1', [run]);
    return rows.length === 0;
  });
});
