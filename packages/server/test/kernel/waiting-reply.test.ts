import { listWaiting } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, type Scene } from './scene.ts';
import { type Hall, SpaceScene } from './space-scene.ts';

let spaces: SpaceScene;
let scene: Scene;
let hall: Hall;
beforeAll(async () => {
  spaces = await SpaceScene.open(inject('postgresUrl'));
  scene = spaces.scene;
  hall = await spaces.hall();
});
afterEach(() => scene.sound());
afterAll(() => spaces.close());

const tools = [codeTool('say'), clientTool('pick')];
const say = (wait: object, id = 'say') => call('say', { text: 'And you?', wait: { for: null, ...wait } }, id);
const done = (output: number) => ({ status: 'completed', output }) as const;

async function waiting(calls: object[]) {
  const snapshot = await scene.agent([{ calls } as never, { text: 'thanks' }], { tools });
  return spaces.ask(hall, snapshot);
}

const spoken = async () =>
  (await scene.stage.events(hall.space))
    .filter(({ type }) => type.startsWith('run.'))
    .map(({ type }) => type);

it('a run whose calls all wait for replies waits for replies, tells so, and goes on with them', async () => {
  const { run, thread } = await waiting([say({ timeoutMs: 60_000 })]);
  await scene.becomes(run, 'waiting_reply');
  expect(scene.kernel.worker!.load).toBe(0);
  expect((await scene.types(thread)).at(-1)).toBe('run.waiting_reply');
  expect((await spoken()).at(-1)).toBe('run.waiting_reply');

  // Nobody settles it but a reply, and nobody is asked to.
  expect(await scene.kernel.settle(run, 'say', done(1))).toMatchObject({ ok: false, code: 'call_not_open' });
  const settlement = { call: 'say', waitsFor: 'client' as const, outcome: done(1), message: run };
  expect(await scene.kernel.settleAll(run, [settlement], null)).toMatchObject({
    refused: [{ code: 'call_not_open', waitsFor: 'reply' }],
  });
  const asked = { waitsFor: ['client', 'approval', 'person', 'task'] as const, after: null, limit: 10 };
  const { project } = scene.stage.cast;
  expect(await listWaiting(scene.stage.db, { project, entityId: null }, asked)).toEqual([]);

  await spaces.ask(hall, null);
  expect(await scene.ended(run)).toMatchObject({ status: 'completed' });
  expect(scene.shown(run)).toMatchObject({ say: { status: 'resolved', replies: [{ text: 'Hello.' }] } });
});

it('is queued at once where the reply came before it lay down', async () => {
  scene.atPark = async () => {
    scene.atPark = undefined;
    await spaces.ask(hall, null);
  };
  const { run, thread } = await waiting([say({ timeoutMs: 60_000 })]);
  expect(await scene.ended(run)).toMatchObject({ status: 'completed' });
  expect(await scene.types(thread)).not.toContain('run.waiting_reply');
  expect(scene.shown(run)).toMatchObject({ say: { status: 'resolved' } });
});

it('waits for a tool while one is open too, and for replies once only they are left', async () => {
  const { run, thread } = await waiting([say({ timeoutMs: 60_000 }), call('pick')]);
  await scene.becomes(run, 'waiting_tool');
  expect(await scene.kernel.settle(run, 'pick', done(7))).toMatchObject({
    ok: true,
    queued: false,
    status: 'waiting_reply',
    openCalls: 1,
  });
  expect(await scene.stage.row(run)).toMatchObject({ status: 'waiting_reply', open_calls: 1 });
  expect((await scene.types(thread)).at(-1)).toBe('run.waiting_reply');
  await spaces.ask(hall, null);
  await scene.ended(run);
  expect(scene.shown(run)).toMatchObject({ pick: 7, say: { status: 'resolved' } });
});

it('a reply that comes while a tool is open does not queue the run; the settler does', async () => {
  const { run } = await waiting([say({ timeoutMs: 60_000 }), call('pick')]);
  await scene.becomes(run, 'waiting_tool');
  await spaces.ask(hall, null);
  expect(await scene.stage.row(run)).toMatchObject({ status: 'waiting_tool', open_calls: 1 });
  expect(await scene.kernel.settle(run, 'pick', done(7))).toMatchObject({ queued: true });
  await scene.ended(run);
});

it('ends with what came where time runs out: nothing, some, or beside a tool that expires', async () => {
  const nobody = await waiting([say({ timeoutMs: 30 })]);
  await scene.ended(nobody.run);
  expect(scene.shown(nobody.run)).toMatchObject({ say: { success: true, status: 'timeout', replies: [] } });
  expect((await scene.types(nobody.thread)).filter((type) => type === 'run.queued')).toHaveLength(2);

  const other = await spaces.person(hall.space);
  const some = await waiting([say({ for: [hall.person, other], timeoutMs: 700 })]);
  await scene.becomes(some.run, 'waiting_reply');
  await spaces.ask(hall, null);
  await scene.ended(some.run);
  expect(scene.shown(some.run)).toMatchObject({
    say: { status: 'partial_timeout', replies: [{ entityId: hall.person }] },
  });

  const short = clientTool('pick', { deadlineMs: 30 });
  const snapshot = await scene.agent([{ calls: [say({ timeoutMs: 30 }), call('pick')] }, { text: 'ok' }], {
    tools: [codeTool('say'), short],
  });
  const both = await spaces.ask(hall, snapshot);
  await scene.ended(both.run);
  expect(scene.shown(both.run)).toMatchObject({ say: { status: 'timeout' }, pick: { code: 'expired' } });
});

it('expires like any other call where its wait is gone', async () => {
  const snapshot = await scene.agent([{ calls: [say({ timeoutMs: 1_000 })] }, { text: 'ok' }], { tools });
  const { run } = await spaces.ask(hall, snapshot);
  await scene.becomes(run, 'waiting_reply');
  await scene.stage.db.pool.query('delete from troupe.reply_waits where run_id = $1', [run]);
  await scene.ended(run);
  expect(scene.shown(run)).toMatchObject({ say: { code: 'expired' } });
});

it('is canceled like any other, and nothing waits afterwards', async () => {
  const { run } = await waiting([say({ timeoutMs: 60_000 })]);
  await scene.becomes(run, 'waiting_reply');
  await scene.kernel.cancel(run);
  await until('no wait is left', async () => {
    const { rows } = await scene.stage.db.pool.query('select from troupe.reply_waits where run_id = $1', [
      run,
    ]);
    return rows.length === 0;
  });
});
