import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, gate, Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open(inject('postgresUrl'));
});
afterEach(() => scene.sound());
afterAll(() => scene.close());

const short = { run: { wallMs: 150 } };

async function timedOut(run: string): Promise<void> {
  expect(await scene.ended(run)).toMatchObject({ status: 'canceled' });
  expect(await scene.stage.row(run)).toMatchObject({
    status: 'canceled',
    cancel_reason: 'timeout',
    open_calls: 0,
  });
}

it('ends a run that thinks: the model call is aborted', async () => {
  const aborted = gate();
  scene.others.endless = {
    generate: (_request, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.resolve();
          reject(signal.reason);
        }),
      ),
  };
  const snapshot = await scene.stage.snapshot({ models: [scene.model('other:endless')] });
  const { run, thread } = await scene.start(snapshot, short);
  await timedOut(run);
  await aborted.promise;
  expect(await scene.types(thread)).toEqual(expect.arrayContaining(['run.canceled']));
});

it('ends a run that acts: the tool is aborted, and its call shows that it may have taken effect', async () => {
  const aborted = gate();
  scene.tools.endless = (_args, { signal }) =>
    new Promise(() => signal.addEventListener('abort', () => aborted.resolve()));
  scene.tools.quick = () => 'done';
  const snapshot = await scene.agent([{ calls: [call('quick'), call('endless')] }], {
    tools: [codeTool('quick'), codeTool('endless')],
  });
  // Long enough to be at work with it when the time is over.
  const { run } = await scene.start(snapshot, { run: { wallMs: 1_500 } });
  await timedOut(run);
  await aborted.promise;
  expect(await scene.stage.calls(run)).toMatchObject([
    { call_id: 'quick', status: 'completed', output: 'done' },
    {
      call_id: 'endless',
      status: 'canceled',
      error: { message: expect.stringContaining('may have taken effect') },
    },
  ]);
});

it('ends a run that waits, although the call has more time', async () => {
  const snapshot = await scene.agent([{ calls: [call('pick')] }], { tools: [clientTool('pick')] });
  const { run } = await scene.startWaiting(snapshot, short);
  await timedOut(run);
  expect(await scene.stage.calls(run)).toMatchObject([{ status: 'canceled' }]);
  expect(await scene.kernel.settle(run, 'pick', { status: 'completed', output: 1 })).toMatchObject({
    ok: false,
    code: 'call_not_open',
  });
});

it('ends a run that waits for its next try', async () => {
  const error = { code: 'busy', message: 'busy', retryable: true, retryAfterMs: 250 };
  const snapshot = await scene.agent([{ error }]);
  const { run } = await scene.start(snapshot, short);
  await timedOut(run);
  expect(scene.requests(run)).toHaveLength(1);
});

it('counts from the first claim, not from the start; a retry has all of it again', async () => {
  const error = { code: 'broken', message: 'broken', retryable: false };
  const snapshot = await scene.agent((_request, attempt) => (attempt === 1 ? { error } : { text: 'well' }));
  const { run } = await scene.start(snapshot, { run: { wallMs: 150, delayMs: 200 } });
  expect(await scene.ended(run)).toMatchObject({ status: 'failed' });
  const over = async () => Date.parse(String((await scene.stage.row(run)).deadline_at)) < Date.now();
  await until('the wall time of the first life is over', over);
  await scene.kernel.retry(run);
  await scene.becomes(run, 'completed');
});

it('lets the next run of a serial thread in', async () => {
  const asked = gate();
  scene.others.first = {
    generate: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  };
  const stuck = await scene.stage.snapshot({ models: [scene.model('other:first')] });
  const first = await scene.start(stuck, { run: { wallMs: 500, serial: true } });
  const second = await scene.start(await scene.agent([{ text: 'next' }]), {
    thread: first.thread,
    run: { serial: true },
  });
  await asked.promise;
  expect(await scene.ended(second.run)).toMatchObject({ status: 'completed', outcome: { text: 'next' } });
  expect(await scene.stage.row(first.run)).toMatchObject({ cancel_reason: 'timeout' });
});
