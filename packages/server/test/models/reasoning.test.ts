import { Database, type Door, Kernel, newId, silentLogger } from '@troupe/server';
import {
  buildStart,
  codeTools,
  type KernelFixture,
  openKernel,
  plainDoor,
  until,
  violations,
} from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import type { ModelDelta } from '../../src/kernel/ports.ts';
import { createProviders } from '../../src/models/index.ts';
import type { ProviderRecord } from '../../src/models/providers/providers.ts';
import { listMessages } from '../../src/store/index.ts';
import { anthropic, responses, type Said, sealed, signed } from './wire/formats.ts';
import { refuse, stream, WireServer } from './wire/server.ts';

// A model that thinks and calls tools gets its thoughts back, whichever worker goes on. The double of Anthropic refuses
// a request without them, as Anthropic does.

let wire: WireServer;
let fixture: KernelFixture;
const deltas: ModelDelta[] = [];
const rows = new Map(
  [anthropic, responses].map(({ kind }): [string, ProviderRecord] => [
    kind,
    { id: newId(), kind, baseUrl: '', apiKey: 'sk-test', status: 'active' },
  ]),
);
const claude = { provider: rows.get('anthropic')!.id, model: 'claude-sonnet-4-5' };
const gpt = { provider: rows.get('openai')!.id, model: 'gpt-5' };

const door: Door = {
  ...plainDoor,
  context: async (view) => ({ ...(await plainDoor.context(view)), reasoningEffort: 'high' }),
};
const work = () => ({
  doors: [door],
  models: createProviders({ load: async (id) => [...rows.values()].find((row) => row.id === id) ?? null }),
  tools: codeTools({ look: () => 'seen' }),
  onDelta: (_: unknown, __: number, delta: ModelDelta) => void deltas.push(delta),
});

beforeAll(async () => {
  wire = await WireServer.open();
  for (const row of rows.values()) row.baseUrl = wire.url;
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: work() });
});
afterEach(async () => {
  expect(wire.left).toBe(0);
  wire.heard.length = 0;
  deltas.length = 0;
  expect(await violations(fixture.db.pool)).toEqual([]);
});
afterAll(async () => {
  await fixture.close();
  await wire.close();
});

const look = { name: 'look', provider: 'code', inputSchema: { type: 'object' } };
const limits = { modelTries: 1, retryBackoffMs: 10 };
const calling = (id: string, thought?: string): Said => ({
  ...(thought === undefined ? {} : { reasoning: [thought] }),
  text: ['I look.'],
  calls: [{ id, name: 'look', pieces: ['{}'] }],
});
const contentOf = (request: number) => {
  const { messages } = wire.heard[request]!.body as unknown as {
    messages: { role: string; content: object[] }[];
  };
  return messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content);
};
const inputOf = (request: number) =>
  (wire.heard[request]!.body.input as { type?: string; encrypted_content?: string }[]).filter(
    ({ type }) => type === 'reasoning',
  );

it('Claude gets every thought of the run back, signed and at its place, and goes on thinking', async () => {
  wire.replies(
    stream(anthropic.events(calling('c1', 'First thought.'))),
    stream(anthropic.events(calling('c2', 'Second thought.'))),
    stream(anthropic.events({ reasoning: ['Third.'], text: ['Done.'] })),
  );
  const snapshot = await fixture.snapshot({ models: [claude], tools: [look], limits });
  const { thread, ...ended } = await fixture.play(snapshot);
  expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'Done.' } });
  expect(wire.heard.map(({ body }) => body.thinking)).toMatchObject(
    Array.from({ length: 3 }, () => ({ type: 'enabled' })),
  );
  expect(contentOf(2)).toMatchObject([
    { type: 'thinking', thinking: 'First thought.', signature: signed('First thought.') },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'c1' },
    { type: 'thinking', thinking: 'Second thought.', signature: signed('Second thought.') },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'c2' },
  ]);

  // What anybody reads has nothing of it, and what streams is the thought in words, not its seal.
  const shown = JSON.stringify([
    await listMessages(fixture.db, thread, { limit: 50 }),
    await fixture.events(thread),
  ]);
  for (const hidden of ['First thought.', signed('First thought.'), 'troupe:reasoning']) {
    expect(shown).not.toContain(hidden);
  }
  expect(JSON.stringify(deltas)).not.toContain(signed('First thought.'));
  const { rows: kept } = await fixture.db.pool.query(
    "select role from troupe.messages where thread_id = $1 and metadata ? 'troupe:reasoning' order by seq",
    [thread],
  );
  expect(kept).toEqual([{ role: 'tool_call' }, { role: 'tool_call' }]);
});

it('OpenAI is asked for its thoughts encrypted, and gets them back', async () => {
  const usage = { input: 100, output: 1, cacheRead: 80 };
  wire.replies(
    stream(responses.events(calling('c1', 'Hm.'))),
    stream(responses.events({ text: ['Done.'], usage })),
  );
  const prices = { inputPrice: 10, outputPrice: 5, cacheReadPrice: 1 };
  const snapshot = await fixture.snapshot({ models: [{ ...gpt, ...prices }], tools: [look], limits });
  const { run, thread, status } = await fixture.play(snapshot);
  expect(status).toBe('completed');
  expect(wire.heard[0]!.body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
  expect(inputOf(1)).toMatchObject([{ encrypted_content: sealed('Hm.') }]);

  // What was cached costs what cached input costs.
  const { rows: steps } = await fixture.db.pool.query(
    'select cost::int from troupe.run_steps where run_id = $1 order by step',
    [run],
  );
  expect(steps).toEqual([{ cost: 11 * 10 + 7 * 5 }, { cost: 20 * 10 + 80 * 1 + 5 }]);
  const told = (await fixture.events(thread)).filter(({ type }) => type === 'step.generated');
  expect(told[1]!.data).toMatchObject({ inputTokens: 100, cacheReadTokens: 80 });
});

it('another worker has them as well', async () => {
  wire.replies(stream(anthropic.events(calling('c1', 'Before the crash.'))));
  const waiting = { ...look, waitsFor: 'client' as const };
  const snapshot = await fixture.snapshot({ models: [claude], tools: [waiting], limits });
  const item = buildStart(fixture.ids, snapshot, 'go');
  await fixture.kernel.start(item);
  const run = item.run.id;
  await until('a call waits', async () => {
    const { rows: found } = await fixture.db.pool.query(
      "select id from troupe.runs where status = 'waiting_tool'",
    );
    return found.length > 0;
  });
  await fixture.kernel.close();
  const db = new Database({ url: fixture.databaseUrl, applicationName: 'test/other', logger: silentLogger });
  const other = new Kernel({ db, logger: silentLogger });
  try {
    await other.work(work());
    wire.replies(stream(anthropic.events({ text: ['After it.'] })));
    await other.settle(run, 'c1', { status: 'completed', output: 'seen' });
    expect(await other.ended(run)).toMatchObject({ outcome: { text: 'After it.' } });
    expect(contentOf(1)[0]).toMatchObject({ type: 'thinking', signature: signed('Before the crash.') });

    // Nobody but the model itself: where another takes over, it neither reads them nor is made to think without its own.
    wire.replies(
      stream(responses.events(calling('c2', 'Of OpenAI.'))),
      refuse(400, responses.refusal({ type: 'x', message: 'No more.' })),
      stream(anthropic.events({ text: ['Instead.'] })),
    );
    const both = await fixture.snapshot({ models: [gpt, claude], tools: [look], limits });
    const next = buildStart(fixture.ids, both, 'go');
    await other.start(next);
    const ended = await other.ended(next.run.id);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'Instead.' } });
    const last = wire.heard.at(-1)!.body;
    expect(last.thinking).toBeUndefined();
    expect(JSON.stringify(last)).not.toContain('Of OpenAI.');
    expect(JSON.stringify(last)).not.toContain(sealed('Of OpenAI.'));
  } finally {
    await other.close();
    await db.close();
  }
});

it('the double refuses what Anthropic refuses', () => {
  const body = (content: object[]) => ({
    thinking: { type: 'enabled' },
    messages: [{ role: 'assistant', content }],
  });
  const call = { type: 'tool_use', id: 'c', name: 'look', input: {} };
  const objection = (content: object[]) => anthropic.objection!(body(content) as never);
  expect(objection([call])).toContain('must start with a thinking block');
  expect(objection([{ type: 'thinking', thinking: 'a', signature: signed('b') }, call])).toContain(
    'signature',
  );
  expect(objection([{ type: 'thinking', thinking: 'a', signature: signed('a') }, call])).toBeNull();
});
