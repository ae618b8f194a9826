import { delta } from '@troupe/protocol';
import type { Model } from '@troupe/server';
import { stopwatch, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { ModelDelta } from '../../src/kernel/ports.ts';
import { Live } from '../../src/stream/live.ts';
import { written } from './client.ts';
import { StreamFixture } from './fixture.ts';

let fixture: StreamFixture;
/** Says what no model should. */
const odd: unknown[] = [];
const oddModel: Model = {
  async generate(_request, { onDelta }) {
    for (const piece of odd) onDelta(piece as ModelDelta);
    return { text: 'well', calls: [], finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
  },
};
beforeAll(async () => {
  fixture = await StreamFixture.open(inject('postgresUrl'), {
    tools: { add: () => 4 },
    work: {
      models: {
        resolve: (model) => (model.provider === 'odd' ? oddModel : fixture.scripted.provider(model.model)),
      },
    },
  });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const WORDS = Array.from({ length: 20 }, (_, n) => `word${n} 😀 `);

test('what a model writes is read as it writes, and never after it is stored', async () => {
  const session = await fixture.session();
  const snapshot = await fixture.scriptedAgent(
    [
      { reasoning: 'hm', calls: [{ id: 'one', name: 'add', arguments: { a: 1 }, chunks: ['{"a"', ':1}'] }] },
      { chunks: WORDS, delayBetweenChunksMs: 5 },
    ],
    { tools: [{ name: 'add', provider: 'code' }] },
  );
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  await fixture.say(session, snapshot);
  await client.sees('run.completed');
  for (const one of client.deltas) delta.parse(one);
  // More than one piece, so it was live; the last ones may be overtaken by the answer itself.
  const pieces = client.deltas.filter(({ type }) => type === 'message.delta');
  expect(pieces.length).toBeGreaterThan(5);
  expect(WORDS.join('')).toContain(written(pieces));
  expect(written(pieces).length).toBeGreaterThan(WORDS.join('').length / 2);
  expect(new Set(pieces.map(({ step }) => step))).toEqual(new Set([2]));
  // A step's pieces come between its start and its answer.
  let open = 0;
  for (const { event, data } of client.frames) {
    const { step } = data as { step?: number };
    if (event === 'step.started') open = step!;
    else if (event === 'step.generated') open = 0;
    else if (event.endsWith('.delta') || event === 'step.generating')
      expect([event, step]).toEqual([event, open]);
  }
  // Nothing of it is stored.
  expect((await fixture.events(session.thread)).filter(({ type }) => type.endsWith('.delta'))).toEqual([]);
  const later = fixture.connect(session);
  await later.sees('run.completed');
  expect(later.deltas).toEqual([]);
});

test('a late joiner has all of it at once', async () => {
  const session = await fixture.session();
  const snapshot = await fixture.scriptedAgent([
    { chunks: WORDS, failAfterChunks: 12, stallForever: true, delayBetweenChunksMs: 1 },
  ]);
  const first = fixture.connect(session);
  const run = await fixture.say(session, snapshot);
  const text = WORDS.slice(0, 12).join('');
  await until('the first has it', () => written(first.deltas) === text);
  const elapsed = stopwatch();
  const late = fixture.connect(session);
  await until('the late one has it', () => written(late.deltas) === text);
  expect(elapsed()).toBeLessThan(1_000);
  const [generating, ...deltas] = late.deltas;
  expect(generating).toMatchObject({ type: 'step.generating', offset: 0, text: '' });
  expect(deltas).toHaveLength(1);
  expect(deltas[0]).toMatchObject({ offset: 0, text, runId: run, step: 1, type: 'message.delta' });
  const filtered = fixture.connect(session, { query: '?types=run.*' });
  await filtered.sees('run.started');
  expect(filtered.deltas).toEqual([]);
  await fixture.kernel.cancel(run);
  await late.sees('run.canceled');
  // What it said is over with it.
  const after = fixture.connect(session);
  await after.sees('run.canceled');
  await fixture.append(session.thread, 1);
  await after.sees('budget.warning');
  expect(after.deltas).toEqual([]);
});

test('a step that is tried again begins again', async () => {
  const session = await fixture.session();
  const snapshot = await fixture.scriptedAgent([
    { chunks: ['wrong ', 'and ', 'broken'], failAfterChunks: 2, faultTimes: 1, delayBetweenChunksMs: 30 },
  ]);
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  await fixture.say(session, snapshot);
  await client.sees('run.completed');
  const at = client.frames.findIndex(({ event }) => event === 'step.error');
  const before = client.frames.slice(0, at).filter(({ event }) => event === 'message.delta');
  const after = client.frames.slice(at).filter(({ event }) => event === 'message.delta');
  expect(written(before.map(({ data }) => data) as never)).toBe('wrong and ');
  expect((after[0]!.data as { offset: number }).offset).toBe(0);
});

test('pieces that are none, or without end, harm nobody', async () => {
  const session = await fixture.session();
  const live = new Live();
  const run = { id: 'run', threadId: session.thread, epoch: 1 };
  for (let n = 0; n < 50; n++) live.write(run, 1, { type: 'text', text: 'x'.repeat(100_000) });
  expect([...live.of(session.thread)][0]!.text.length).toBeLessThanOrEqual(2_000_000);
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  odd.push(null, {}, { type: 'text' }, { type: 'text', text: 5 }, { type: 'text', text: '' });
  await fixture.say(session, await fixture.snapshot({ models: [{ provider: 'odd', model: 'odd' }] }));
  await client.sees('run.completed');
  expect(client.deltas).toEqual([]);
});
