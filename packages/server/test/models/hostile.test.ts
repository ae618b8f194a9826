import { processorMs } from '../../../testing/src/stopwatch.ts';
import { describe, expect, it } from 'vitest';
import { createDemo, createScripted } from '../../src/models/index.ts';
import { ask, buildRequest, buildTool, user } from './ask.ts';

// Every text here is long and built against a parser or a pattern. None may take 100 ms of processor time.

const N = 10_000;

const tools = [
  buildTool('noop', { a: { type: 'string' } }),
  buildTool('send_message', { text: { type: 'string' } }),
  buildTool('create_agent'),
  buildTool('current_time'),
];

const texts: [string, string][] = [
  ['a long sum', `what is ${'1+'.repeat(N / 2)}1`],
  ['a long product', `what is ${'9*'.repeat(N / 2)}9`],
  ['towers of powers', `what is ${'9^'.repeat(N / 2)}9`],
  ['deep parentheses', `what is ${'('.repeat(N / 2)}1+1${')'.repeat(N / 2)}`],
  ['unclosed parentheses', `what is ${'(1+'.repeat(N / 3)}1`],
  ['closing parentheses', `what is 1+1${')'.repeat(N)}`],
  ['minus signs', `what is 1${'-'.repeat(N)}1`],
  ['a long number', `what is ${'9'.repeat(N)}+1`],
  ['commas', `what is ${'1,'.repeat(N / 2)}1+1`],
  ['dots', `what is ${'1.'.repeat(N / 2)}1+1`],
  ['many sums', 'what is 1+1? '.repeat(N / 13)],
  ['spaces', `what is${' '.repeat(N)}my${' '.repeat(N)}name`],
  ['call and spaces', `call${' '.repeat(N)}`],
  ['call the the the', `call ${'the '.repeat(N / 4)}`],
  ['call call call', 'call '.repeat(N / 5)],
  ['call with dashes', `call a${'-'.repeat(N)}b {}`],
  ['call with open objects', 'call noop {'.repeat(N / 11)],
  ['deep JSON', `call noop ${'{"a":'.repeat(N)}1${'}'.repeat(N)}`],
  ['open strings', `call noop a="${'\\'.repeat(N)}`],
  ['many open strings', `call noop a="x' `.repeat(N / 16)],
  ['many pairs', `call noop ${'a=1, '.repeat(N / 5)}`],
  ['pairs and spaces', `call noop a=1${' '.repeat(N)}, ${' '.repeat(N)}b`],
  ['delegate delegate', 'delegate '.repeat(N / 9)],
  ['delegate to to to', `delegate ${'to '.repeat(N / 3)}`],
  ['mentions', '@'.repeat(N)],
  ['spaced mentions', '@x '.repeat(N / 3)],
  ['names', 'my name is '.repeat(N / 11)],
  ['speakers', '(human'.repeat(N / 6)],
  ['lines of speakers', '[NEW] x (human\n'.repeat(N / 15)],
  ['what what what', 'what '.repeat(N / 5)],
  ['the letter a', 'a'.repeat(N)],
  ['quotes', `"'\``.repeat(N / 3)],
  ['half characters', '\ud83d'.repeat(N)],
  ['newlines', '\n'.repeat(N)],
  ['nulls', '\0'.repeat(N)],
];

describe.each([1, 20])('hostile text, %i × 10,000 characters', (times) => {
  it.each(texts)('%s', async (_, text) => {
    const said = text.repeat(times);
    const demo = createDemo({ delayMs: 0 });
    for (const given of [[], tools]) {
      for (const request of [
        buildRequest({ messages: [user(said)], tools: given }),
        buildRequest({ messages: [user('hello')], system: said, tools: given }),
      ]) {
        expect(await processorMs(() => ask(demo, request))).toBeLessThan(100);
      }
    }
  });
});

describe('hostile sums have the right answers', () => {
  it.each([
    [`${'1+'.repeat(4999)}1`, 'The result is 5000.'],
    [`${'('.repeat(5000)}1+1${')'.repeat(5000)}`, 'The result is 2.'],
    [`1${'-'.repeat(9000)}1`, 'The result is 2.'],
    [`what is 1+1${')'.repeat(9000)}`, '1+1 = 2.'],
    [`what is ${'('.repeat(9000)}1+1`, 'never closed'],
    [`${'9*'.repeat(4999)}9`, 'too large'],
  ])('%.20s…', async (text, answer) => {
    const asked = await ask(createDemo({ delayMs: 0 }), buildRequest({ messages: [user(text)] }));
    expect(asked.answer.text).toContain(answer);
  });
});

describe('hostile scripts', () => {
  it.each([
    ['deep arrays', `script:${'['.repeat(100_000)}`],
    ['spaces', `script:${' '.repeat(100_000)}`],
    ['marks', 'script:'.repeat(20_000)],
    ['marks and spaces', 'script:   '.repeat(20_000)],
    ['an open string', `script:["${'\\'.repeat(100_000)}`],
  ])('%s', async (_, text) => {
    const model = createScripted([{ text: 'fallback' }]).provider('x');
    const request = buildRequest({ messages: [user(text)] });
    expect(await processorMs(() => ask(model, request).catch(() => undefined))).toBeLessThan(100);
  });
});
