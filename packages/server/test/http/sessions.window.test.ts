import type { Json } from '@troupe/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SessionFixture } from './session-fixture.ts';

// A model that reads 8,192 tokens and refuses more, like a small local model. It counts four characters per token, also in
// the usage that it reports.

const CONTEXT = 8_192;
const FILE = 'line of a large file\n'.repeat(10_000);
let fixture: SessionFixture;

beforeAll(async () => {
  fixture = await SessionFixture.open({
    contextTokens: CONTEXT,
    tools: {
      read_file: () => FILE,
      read_json: () => ({ rows: Array.from({ length: 20_000 }, (_, id) => ({ id })) }),
    },
    toolList: [{ name: 'read_file' }, { name: 'read_json' }],
    limits: { modelTries: 2, retryBackoffMs: 1 },
    script: (request) => {
      const tokens = JSON.stringify([request.system, request.messages, request.tools]).length / 4;
      if (tokens + request.maxOutputTokens > CONTEXT) {
        return { error: { code: 'context_too_long', message: `${tokens}`, retryable: false } };
      }
      const last = request.messages.at(-1)!;
      const text = last.role === 'user' ? last.text : '';
      if (text.startsWith('Read')) {
        return { calls: [{ name: 'read_file' }, { name: 'read_json' }] };
      }
      if (text === 'half') return { text: 'An answer that', finishReason: 'length' };
      if (text === 'filtered') return { text: '', finishReason: 'content_filter' };
      return { text: `I heard ${text.slice(0, 20)}` };
    },
  });
});
afterAll(() => fixture.close());

it('reads what is too large in part, is told so, and every later turn goes well', async () => {
  const session = await fixture.create();
  const turn = async (text: string) => {
    await fixture.say(session, text);
    await fixture.becomes(session, 'pending');
    return fixture.scripted.requests.at(-1)!;
  };

  const { messages } = await turn('Read it');
  const outputs = messages.flatMap((message) =>
    message.role === 'tool' ? [message.output] : [],
  ) as string[];
  expect(outputs).toHaveLength(2);
  for (const output of outputs) expect(output).toMatch(/\[Shortened: \d+ of \d+ characters of this result/);
  expect(outputs[0]).toMatch(/^line of a large file\n[\s\S]+line of a large file\n$/);
  const stored = (await fixture.messages(session)).filter(({ role }) => role === 'tool_result');
  expect(stored.map(({ content }) => (content as { result: Json }).result)[0]).toBe(FILE);

  const pasted = `Look at this: ${'é🎭 '.repeat(20_000)} and tell me.`;
  const { messages: shown } = await turn(pasted);
  expect(shown.at(-1)).toMatchObject({
    text: expect.stringMatching(/^Look at this: [\s\S]+\[Shortened: [\s\S]+ and tell me\.$/),
  });
  for (let n = 0; n < 12; n++) await turn(`Turn ${n}: ${'words and more words '.repeat(40)}`);
  expect((await fixture.lines(session)).at(-1)).toContain('I heard Turn 11');
  // A good part of its window is in use, and not the last turn alone.
  const last = fixture.scripted.requests.at(-1)!;
  expect(JSON.stringify(last.messages)).toContain('Turn 10');
});

it('tells half an answer from a whole one, and a filter from silence', async () => {
  const session = await fixture.create();
  await fixture.say(session, 'whole');
  await fixture.becomes(session, 'pending');
  await fixture.say(session, 'half');
  await fixture.becomes(session, 'pending');
  const said = (await fixture.messages(session)).filter(({ role }) => role === 'assistant');
  expect(said.map(({ metadata }) => metadata)).toEqual([{}, { finishReason: 'length' }]);

  const before = fixture.scripted.requests.length;
  const { run } = await fixture.say(session, 'filtered');
  await fixture.becomes(session, 'failed');
  expect(fixture.scripted.requests).toHaveLength(before + 1);
  const { rows } = await fixture.db.pool.query('select error from troupe.runs where id = $1', [run!.id]);
  expect(rows[0].error).toMatchObject({
    code: 'content_filter',
    message: expect.stringContaining('Rephrase'),
  });
});
