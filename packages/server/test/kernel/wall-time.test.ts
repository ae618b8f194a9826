import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

const short = { run: { wallMs: 150 } };

async function timedOut(run: string): Promise<void> {
  expect(await fixture.ended(run)).toMatchObject({ status: 'canceled' });
  expect(await fixture.row(run)).toMatchObject({
    status: 'canceled',
    cancel_reason: 'timeout',
    open_calls: 0,
  });
}

it('ends a run that thinks: the model call is aborted', async () => {
  const aborted = gate();
  fixture.others.endless = {
    generate: (_request, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.resolve();
          reject(signal.reason);
        }),
      ),
  };
  const snapshot = await fixture.snapshot({ models: [fixture.model('other:endless')] });
  const { run, thread } = await fixture.start(snapshot, short);
  await timedOut(run);
  await aborted.promise;
  expect(await fixture.types(thread)).toEqual(expect.arrayContaining(['run.canceled']));
});

it('ends a run that acts: the tool is aborted, and its call shows that it may have taken effect', async () => {
  const aborted = gate();
  fixture.tools.endless = (_args, { signal }) =>
    new Promise(() => signal.addEventListener('abort', () => aborted.resolve()));
  fixture.tools.quick = () => 'done';
  const snapshot = await fixture.agent([{ calls: [call('quick'), call('endless')] }], {
    tools: [codeTool('quick'), codeTool('endless')],
  });
  // Long enough to be at work with it when the time is over.
  const { run } = await fixture.start(snapshot, { run: { wallMs: 1_500 } });
  await timedOut(run);
  await aborted.promise;
  expect(await fixture.calls(run)).toMatchObject([
    { call_id: 'quick', status: 'completed', output: 'done' },
    {
      call_id: 'endless',
      status: 'canceled',
      error: { message: expect.stringContaining('may have taken effect') },
    },
  ]);
});

it('ends a run that waits, although the call has more time', async () => {
  const snapshot = await fixture.agent([{ calls: [call('pick')] }], { tools: [clientTool('pick')] });
  const { run } = await fixture.startWaiting(snapshot, short);
  await timedOut(run);
  expect(await fixture.calls(run)).toMatchObject([{ status: 'canceled' }]);
  expect(await fixture.kernel.settle(run, 'pick', { status: 'completed', output: 1 })).toMatchObject({
    ok: false,
    code: 'call_not_open',
  });
});

it('ends a run that waits for its next try', async () => {
  const error = { code: 'busy', message: 'busy', retryable: true, retryAfterMs: 250 };
  const snapshot = await fixture.agent([{ error }]);
  const { run } = await fixture.start(snapshot, short);
  await timedOut(run);
  expect(fixture.requests(run)).toHaveLength(1);
});

it('counts from the first claim, not from the start; a retry has all of it again', async () => {
  const error = { code: 'broken', message: 'broken', retryable: false };
  const snapshot = await fixture.agent((_request, attempt) => (attempt === 1 ? { error } : { text: 'well' }));
  const { run } = await fixture.start(snapshot, { run: { wallMs: 150, delayMs: 200 } });
  expect(await fixture.ended(run)).toMatchObject({ status: 'failed' });
  const over = async () => Date.parse(String((await fixture.row(run)).deadline_at)) < Date.now();
  await until('the wall time of the first life is over', over);
  await fixture.kernel.retry(run);
  await fixture.becomes(run, 'completed');
});

it('lets the next run of a serial thread in', async () => {
  const asked = gate();
  fixture.others.first = {
    generate: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  };
  const stuck = await fixture.snapshot({ models: [fixture.model('other:first')] });
  const first = await fixture.start(stuck, { run: { wallMs: 500, serial: true } });
  const second = await fixture.start(await fixture.agent([{ text: 'next' }]), {
    thread: first.thread,
    run: { serial: true },
  });
  await asked.promise;
  expect(await fixture.ended(second.run)).toMatchObject({ status: 'completed', outcome: { text: 'next' } });
  expect(await fixture.row(first.run)).toMatchObject({ cancel_reason: 'timeout' });
});
