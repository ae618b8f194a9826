import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

const done = (output: number | string) => ({ status: 'completed', output }) as const;

describe('a call that somebody outside settles', () => {
  it('has the run wait without a worker, and go on with the result', async () => {
    const snapshot = await fixture.agent([{ calls: [call('pick')] }, { text: 'thanks' }], {
      tools: [clientTool('pick')],
    });
    const { run, thread } = await fixture.startWaiting(snapshot);
    expect(fixture.kernel.worker!.load).toBe(0);
    expect(await fixture.calls(run)).toMatchObject([{ status: 'requested', waits_for: 'client' }]);

    expect(await fixture.kernel.settle(run, 'pick', done(42), 'anna')).toMatchObject({
      ok: true,
      queued: true,
    });
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed', outcome: { text: 'thanks' } });
    expect(fixture.shown(run)).toEqual({ pick: 42 });
    expect(await fixture.calls(run)).toMatchObject([{ status: 'completed', output: 42, settled_by: 'anna' }]);
    const types = await fixture.types(thread);
    expect(types.slice(types.indexOf('step.generated'))).toEqual([
      ...['step.generated', 'message.created', 'tool.waiting', 'run.waiting_tool'],
      ...['message.created', 'tool.completed', 'run.queued'],
      ...['run.resumed', 'step.started', 'step.generated', 'message.created', 'run.completed'],
    ]);
  });

  it('can fail; the model is told why', async () => {
    const snapshot = await fixture.agent([{ calls: [call('pick')] }, { text: 'a pity' }], {
      tools: [clientTool('pick')],
    });
    const { run } = await fixture.startWaiting(snapshot);
    const error = { code: 'closed', message: 'The shop is closed.' };
    await fixture.kernel.settle(run, 'pick', { status: 'failed', error });
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(fixture.shown(run)).toEqual({ pick: error });
  });

  it('is one of several: the run goes on when the last is settled', async () => {
    const snapshot = await fixture.agent(
      [{ calls: ['a', 'b', 'c'].map((name) => call(name)) }, { text: 'all' }],
      {
        tools: ['a', 'b', 'c'].map((name) => clientTool(name)),
      },
    );
    const { run } = await fixture.startWaiting(snapshot);
    expect(await fixture.kernel.settle(run, 'b', done(2))).toMatchObject({ queued: false, openCalls: 2 });
    expect(await fixture.kernel.settle(run, 'a', done(1))).toMatchObject({ queued: false, openCalls: 1 });
    expect((await fixture.row(run)).status).toBe('waiting_tool');
    expect(await fixture.kernel.settle(run, 'c', done(3))).toMatchObject({ queued: true, openCalls: 0 });
    await fixture.ended(run);
    expect(fixture.shown(run)).toEqual({ a: 1, b: 2, c: 3 });
    expect(fixture.requests(run)).toHaveLength(2);
  });

  it('is settled once; whoever comes later is told what it was settled with', async () => {
    const snapshot = await fixture.agent([{ calls: [call('a'), call('b')] }, { text: 'x' }], {
      tools: [clientTool('a'), clientTool('b')],
    });
    const { run } = await fixture.startWaiting(snapshot);
    await fixture.kernel.settle(run, 'a', done('first'), 'anna');
    expect(await fixture.kernel.settle(run, 'a', done('second'), 'ben')).toEqual({
      ok: false,
      code: 'call_not_open',
      status: 'completed',
      output: 'first',
      error: null,
      settledBy: 'anna',
    });
    expect(await fixture.kernel.settle(run, 'nobody', done(1))).toEqual({
      ok: false,
      code: 'call_not_found',
    });
    await fixture.kernel.settle(run, 'b', done('last'));
    await fixture.ended(run);
    expect(await fixture.kernel.settle(run, 'b', done('late'))).toMatchObject({ code: 'call_not_open' });
    expect(await fixture.kernel.settle(fixture.ids.agent, 'b', done('no'))).toEqual({
      ok: false,
      code: 'run_not_found',
    });
  });

  it('expires at its deadline; the model is told so and goes on', async () => {
    const snapshot = await fixture.agent([{ calls: [call('slow')] }, { text: 'without it' }], {
      tools: [clientTool('slow', { deadlineMs: 30 })],
    });
    const { run, thread } = await fixture.start(snapshot);
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed', outcome: { text: 'without it' } });
    expect(fixture.shown(run)).toMatchObject({ slow: { code: 'expired' } });
    expect(await fixture.calls(run)).toMatchObject([{ status: 'expired', error: { code: 'expired' } }]);
    const event = (await fixture.events(thread)).find(({ type }) => type === 'tool.failed');
    expect(event?.data).toMatchObject({ id: 'slow', status: 'expired' });
    expect(await fixture.kernel.settle(run, 'slow', done(1))).toMatchObject({
      code: 'call_not_open',
      status: 'expired',
    });
  });

  it('expires alone where another of the step has more time', async () => {
    const snapshot = await fixture.agent([{ calls: [call('short'), call('long')] }, { text: 'half' }], {
      tools: [clientTool('short', { deadlineMs: 30 }), clientTool('long')],
    });
    const { run } = await fixture.startWaiting(snapshot);
    const before = (await fixture.row(run)).wait_deadline;
    await until('the short one expired', async () => (await fixture.calls(run))[0]!.status === 'expired');
    const row = await fixture.row(run);
    expect(row).toMatchObject({ status: 'waiting_tool', open_calls: 1 });
    expect(Date.parse(String(row.wait_deadline))).toBeGreaterThan(Date.parse(String(before)) + 600_000);
    await fixture.kernel.settle(run, 'long', done('there'));
    await fixture.ended(run);
    expect(fixture.shown(run)).toMatchObject({ short: { code: 'expired' }, long: 'there' });
  });
});

describe('calls of both kinds in one step', () => {
  const tools = [codeTool('work'), clientTool('pick')];

  it('wait for the one outside where the worker was done first', async () => {
    fixture.tools.work = () => 'worked';
    const snapshot = await fixture.agent([{ calls: [call('work'), call('pick')] }, { text: 'both' }], {
      tools,
    });
    const { run } = await fixture.startWaiting(snapshot);
    expect(await fixture.calls(run)).toMatchObject([{ status: 'completed' }, { status: 'requested' }]);
    await fixture.kernel.settle(run, 'pick', done('picked'));
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(fixture.shown(run)).toEqual({ work: 'worked', pick: 'picked' });
  });

  it('do not wait where the one outside was settled first', async () => {
    const [began, finish] = [gate(), gate<string>()];
    fixture.tools.work = () => {
      began.resolve();
      return finish.promise;
    };
    const snapshot = await fixture.agent([{ calls: [call('work'), call('pick')] }, { text: 'both' }], {
      tools,
    });
    const { run, thread } = await fixture.start(snapshot);
    await began.promise;
    expect(await fixture.kernel.settle(run, 'pick', done('picked'))).toMatchObject({
      ok: true,
      queued: false,
      status: 'running',
    });
    finish.resolve('worked');
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(fixture.shown(run)).toEqual({ work: 'worked', pick: 'picked' });
    expect(await fixture.types(thread)).not.toContain('run.waiting_tool');
  });
});

describe('a call that needs approval', () => {
  const send = codeTool('send', { waitsFor: 'approval', provider: 'code' });
  let sent: unknown[] = [];
  const sends = () => {
    sent = [];
    fixture.tools.send = (args) => {
      sent.push(args);
      return 'sent';
    };
  };

  it('is executed once with the arguments that were approved', async () => {
    sends();
    const snapshot = await fixture.agent([{ calls: [call('send', { to: 'all' })] }, { text: 'ok' }], {
      tools: [send],
    });
    const { run, thread } = await fixture.startWaiting(snapshot);
    expect(sent).toEqual([]);
    await fixture.kernel.settle(run, 'send', { status: 'proceed', args: { to: 'anna' } }, 'boss');
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(sent).toEqual([{ to: 'anna' }]);
    expect(await fixture.calls(run)).toMatchObject([
      { status: 'completed', args: { to: 'anna' }, output: 'sent', attempt: 1, settled_by: 'boss' },
    ]);
    expect(await fixture.types(thread)).toEqual(
      expect.arrayContaining(['tool.waiting', 'tool.approved', 'tool.completed']),
    );
  });

  it('is not executed where it was refused', async () => {
    sends();
    const snapshot = await fixture.agent([{ calls: [call('send')] }, { text: 'ok' }], { tools: [send] });
    const { run } = await fixture.startWaiting(snapshot);
    const error = { code: 'denied', message: 'Not today.' };
    await fixture.kernel.settle(run, 'send', { status: 'failed', error });
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(sent).toEqual([]);
    expect(fixture.shown(run)).toEqual({ send: error });
  });

  it('is executed where it was approved between the results of two other calls', async () => {
    sends();
    const [one, two] = [gate<string>(), gate<string>()];
    fixture.tools.one = () => one.promise;
    fixture.tools.two = () => two.promise;
    const calls = [call('one'), call('two'), call('send'), call('pick')];
    const snapshot = await fixture.agent([{ calls }, { text: 'ok' }], {
      tools: [codeTool('one'), codeTool('two'), send, clientTool('pick')],
    });
    const { run } = await fixture.start(snapshot);
    await until('it waits for approval', async () => (await fixture.calls(run)).length === 4);
    await fixture.kernel.settle(run, 'send', { status: 'proceed' });
    await fixture.kernel.settle(run, 'pick', done('picked'));
    one.resolve('1');
    await until('the first is recorded', async () => (await fixture.calls(run))[0]!.status === 'completed');
    two.resolve('2');
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(sent).toHaveLength(1);
    expect(fixture.shown(run)).toEqual({ one: '1', two: '2', send: 'sent', pick: 'picked' });
  });

  it('expires like any other, and is then not executed', async () => {
    sends();
    const snapshot = await fixture.agent([{ calls: [call('send')] }, { text: 'ok' }], {
      tools: [codeTool('send', { waitsFor: 'approval', deadlineMs: 20 })],
    });
    const { run } = await fixture.start(snapshot);
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(sent).toEqual([]);
    expect(fixture.shown(run)).toMatchObject({ send: { code: 'expired' } });
  });
});
