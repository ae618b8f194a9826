import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open(inject('postgresUrl'));
});
afterEach(() => scene.sound());
afterAll(() => scene.close());

describe('a failed run that is tried again', () => {
  it('goes on from where it stood, without repeating a step or a call', async () => {
    let broken = true;
    let counted = 0;
    scene.tools.count = () => ++counted;
    const snapshot = await scene.agent(
      (request) => {
        if (request.step <= 2) return { calls: [call('count', {}, `count ${request.step}`)] };
        if (broken) return { error: { code: 'overloaded', message: 'Too much.', retryable: false } };
        return { text: 'there' };
      },
      { tools: [codeTool('count')] },
    );
    const { run, thread } = await scene.start(snapshot);
    expect(await scene.ended(run)).toMatchObject({
      status: 'failed',
      error: { code: 'overloaded', message: 'Too much.' },
    });
    broken = false;
    expect(await scene.kernel.retry(run)).toMatchObject({ ok: true, run, ready: true });
    await scene.becomes(run, 'completed');
    expect(counted).toBe(2);
    expect(scene.requests(run).map((request) => request.step)).toEqual([1, 2, 3, 3]);
    expect(await scene.stage.row(run)).toMatchObject({ status: 'completed', step: 3, error: null });
    const types = await scene.types(thread);
    expect(types.filter((type) => type === 'run.failed')).toHaveLength(1);
    expect(types.filter((type) => type === 'run.completed')).toHaveLength(1);
  });

  it('that was canceled in the middle of a call goes on with the call’s outcome unknown', async () => {
    const snapshot = await scene.agent(
      (request) => (request.step === 1 ? { calls: [call('pick')] } : { text: 'after all' }),
      { tools: [clientTool('pick')] },
    );
    const { run } = await scene.startWaiting(snapshot);
    await scene.kernel.cancel(run);
    expect(await scene.kernel.retry(run)).toMatchObject({ ok: true });
    await scene.becomes(run, 'completed');
    expect(scene.shown(run)).toMatchObject({ pick: { code: 'canceled' } });
    expect(await scene.stage.row(run)).toMatchObject({ cancel_reason: null, outcome: { text: 'after all' } });
  });

  it('starts with the first model of the list and all tries again', async () => {
    let broken = true;
    const script = () =>
      broken ? { error: { code: 'busy', message: 'busy', retryable: true } } : { text: 'now it works' };
    const snapshot = await scene.agent(script, { limits: { modelTries: 2, retryBackoffMs: 1 } });
    const { run } = await scene.start(snapshot);
    expect(await scene.ended(run)).toMatchObject({ status: 'failed' });
    expect(await scene.stage.row(run)).toMatchObject({ attempt: 1 });
    broken = false;
    await scene.kernel.retry(run);
    await scene.becomes(run, 'completed');
    expect(scene.requests(run)).toHaveLength(3);
  });

  it('of a serial thread waits behind the run that has the turn', async () => {
    const fails = await scene.agent([{ error: { code: 'x', message: 'x', retryable: false } }]);
    const first = await scene.start(fails, { run: { serial: true } });
    await scene.ended(first.run);
    const waits = await scene.agent([{ calls: [call('pick')] }, { text: 'second' }], {
      tools: [clientTool('pick')],
    });
    const second = await scene.startWaiting(waits, { thread: first.thread, run: { serial: true } });
    expect(await scene.kernel.retry(first.run)).toMatchObject({ ok: true, ready: false });
    expect(await scene.stage.row(first.run)).toMatchObject({ status: 'queued', ready: false });
    await scene.kernel.settle(second.run, 'pick', { status: 'completed', output: 1 });
    await scene.ended(second.run);
    await scene.becomes(first.run, 'failed');
    expect(scene.requests(first.run)).toHaveLength(2);
  });

  it('is refused where the run has not failed, or is not there', async () => {
    const { run } = await scene.play(await scene.agent([{ text: 'fine' }]));
    expect(await scene.kernel.retry(run)).toMatchObject({
      ok: false,
      code: 'run_not_retryable',
      status: 'completed',
    });
    expect(await scene.kernel.retry(scene.stage.cast.agent)).toEqual({ ok: false, code: 'run_not_found' });
    const queued = await scene.start(await scene.agent([{ text: 'x' }]), { run: { delayMs: 3_600_000 } });
    expect(await scene.kernel.retry(queued.run)).toMatchObject({
      code: 'run_not_retryable',
      status: 'queued',
    });
  });
});
