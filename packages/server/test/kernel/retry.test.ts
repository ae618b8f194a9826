import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

describe('a failed run that is tried again', () => {
  it('goes on from where it stood, without repeating a step or a call', async () => {
    let broken = true;
    let counted = 0;
    fixture.tools.count = () => ++counted;
    const snapshot = await fixture.agent(
      (request) => {
        if (request.step <= 2) return { calls: [call('count', {}, `count ${request.step}`)] };
        if (broken) return { error: { code: 'overloaded', message: 'Too much.', retryable: false } };
        return { text: 'there' };
      },
      { tools: [codeTool('count')] },
    );
    const { run, thread } = await fixture.start(snapshot);
    expect(await fixture.ended(run)).toMatchObject({
      status: 'failed',
      error: { code: 'overloaded', message: 'Too much.' },
    });
    broken = false;
    expect(await fixture.kernel.retry(run)).toMatchObject({ ok: true, run, ready: true });
    await fixture.becomes(run, 'completed');
    expect(counted).toBe(2);
    expect(fixture.requests(run).map((request) => request.step)).toEqual([1, 2, 3, 3]);
    expect(await fixture.row(run)).toMatchObject({ status: 'completed', step: 3, error: null });
    const types = await fixture.types(thread);
    expect(types.filter((type) => type === 'run.failed')).toHaveLength(1);
    expect(types.filter((type) => type === 'run.completed')).toHaveLength(1);
  });

  it('that was canceled in the middle of a call goes on with the call’s outcome unknown', async () => {
    const snapshot = await fixture.agent(
      (request) => (request.step === 1 ? { calls: [call('pick')] } : { text: 'after all' }),
      { tools: [clientTool('pick')] },
    );
    const { run } = await fixture.startWaiting(snapshot);
    await fixture.kernel.cancel(run);
    expect(await fixture.kernel.retry(run)).toMatchObject({ ok: true });
    await fixture.becomes(run, 'completed');
    expect(fixture.shown(run)).toMatchObject({ pick: { code: 'canceled' } });
    expect(await fixture.row(run)).toMatchObject({ cancel_reason: null, outcome: { text: 'after all' } });
  });

  it('starts with the first model of the list and all tries again', async () => {
    let broken = true;
    const script = () =>
      broken ? { error: { code: 'busy', message: 'busy', retryable: true } } : { text: 'now it works' };
    const snapshot = await fixture.agent(script, { limits: { modelTries: 2, retryBackoffMs: 1 } });
    const { run } = await fixture.start(snapshot);
    expect(await fixture.ended(run)).toMatchObject({ status: 'failed' });
    expect(await fixture.row(run)).toMatchObject({ attempt: 1 });
    broken = false;
    await fixture.kernel.retry(run);
    await fixture.becomes(run, 'completed');
    expect(fixture.requests(run)).toHaveLength(3);
  });

  it('of a serial thread waits behind the run that has the turn', async () => {
    const fails = await fixture.agent([{ error: { code: 'x', message: 'x', retryable: false } }]);
    const first = await fixture.start(fails, { run: { serial: true } });
    await fixture.ended(first.run);
    const waits = await fixture.agent([{ calls: [call('pick')] }, { text: 'second' }], {
      tools: [clientTool('pick')],
    });
    const second = await fixture.startWaiting(waits, { thread: first.thread, run: { serial: true } });
    expect(await fixture.kernel.retry(first.run)).toMatchObject({ ok: true, ready: false });
    expect(await fixture.row(first.run)).toMatchObject({ status: 'queued', ready: false });
    await fixture.kernel.settle(second.run, 'pick', { status: 'completed', output: 1 });
    await fixture.ended(second.run);
    await fixture.becomes(first.run, 'failed');
    expect(fixture.requests(first.run)).toHaveLength(2);
  });

  it('is refused where the run has not failed, or is not there', async () => {
    const { run } = await fixture.play(await fixture.agent([{ text: 'fine' }]));
    expect(await fixture.kernel.retry(run)).toMatchObject({
      ok: false,
      code: 'run_not_retryable',
      status: 'completed',
    });
    expect(await fixture.kernel.retry(fixture.ids.agent)).toEqual({ ok: false, code: 'run_not_found' });
    const queued = await fixture.start(await fixture.agent([{ text: 'x' }]), { run: { delayMs: 3_600_000 } });
    expect(await fixture.kernel.retry(queued.run)).toMatchObject({
      code: 'run_not_retryable',
      status: 'queued',
    });
  });
});
