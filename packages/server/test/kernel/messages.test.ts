import { newId } from '@troupe/server';
import { buildStart } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { PostPolicy } from '../../src/store/queries/start.ts';
import { call, clientTool, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

/** A serial thread whose run is in the middle of a tool; `go` lets the tool end. */
async function busy() {
  const [began, finish, aborted] = [gate(), gate<string>(), gate()];
  fixture.tools.work = (_args, { signal }) => {
    began.resolve();
    signal.addEventListener('abort', () => aborted.resolve());
    return finish.promise;
  };
  const snapshot = await fixture.agent(
    (request) => {
      const asked = request.messages.findLast((message) => message.role === 'user')!;
      const worked = request.messages.some((message) => message.role === 'tool');
      if (!worked && request.messages.length === 1) return { calls: [call('work')] };
      return { text: `re: ${'text' in asked ? asked.text : ''}` };
    },
    { tools: [codeTool('work')] },
  );
  const started = await fixture.start(snapshot, { text: 'first', run: { serial: true } });
  await began.promise;
  return { ...started, snapshot, go: () => finish.resolve('worked'), aborted: aborted.promise };
}

function post(thread: string, snapshot: string, policy: PostPolicy, text = 'second', message = newId()) {
  const item = buildStart(fixture.ids, snapshot, text, { thread, message, run: { serial: true } });
  return fixture.kernel.post({ ...item, policy });
}

describe('a message to a busy thread', () => {
  it('with policy queue waits its turn and gets a run of its own', async () => {
    const { run, thread, snapshot, go } = await busy();
    const posted = await post(thread, snapshot, 'queue');
    expect(posted).toMatchObject({ ok: true, outcome: 'started', ready: false });
    const next = posted.ok ? posted.run! : '';
    expect(await fixture.row(next)).toMatchObject({ status: 'queued', ready: false });
    go();
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(await fixture.ended(next)).toMatchObject({ status: 'completed', outcome: { text: 're: second' } });
  });

  it('with policy steer is seen by the run at its next step', async () => {
    const { run, thread, snapshot, go } = await busy();
    expect(await post(thread, snapshot, 'steer', 'look left')).toMatchObject({
      ok: true,
      outcome: 'steered',
      run,
    });
    go();
    expect(await fixture.ended(run)).toMatchObject({
      status: 'completed',
      outcome: { text: 're: look left' },
    });
    expect(fixture.requests(run)).toHaveLength(2);
    const runs = await fixture.db.pool.query('select from troupe.runs where thread_id = $1', [thread]);
    expect(runs.rowCount).toBe(1);
  });

  it('with policy steer that comes while the model gives its last answer makes it take another step', async () => {
    const [asked, answer] = [gate(), gate()];
    const snapshot = await fixture.agent(async (request) => {
      const last = request.messages.findLast((message) => message.role === 'user')!;
      if (request.step === 1) {
        asked.resolve();
        await answer.promise;
      }
      return { text: `step ${request.step}: ${'text' in last ? last.text : ''}` };
    });
    const { run, thread } = await fixture.start(snapshot, { text: 'first', run: { serial: true } });
    await asked.promise;
    expect(await post(thread, snapshot, 'steer', 'wait')).toMatchObject({ outcome: 'steered' });
    answer.resolve();
    expect(await fixture.ended(run)).toMatchObject({ outcome: { text: 'step 2: wait' } });
    const said = (await fixture.messages(thread)).map((message) => message.content.text);
    expect(said).toEqual(['first', 'wait', 'step 1: first', 'step 2: wait']);
    expect((await fixture.types(thread)).filter((type) => type === 'run.completed')).toHaveLength(1);
  });

  it('with policy steer reaches a run that waits, when it goes on', async () => {
    const snapshot = await fixture.agent(
      (request) =>
        request.step === 1
          ? { calls: [call('pick')] }
          : { text: request.messages.map((message) => ('text' in message ? message.text : '')).join('|') },
      { tools: [clientTool('pick')] },
    );
    const { run, thread } = await fixture.startWaiting(snapshot, { run: { serial: true } });
    expect(await post(thread, snapshot, 'steer', 'the red one')).toMatchObject({ outcome: 'steered', run });
    expect((await fixture.row(run)).status).toBe('waiting_tool');
    await fixture.kernel.settle(run, 'pick', { status: 'completed', output: 'red' });
    const { outcome } = await fixture.ended(run);
    expect(outcome).toMatchObject({ text: expect.stringContaining('the red one') });
    expect(fixture.requests(run)).toHaveLength(2);
  });

  it('with policy interrupt ends the run and starts its own', async () => {
    const { run, thread, snapshot, aborted } = await busy();
    const posted = await post(thread, snapshot, 'interrupt', 'stop that');
    expect(posted).toMatchObject({ ok: true, outcome: 'interrupted', canceled: run, ready: true });
    await aborted;
    expect(await fixture.row(run)).toMatchObject({ status: 'canceled', cancel_reason: 'superseded' });
    expect(await fixture.ended(posted.ok ? posted.run! : '')).toMatchObject({
      outcome: { text: 're: stop that' },
    });
  });

  it('with policy reject is refused and leaves nothing behind', async () => {
    const { run, thread, snapshot, go } = await busy();
    const before = (await fixture.messages(thread)).length;
    expect(await post(thread, snapshot, 'reject')).toEqual({ ok: false, code: 'busy', run });
    expect(await fixture.messages(thread)).toHaveLength(before);
    go();
    await fixture.ended(run);
    expect(await post(thread, snapshot, 'reject')).toMatchObject({
      ok: true,
      outcome: 'started',
      ready: true,
    });
  });

  it('is told again what became of it, when it is sent again', async () => {
    const { run, thread, snapshot, go } = await busy();
    const [steered, queued] = [newId(), newId()];
    await post(thread, snapshot, 'steer', 'a', steered);
    const next = await post(thread, snapshot, 'queue', 'b', queued);
    expect(await post(thread, snapshot, 'steer', 'a', steered)).toMatchObject({ outcome: 'duplicate', run });
    expect(await post(thread, snapshot, 'interrupt', 'a', steered)).toMatchObject({
      outcome: 'duplicate',
      run,
    });
    expect(await post(thread, snapshot, 'reject', 'b', queued)).toMatchObject({
      outcome: 'duplicate',
      started: next.ok ? next.run : '',
    });
    go();
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(await fixture.ended(next.ok ? next.run! : '')).toMatchObject({ status: 'completed' });
  });
});

describe('a message to an idle thread', () => {
  it.each(['queue', 'steer', 'interrupt', 'reject'] as const)(
    'with policy %s starts a run',
    async (policy) => {
      const snapshot = await fixture.agent([{ text: 'hello' }]);
      const first = await fixture.play(snapshot, { run: { serial: true } });
      const posted = await post(first.thread, snapshot, policy);
      expect(posted).toMatchObject({ ok: true, outcome: 'started', ready: true });
      expect(await fixture.ended(posted.ok ? posted.run! : '')).toMatchObject({ status: 'completed' });
    },
  );

  it('that is not there is refused', async () => {
    const snapshot = await fixture.agent([{ text: 'hello' }]);
    for (const policy of ['queue', 'steer', 'interrupt', 'reject'] as const) {
      expect(await post(newId(), snapshot, policy)).toEqual({ ok: false, code: 'thread_not_found' });
    }
  });
});
