import { stopwatch, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { cancel } from '../../src/store/queries/outside.ts';
import { call, clientTool, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

/** A model that answers nothing, and tells when it was asked and when it was aborted. */
function endlessModel(name: string) {
  const [asked, aborted] = [gate(), gate()];
  fixture.others[name] = {
    generate: (_request, { signal }) => {
      asked.resolve();
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.resolve();
          reject(signal.reason);
        }),
      );
    },
  };
  return { asked: asked.promise, aborted: aborted.promise };
}

describe('canceling a run', () => {
  it('that is queued: it never starts', async () => {
    const snapshot = await fixture.agent([{ text: 'never' }]);
    const { run, thread } = await fixture.start(snapshot, { run: { delayMs: 3_600_000 } });
    expect(await fixture.kernel.cancel(run, 'user', 'anna')).toMatchObject({ ok: true, status: 'canceled' });
    expect(await fixture.ended(run)).toMatchObject({ status: 'canceled' });
    expect(fixture.requests(run)).toEqual([]);
    const event = (await fixture.events(thread)).at(-1)!;
    expect(event).toMatchObject({ type: 'run.canceled', data: { reason: 'user', by: 'anna' } });
  });

  it('that thinks: the model call is aborted within a second', async () => {
    const model = endlessModel('thinking');
    const { run } = await fixture.start(
      await fixture.snapshot({ models: [fixture.model('other:thinking')] }),
    );
    await model.asked;
    const elapsed = stopwatch();
    await fixture.kernel.cancel(run);
    await model.aborted;
    expect(elapsed()).toBeLessThan(1_000);
    expect(await fixture.row(run)).toMatchObject({ status: 'canceled', cancel_reason: 'user', step: 0 });
    await until('the worker has let go of it', () => fixture.kernel.worker!.load === 0);
  });

  it('that acts: every tool is aborted, the history says so, and nothing is written afterwards', async () => {
    const [began, aborted] = [gate(), gate<string>()];
    let aborts = 0;
    fixture.tools.endless = (_args, { signal }) =>
      new Promise((resolve) => {
        began.resolve();
        signal.addEventListener('abort', () => {
          if (++aborts === 2) aborted.resolve('both');
          // A tool that ends after all: its result is no longer wanted.
          resolve('too late');
        });
      });
    const snapshot = await fixture.agent([{ calls: [call('endless', {}, 'a'), call('endless', {}, 'b')] }], {
      tools: [codeTool('endless')],
    });
    const { run, thread } = await fixture.start(snapshot);
    await began.promise;
    const elapsed = stopwatch();
    await fixture.kernel.cancel(run);
    await aborted.promise;
    expect(elapsed()).toBeLessThan(1_000);
    await until('the worker has let go of it', () => fixture.kernel.worker!.load === 0);
    const results = (await fixture.messages(thread)).filter((message) => message.role === 'tool_result');
    expect(results.map((result) => result.content.error)).toMatchObject([
      { code: 'canceled' },
      { code: 'canceled' },
    ]);
    expect((await fixture.calls(run)).map((each) => each.status)).toEqual(['canceled', 'canceled']);
  });

  it('that waits: its calls are closed and cannot be settled any more', async () => {
    const snapshot = await fixture.agent([{ calls: [call('pick')] }], { tools: [clientTool('pick')] });
    const { run } = await fixture.startWaiting(snapshot);
    expect(await fixture.kernel.cancel(run)).toMatchObject({ ok: true });
    expect(await fixture.kernel.settle(run, 'pick', { status: 'completed', output: 1 })).toMatchObject({
      ok: false,
      code: 'call_not_open',
      status: 'canceled',
    });
  });

  it('whose notice is lost: the worker finds out by itself', async () => {
    const model = endlessModel('unaware');
    const { run } = await fixture.start(await fixture.snapshot({ models: [fixture.model('other:unaware')] }));
    await model.asked;
    // Written by somebody who tells nobody.
    expect(await cancel(fixture.db, run, 'user', null)).toMatchObject({ ok: true });
    await model.aborted;
  });

  it('that has ended, or is not there, is refused with how it stands', async () => {
    const { run } = await fixture.play(await fixture.agent([{ text: 'done' }]));
    expect(await fixture.kernel.cancel(run)).toMatchObject({
      ok: false,
      code: 'run_ended',
      status: 'completed',
    });
    const second = await fixture.start(await fixture.agent([{ text: 'x' }]), { run: { delayMs: 3_600_000 } });
    await fixture.kernel.cancel(second.run, 'timeout');
    expect(await fixture.kernel.cancel(second.run)).toMatchObject({ code: 'run_ended', reason: 'timeout' });
    expect(await fixture.kernel.cancel(fixture.ids.agent)).toEqual({ ok: false, code: 'run_not_found' });
  });

  it('at the head of a serial thread lets the next one in; in the middle, it is left out', async () => {
    const model = endlessModel('head');
    const stuck = await fixture.snapshot({ models: [fixture.model('other:head')] });
    const snapshot = await fixture.agent((request) => ({ text: `answer ${request.messages.length}` }));
    const head = await fixture.start(stuck, { run: { serial: true } });
    const [second, third] = [
      await fixture.start(snapshot, { thread: head.thread, run: { serial: true } }),
      await fixture.start(snapshot, { thread: head.thread, run: { serial: true } }),
    ];
    await model.asked;
    await fixture.kernel.cancel(second.run);
    await fixture.kernel.cancel(head.run);
    expect(await fixture.ended(third.run)).toMatchObject({ status: 'completed' });
    expect(fixture.requests(second.run)).toEqual([]);
  });

  it('leaves room for others: a worker with one place takes the next at once', async () => {
    const one = await ScriptedFixture.open(inject('postgresUrl'), { capacity: 1 });
    const asked = gate();
    one.others.stuck = {
      generate: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    };
    const stuck = await one.start(await one.snapshot({ models: [one.model('other:stuck')] }));
    await asked.promise;
    const next = await one.start(await one.agent([{ text: 'next' }]));
    await one.kernel.cancel(stuck.run);
    expect(await one.ended(next.run)).toMatchObject({ status: 'completed' });
    await one.checkInvariants();
    await one.close();
  });
});
