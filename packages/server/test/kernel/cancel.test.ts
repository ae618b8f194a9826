import { cancel } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, gate, Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open(inject('postgresUrl'));
});
afterEach(() => scene.sound());
afterAll(() => scene.close());

/** A model that answers nothing, and tells when it was asked and when it was aborted. */
function endlessModel(name: string) {
  const [asked, aborted] = [gate(), gate<number>()];
  scene.others[name] = {
    generate: (_request, { signal }) => {
      asked.resolve();
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.resolve(performance.now());
          reject(signal.reason);
        }),
      );
    },
  };
  return { asked: asked.promise, aborted: aborted.promise };
}

describe('canceling a run', () => {
  it('that is queued: it never starts', async () => {
    const snapshot = await scene.agent([{ text: 'never' }]);
    const { run, thread } = await scene.start(snapshot, { run: { delayMs: 3_600_000 } });
    expect(await scene.kernel.cancel(run, 'user', 'anna')).toMatchObject({ ok: true, status: 'canceled' });
    expect(await scene.ended(run)).toMatchObject({ status: 'canceled' });
    expect(scene.requests(run)).toEqual([]);
    const event = (await scene.stage.events(thread)).at(-1)!;
    expect(event).toMatchObject({ type: 'run.canceled', data: { reason: 'user', by: 'anna' } });
  });

  it('that thinks: the model call is aborted within a second', async () => {
    const model = endlessModel('thinking');
    const { run } = await scene.start(
      await scene.stage.snapshot({ models: [scene.model('other:thinking')] }),
    );
    await model.asked;
    const began = performance.now();
    await scene.kernel.cancel(run);
    expect((await model.aborted) - began).toBeLessThan(1_000);
    expect(await scene.stage.row(run)).toMatchObject({ status: 'canceled', cancel_reason: 'user', step: 0 });
    await until('the worker has let go of it', () => scene.kernel.worker!.load === 0);
  });

  it('that acts: every tool is aborted, the history says so, and nothing is written afterwards', async () => {
    const [began, aborted] = [gate(), gate<string>()];
    let aborts = 0;
    scene.tools.endless = (_args, { signal }) =>
      new Promise((resolve) => {
        began.resolve();
        signal.addEventListener('abort', () => {
          if (++aborts === 2) aborted.resolve('both');
          // A tool that ends after all: its result is no longer wanted.
          resolve('too late');
        });
      });
    const snapshot = await scene.agent([{ calls: [call('endless', {}, 'a'), call('endless', {}, 'b')] }], {
      tools: [codeTool('endless')],
    });
    const { run, thread } = await scene.start(snapshot);
    await began.promise;
    const sent = performance.now();
    await scene.kernel.cancel(run);
    await aborted.promise;
    expect(performance.now() - sent).toBeLessThan(1_000);
    await until('the worker has let go of it', () => scene.kernel.worker!.load === 0);
    const results = (await scene.stage.messages(thread)).filter((message) => message.role === 'tool_result');
    expect(results.map((result) => result.content.error)).toMatchObject([
      { code: 'canceled' },
      { code: 'canceled' },
    ]);
    expect((await scene.stage.calls(run)).map((each) => each.status)).toEqual(['canceled', 'canceled']);
  });

  it('that waits: its calls are closed and cannot be settled any more', async () => {
    const snapshot = await scene.agent([{ calls: [call('pick')] }], { tools: [clientTool('pick')] });
    const { run } = await scene.startWaiting(snapshot);
    expect(await scene.kernel.cancel(run)).toMatchObject({ ok: true });
    expect(await scene.kernel.settle(run, 'pick', { status: 'completed', output: 1 })).toMatchObject({
      ok: false,
      code: 'call_not_open',
      status: 'canceled',
    });
  });

  it('whose notice is lost: the worker finds out by itself', async () => {
    const model = endlessModel('unaware');
    const { run } = await scene.start(await scene.stage.snapshot({ models: [scene.model('other:unaware')] }));
    await model.asked;
    // Written by somebody who tells nobody.
    expect(await cancel(scene.stage.db, run, 'user', null)).toMatchObject({ ok: true });
    await model.aborted;
  });

  it('that has ended, or is not there, is refused with how it stands', async () => {
    const { run } = await scene.play(await scene.agent([{ text: 'done' }]));
    expect(await scene.kernel.cancel(run)).toMatchObject({
      ok: false,
      code: 'run_ended',
      status: 'completed',
    });
    const second = await scene.start(await scene.agent([{ text: 'x' }]), { run: { delayMs: 3_600_000 } });
    await scene.kernel.cancel(second.run, 'timeout');
    expect(await scene.kernel.cancel(second.run)).toMatchObject({ code: 'run_ended', reason: 'timeout' });
    expect(await scene.kernel.cancel(scene.stage.cast.agent)).toEqual({ ok: false, code: 'run_not_found' });
  });

  it('at the head of a serial thread lets the next one in; in the middle, it is left out', async () => {
    const model = endlessModel('head');
    const stuck = await scene.stage.snapshot({ models: [scene.model('other:head')] });
    const snapshot = await scene.agent((request) => ({ text: `answer ${request.messages.length}` }));
    const head = await scene.start(stuck, { run: { serial: true } });
    const [second, third] = [
      await scene.start(snapshot, { thread: head.thread, run: { serial: true } }),
      await scene.start(snapshot, { thread: head.thread, run: { serial: true } }),
    ];
    await model.asked;
    await scene.kernel.cancel(second.run);
    await scene.kernel.cancel(head.run);
    expect(await scene.ended(third.run)).toMatchObject({ status: 'completed' });
    expect(scene.requests(second.run)).toEqual([]);
  });

  it('leaves room for others: a worker with one place takes the next at once', async () => {
    const one = await Scene.open(inject('postgresUrl'), { capacity: 1 });
    const asked = gate();
    one.others.stuck = {
      generate: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    };
    const stuck = await one.start(await one.stage.snapshot({ models: [one.model('other:stuck')] }));
    await asked.promise;
    const next = await one.start(await one.agent([{ text: 'next' }]));
    await one.kernel.cancel(stuck.run);
    expect(await one.ended(next.run)).toMatchObject({ status: 'completed' });
    await one.sound();
    await one.close();
  });
});
