import { HANDED_OVER, handOver, type ToolContext } from '@troupe/server';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { call, codeTool, gate, Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open(inject('postgresUrl'));
});
afterEach(async () => {
  scene.atPark = undefined;
  await scene.sound();
});
afterAll(() => scene.close());

const done = (output: string) => ({ status: 'completed', output }) as const;

const handedOver = ({ runId: run, worker, epoch, callId }: ToolContext) =>
  handOver(scene.stage.db, { run, worker, epoch }, callId, { waitsFor: 'task', deadlineMs: 60_000 });

const entrust = async (_: unknown, context: ToolContext) => {
  expect(await handedOver(context)).toBe(true);
  return HANDED_OVER;
};

const tools = [codeTool('entrust'), codeTool('work')];

it('has the run wait for whoever settles the call, and go on with what they said', async () => {
  scene.tools.entrust = entrust;
  const snapshot = await scene.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  const { run } = await scene.startWaiting(snapshot);
  expect(await scene.stage.row(run)).toMatchObject({ status: 'waiting_tool', open_calls: 1 });
  expect(await scene.stage.calls(run)).toMatchObject([{ status: 'requested', waits_for: 'task' }]);
  await scene.kernel.settle(run, 'entrust', done('theirs'));
  expect(await scene.ended(run)).toMatchObject({ status: 'completed' });
  expect(scene.shown(run)).toEqual({ entrust: 'theirs' });
  expect(scene.requests(run)).toHaveLength(2);
});

it('does not wait where the call was settled before the run lay down', async () => {
  scene.tools.entrust = entrust;
  const snapshot = await scene.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  let settled: unknown;
  scene.atPark = async () => {
    scene.atPark = undefined;
    settled = await scene.kernel.settle(held.run, 'entrust', done('early'));
  };
  const began = gate<ToolContext>();
  const goOn = gate();
  scene.tools.entrust = async (_, context) => {
    began.resolve(context);
    await goOn.promise;
    return entrust(_, context);
  };
  const held = await scene.start(snapshot);
  await began.promise;
  goOn.resolve();
  expect(await scene.ended(held.run)).toMatchObject({ status: 'completed' });
  expect(settled).toMatchObject({ ok: true, queued: false, openCalls: 0 });
  expect(scene.shown(held.run)).toEqual({ entrust: 'early' });
  expect(await scene.types(held.thread)).not.toContain('run.waiting_tool');
});

it('waits beside other calls: handed over before, during and after their commits', async () => {
  const names = ['first', 'second', 'third'];
  scene.tools.first = entrust;
  scene.tools.second = () => 'mine';
  scene.tools.third = entrust;
  const snapshot = await scene.agent([{ calls: names.map((name) => call(name)) }, { text: 'all' }], {
    tools: names.map((name) => codeTool(name)),
  });
  const { run } = await scene.startWaiting(snapshot);
  expect(await scene.stage.row(run)).toMatchObject({ open_calls: 2 });
  expect(await scene.kernel.settle(run, 'third', done('three'))).toMatchObject({ queued: false });
  expect(await scene.kernel.settle(run, 'first', done('one'))).toMatchObject({ queued: true });
  await scene.ended(run);
  expect(scene.shown(run)).toEqual({ first: 'one', second: 'mine', third: 'three' });
});

it('said twice it is so once, and whoever lost the run cannot say it', async () => {
  scene.tools.entrust = async (_, context) => {
    expect(await handedOver({ ...context, epoch: context.epoch - 1 })).toBe(false);
    expect(await handedOver(context)).toBe(true);
    expect(await handedOver(context)).toBe(true);
    return HANDED_OVER;
  };
  const snapshot = await scene.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  const { run } = await scene.startWaiting(snapshot);
  expect(await scene.stage.row(run)).toMatchObject({ open_calls: 1 });
  await scene.kernel.cancel(run);
});

it('a tool that handed its call over and then fails has handed it over all the same', async () => {
  scene.tools.entrust = async (_, context) => {
    await handedOver(context);
    throw new Error('The connection broke.');
  };
  const snapshot = await scene.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  const { run } = await scene.startWaiting(snapshot);
  await scene.kernel.settle(run, 'entrust', done('theirs'));
  expect(await scene.ended(run)).toMatchObject({ status: 'completed' });
  expect(scene.shown(run)).toEqual({ entrust: 'theirs' });
});
