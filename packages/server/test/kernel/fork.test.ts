import { newId } from '@troupe/server';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Forked } from '../../src/store/queries/outside.ts';
import { call, clientTool, codeTool, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
  fixture.tools.count = (args) => args;
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

const tools = [codeTool('count')];
/** Two steps with a call each, then an answer that tells what the model saw. Call ids start anew in every step, as some providers do. */
const script = (name: string) => (request: { step: number; messages: { role: string }[] }) =>
  request.step <= 2
    ? { calls: [call('count', { step: request.step, by: name }, 'call_0')] }
    : { text: `${name} after ${request.messages.length}` };

async function source() {
  const snapshot = await fixture.agent(script('source'), { tools });
  const ended = await fixture.play(snapshot, { text: 'count to two' });
  expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'source after 5' } });
  return { ...ended, snapshot };
}

function ids(forked: Forked) {
  if (!forked.ok) throw new Error(forked.code);
  return forked;
}

const texts = async (thread: string) =>
  (await fixture.messages(thread)).map(({ role, content }) => [
    role,
    content.text ?? content.result ?? content.name,
  ]);

describe('a fork', () => {
  it.each([
    [0, 1],
    [1, 3],
    [2, 5],
    [3, 6],
  ])('from step %i takes the first %i messages along and goes on from there', async (step, messages) => {
    const { run, thread } = await source();
    const before = [await fixture.row(run), await fixture.messages(thread), await fixture.events(thread)];
    const forked = ids(await fixture.kernel.fork(run, step));
    expect(forked.messages).toBe(messages);
    expect(await fixture.ended(forked.run)).toMatchObject({ status: 'completed' });
    // Steps that were taken before are not taken again.
    expect(fixture.requests(forked.run).map((request) => request.step)).toEqual(
      [1, 2, 3, 4].filter((each) => each > step && each <= Math.max(3, step + 1)),
    );
    expect((await texts(forked.thread)).slice(0, messages)).toEqual((await texts(thread)).slice(0, messages));
    expect(await fixture.row(forked.run)).toMatchObject({
      trigger_type: 'fork',
      trigger: { forkedFrom: run, forkedAtStep: step },
      step: Math.max(3, step + 1),
    });
    expect([await fixture.row(run), await fixture.messages(thread), await fixture.events(thread)]).toEqual(
      before,
    );
  });

  it('keeps the calls that it took along apart from new ones with the same ids', async () => {
    const { run } = await source();
    const forked = ids(await fixture.kernel.fork(run, 1));
    await fixture.ended(forked.run);
    const results = fixture
      .requests(forked.run)
      .at(-1)!
      .messages.filter((message) => message.role === 'tool');
    expect(results.map((result) => ('output' in result ? result.output : null))).toEqual([
      { step: 1, by: 'source' },
      { step: 2, by: 'source' },
    ]);
    expect(new Set(results.map((result) => ('callId' in result ? result.callId : ''))).size).toBe(2);
  });

  it('can have a message edited on the way', async () => {
    const snapshot = await fixture.agent((request) => {
      const asked = request.messages[0]!;
      return { text: `re: ${'text' in asked ? asked.text : ''}` };
    });
    const { run, thread } = await fixture.play(snapshot, { text: 'red' });
    const forked = ids(await fixture.kernel.fork(run, 0, { edits: [{ seq: 1, content: { text: 'blue' } }] }));
    expect(await fixture.ended(forked.run)).toMatchObject({ outcome: { text: 're: blue' } });
    expect((await texts(thread))[0]).toEqual(['user', 'red']);
  });

  it('can go on with another snapshot', async () => {
    const { run } = await source();
    const other = await fixture.agent(script('other'), { tools, prompt: 'Be brief.' });
    const forked = ids(await fixture.kernel.fork(run, 2, { snapshot: other }));
    expect(await fixture.ended(forked.run)).toMatchObject({ outcome: { text: 'other after 5' } });
    expect(fixture.requests(forked.run)[0]!.system).toBe('Be brief.');
  });

  it('of a run that failed or is still under way takes what is settled', async () => {
    const snapshot = await fixture.agent(
      (request) => (request.step === 1 ? { calls: [call('count', { step: 1 })] } : { calls: [call('pick')] }),
      { tools: [...tools, clientTool('pick')] },
    );
    const { run } = await fixture.startWaiting(snapshot);
    const other = await fixture.agent([{ text: '1' }, { text: 'went on' }]);
    const forked = ids(await fixture.kernel.fork(run, 1, { snapshot: other }));
    expect(await fixture.ended(forked.run)).toMatchObject({
      status: 'completed',
      outcome: { text: 'went on' },
    });
    expect((await fixture.row(run)).status).toBe('waiting_tool');
    await fixture.kernel.cancel(run);
  });

  it('of a fork of a fork works the same', async () => {
    const { run } = await source();
    const first = ids(await fixture.kernel.fork(run, 1));
    await fixture.ended(first.run);
    const second = ids(await fixture.kernel.fork(first.run, 2));
    expect(await fixture.ended(second.run)).toMatchObject({
      status: 'completed',
      outcome: { text: 'source after 5' },
    });
  });

  it('is refused from a step that was not taken, or is not settled, and of a run that is not there', async () => {
    const snapshot = await fixture.agent([{ calls: [call('pick')] }], { tools: [clientTool('pick')] });
    const { run } = await fixture.startWaiting(snapshot);
    expect(await fixture.kernel.fork(run, 1)).toEqual({ ok: false, code: 'step_not_settled', step: 1 });
    expect(await fixture.kernel.fork(run, 2)).toEqual({ ok: false, code: 'step_not_found', step: 1 });
    expect(await fixture.kernel.fork(run, -1)).toEqual({ ok: false, code: 'step_not_found', step: 1 });
    expect(await fixture.kernel.fork(newId(), 0)).toEqual({ ok: false, code: 'run_not_found' });
    await fixture.kernel.cancel(run);
  });

  it('asked for twice with the same ids is one, at the same moment as well', async () => {
    const { run } = await source();
    const into = { run: newId(), thread: newId() };
    const forks = await Promise.all(Array.from({ length: 6 }, () => fixture.kernel.fork(run, 1, {}, into)));
    expect(forks.map((forked) => forked.ok && forked.run)).toEqual(forks.map(() => into.run));
    expect(forks.filter((forked) => forked.ok && !forked.duplicate)).toHaveLength(1);
    expect(await fixture.ended(into.run)).toMatchObject({ status: 'completed' });
  });
});
