import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { beginChild } from '../../src/doors/shared/child.ts';
import { HANDED_OVER, type ToolContext } from '../../src/kernel/ports.ts';
import { call, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(async () => {
  fixture.atPark = undefined;
  await fixture.checkInvariants();
});
afterAll(() => fixture.close());

const done = (output: string) => ({ status: 'completed', output }) as const;

/** Hands the call over to a run that starts much later, so that the test settles it. */
const entrust = async (_: unknown, context: ToolContext) => {
  const { agent, entity } = fixture.ids;
  const snapshot = await fixture.agent([{ text: 'late' }]);
  const run = { door: 'plain', agent, entity, snapshot, wallMs: 60_000, delayMs: 3_600_000 };
  return beginChild(fixture.kernel, { deadlineMs: 60_000, config: {} }, context, { text: 'work', run });
};

const tools = [codeTool('entrust'), codeTool('work')];

it('has the run wait for whoever settles the call, and go on with what they said', async () => {
  fixture.tools.entrust = entrust;
  const snapshot = await fixture.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  const { run } = await fixture.startWaiting(snapshot);
  expect(await fixture.row(run)).toMatchObject({ status: 'waiting_tool', open_calls: 1 });
  expect(await fixture.calls(run)).toMatchObject([{ status: 'requested', waits_for: 'task' }]);
  await fixture.kernel.settle(run, 'entrust', done('theirs'));
  expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
  expect(fixture.shown(run)).toEqual({ entrust: 'theirs' });
  expect(fixture.requests(run)).toHaveLength(2);
});

it('does not wait where the call was settled before the run lay down', async () => {
  fixture.tools.entrust = entrust;
  const snapshot = await fixture.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  let settled: unknown;
  fixture.atPark = async () => {
    fixture.atPark = undefined;
    settled = await fixture.kernel.settle(held.run, 'entrust', done('early'));
  };
  const began = gate<ToolContext>();
  const goOn = gate();
  fixture.tools.entrust = async (_, context) => {
    began.resolve(context);
    await goOn.promise;
    return entrust(_, context);
  };
  const held = await fixture.start(snapshot);
  await began.promise;
  goOn.resolve();
  expect(await fixture.ended(held.run)).toMatchObject({ status: 'completed' });
  expect(settled).toMatchObject({ ok: true, queued: false, openCalls: 0 });
  expect(fixture.shown(held.run)).toEqual({ entrust: 'early' });
  expect(await fixture.types(held.thread)).not.toContain('run.waiting_tool');
});

it('waits beside other calls: handed over before, during and after their commits', async () => {
  const names = ['first', 'second', 'third'];
  fixture.tools.first = entrust;
  fixture.tools.second = () => 'mine';
  fixture.tools.third = entrust;
  const snapshot = await fixture.agent([{ calls: names.map((name) => call(name)) }, { text: 'all' }], {
    tools: names.map((name) => codeTool(name)),
  });
  const { run } = await fixture.startWaiting(snapshot);
  expect(await fixture.row(run)).toMatchObject({ open_calls: 2 });
  expect(await fixture.kernel.settle(run, 'third', done('three'))).toMatchObject({ queued: false });
  expect(await fixture.kernel.settle(run, 'first', done('one'))).toMatchObject({ queued: true });
  await fixture.ended(run);
  expect(fixture.shown(run)).toEqual({ first: 'one', second: 'mine', third: 'three' });
});

it('said twice it is so once, and whoever lost the run cannot say it', async () => {
  fixture.tools.entrust = async (_, context) => {
    const lost = { ...context, epoch: context.epoch - 1 };
    await expect(entrust(_, lost)).rejects.toMatchObject({ code: 'run_lost' });
    expect(await entrust(_, context)).toBe(HANDED_OVER);
    return entrust(_, context);
  };
  const snapshot = await fixture.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  const { run } = await fixture.startWaiting(snapshot);
  expect(await fixture.row(run)).toMatchObject({ open_calls: 1 });
  await fixture.kernel.cancel(run);
});

it('a tool that handed its call over and then fails has handed it over all the same', async () => {
  fixture.tools.entrust = async (_, context) => {
    await entrust(_, context);
    throw new Error('The connection broke.');
  };
  const snapshot = await fixture.agent([{ calls: [call('entrust')] }, { text: 'thanks' }], { tools });
  const { run } = await fixture.startWaiting(snapshot);
  await fixture.kernel.settle(run, 'entrust', done('theirs'));
  expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
  expect(fixture.shown(run)).toEqual({ entrust: 'theirs' });
});
