import type { Json, Run } from '@troupe/protocol';
import { Troupe, TurnFailedError } from '@troupe/sdk';
import { createDemo, type Script } from '@troupe/server/parts';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// One server. A message that is a list says what the model answers, step by step; any other goes to the demo model.

let server: TestServer;
let troupe: Troupe;
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const GOOD = '{"city":"Oslo","days":3}';

beforeAll(async () => {
  const demo = createDemo({ delayMs: 0 });
  const script: Script = async (request) => {
    const asked = request.messages.findLast(
      ({ role, ...message }) => role === 'user' && 'text' in message && message.text.startsWith('['),
    );
    if (asked?.role === 'user') {
      const turns = JSON.parse(asked.text);
      const { text, ...turn } = turns[Math.min(request.step, turns.length) - 1];
      return { ...turn, text: text?.replace('HUGE', 'a'.repeat(400_000)) };
    }
    const { text, calls } = await demo.generate(request, {
      signal: new AbortController().signal,
      onDelta() {},
    });
    return { text, calls };
  };
  server = await openServer({ postgresUrl: inject('postgresUrl'), script });
  troupe = new Troupe({ baseUrl: server.url });
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

let count = 0;
async function open(answer: object = { schema }, more: object = {}) {
  const agent = await troupe.agents.create({
    body: { name: `A${++count}`, answer: answer as never, ...more },
  });
  return troupe.open(agent.id);
}
const says = (...texts: string[]) => JSON.stringify(texts.map((text) => ({ text })));
const runOf = (id: string): Promise<Run> => troupe.runs.get({ params: { runId: id } });
const requestsOf = (run: string) => server.scripted.requests.filter(({ runId }) => runId === run);

test('an answer that fits is the outcome as a value; the model is given the schema in both ways', async () => {
  const session = await open();
  const turn = await session.sendAndWait<{ city: string; days: number }>(says(GOOD));
  expect(turn.output?.city).toBe('Oslo');
  expect(turn).toMatchObject({ text: GOOD, output: { city: 'Oslo', days: 3 } });
  expect((await runOf(turn.posted.run!.id)).outcome).toEqual({
    text: GOOD,
    output: { city: 'Oslo', days: 3 },
  });
  const [request] = requestsOf(turn.posted.run!.id);
  expect(request!.answerSchema).toEqual(schema);
  expect(JSON.parse(request!.system.split('\n').at(-1)!)).toEqual(schema);
});

test('one in a fence is taken out of it, so that the message itself is JSON', async () => {
  const session = await open();
  for (const text of [`\`\`\`json\n${GOOD}\n\`\`\``, `\`\`\`\n${GOOD}\`\`\`\n`, `  ${GOOD}\n`]) {
    const turn = await session.sendAndWait(says(text));
    expect(turn).toMatchObject({ text: GOOD, output: { days: 3 } });
    expect(turn.messages).toHaveLength(1);
  }
});

test('one that does not fit is asked for again, with what is wrong; readers see no answer in it', async () => {
  const session = await open();
  const items: string[] = [];
  const turn = await session.sendAndWait(says('Oslo, three days.', '{"city":"Oslo","days":0}', GOOD), {
    onItem: (item) => {
      if (item.kind === 'delta') items.push(`${item.delta.step}:${item.delta.offset}:${item.delta.text}`);
    },
  });
  expect(turn.output).toEqual({ city: 'Oslo', days: 3 });
  expect(turn.messages.map(({ role }) => role)).toEqual(['system', 'system', 'assistant']);
  const run = turn.posted.run!.id;
  const [, second, third] = requestsOf(run).map(({ messages }) => messages.slice(1));
  expect(second).toMatchObject([
    { role: 'assistant', text: 'Oslo, three days.' },
    { role: 'user', text: expect.stringMatching(/1 of 3.*not JSON/) },
  ]);
  expect(third!.slice(2)).toMatchObject([
    { role: 'assistant', text: '{"city":"Oslo","days":0}' },
    { role: 'user', text: expect.stringMatching(/2 of 3.*`days` must be >= 1/) },
  ]);
  expect(await runOf(run)).toMatchObject({ status: 'completed', step: 3 });
  // What was being written begins anew with every try.
  for (const line of items) expect(line).toMatch(/^[123]:0:/);
  // The next turn knows nothing of it.
  const next = await session.sendAndWait(says(GOOD));
  const [request] = requestsOf(next.posted.run!.id);
  expect(request!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
});

test('one that never fits fails the run, every try paid for; taken up again it has all tries anew', async () => {
  const session = await open({ schema, tries: 2 });
  const failed = await session.sendAndWait(says('no', '[]', 'no', GOOD)).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(TurnFailedError);
  expect(failed).toMatchObject({
    code: 'answer_invalid',
    message:
      'The model gave 2 answers that do not fit the agent’s schema. Of the last: it does not fit the schema: it must be object.',
    turn: { text: '' },
  });
  const run = (failed as TurnFailedError).turn.posted.run!.id;
  const ended = await runOf(run);
  expect(ended).toMatchObject({ status: 'failed', step: 2, error: { code: 'answer_invalid' } });
  expect(await session.get()).toMatchObject({ status: 'failed' });
  await session.retry();
  await until('it is answered', async () => (await session.get()).status === 'pending');
  expect(await runOf(run)).toMatchObject({
    status: 'completed',
    step: 4,
    outcome: { output: { city: 'Oslo' } },
  });
  expect(requestsOf(run)).toHaveLength(4);
});

test('the count is in the rows: whoever takes the run up between two tries goes on counting', async () => {
  const limits = { retryBackoffMs: 1 };
  const session = await open({ schema, tries: 2 }, { limits });
  const broken = { error: { code: 'model_down', message: 'Down.', retryable: true }, faultTimes: 1 };
  // The error puts the run back into the queue; what is not in the rows is gone.
  const turns = [{ text: 'no' }, { text: 'neither', ...broken }, { text: GOOD }];
  await expect(session.sendAndWait(JSON.stringify(turns))).rejects.toMatchObject({ code: 'answer_invalid' });
  expect(await session.events({ limit: 100 })).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ type: 'step.error' })]),
  });
});

test('text beside calls is no answer yet; what follows the calls is', async () => {
  const session = await open({ schema }, { capabilities: [{ id: 'current_time' }] });
  const turns = [
    { text: 'Let me see.', calls: [{ name: 'current_time' }] },
    { text: 'Late.' },
    { text: GOOD },
  ];
  const turn = await session.sendAndWait(JSON.stringify(turns));
  expect(turn.output).toEqual({ city: 'Oslo', days: 3 });
  expect(turn.messages.map(({ role }) => role)).toEqual([
    'assistant',
    'tool_call',
    'tool_result',
    'system',
    'assistant',
  ]);
});

test('huge, cut off, and with a pattern that would take for ever: each is told and mended', async () => {
  const session = await open();
  const turns = [
    { text: '{"city":"HUGE"}' },
    { text: '{"city":"Os', finishReason: 'length' },
    { text: GOOD },
  ];
  const turn = await session.sendAndWait(JSON.stringify(turns));
  expect(turn.output).toBeDefined();
  const refused = turn.messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => (content as { text: string }).text);
  expect(refused[0]!.length).toBeLessThan(21_000);
  expect(refused[0]).toContain("must have required property 'days'");
  expect(refused[1]).toContain('cut off');

  const slow = await open({ schema: { type: 'string', pattern: `^${'(a|a)*'.repeat(400)}$` }, tries: 1 });
  await expect(slow.sendAndWait(says('"HUGE"'))).rejects.toMatchObject({ code: 'answer_invalid' });
});

test('the demo model answers with the least that fits', async () => {
  const schemas: Record<string, Json>[] = [
    schema,
    {
      type: 'array',
      minItems: 2,
      items: { $ref: '#/$defs/n' },
      $defs: { n: { type: 'number', exclusiveMinimum: 4, multipleOf: 3 } },
    },
    {
      anyOf: [{ type: 'object', required: ['kind'], properties: { kind: { const: 'a' } } }, { type: 'null' }],
    },
    {
      type: 'object',
      properties: { s: { type: ['string', 'null'], maxLength: 5, minLength: 5 }, b: { type: 'boolean' } },
    },
  ];
  for (const one of schemas) {
    const turn = await (await open({ schema: one, tries: 1 })).sendAndWait('Hello there');
    expect(turn.output).toBeDefined();
  }
  const session = await open({ schema }, { capabilities: [{ id: 'current_time' }] });
  const turn = await session.sendAndWait('call current_time {}');
  expect(turn.messages.map(({ role }) => role)).toEqual(['tool_call', 'tool_result', 'assistant']);
  expect(turn.output).toMatchObject({ days: 1 });
});

test('a schema that is none is refused when the agent is written', async () => {
  const refused = open({ schema: { type: 'nothing' } });
  await expect(refused).rejects.toMatchObject({ status: 422, code: 'answer_schema_invalid' });
});
