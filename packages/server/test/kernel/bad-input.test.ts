import type { Json } from '@troupe/protocol';
import { stopwatch } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { TroupeError } from '../../src/base/errors.ts';
import type { ModelAnswer } from '../../src/kernel/ports.ts';
import { call, codeTool, ScriptedFixture } from './fixture.ts';

// Whatever a tool or a model does has a name that everybody can see, and is the end of nothing but itself.

let fixture: ScriptedFixture;
const surprises: unknown[] = [];
const surprise = (error: unknown) => surprises.push(error);
beforeAll(async () => {
  process.on('unhandledRejection', surprise);
  process.on('uncaughtException', surprise);
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(async () => {
  // The process lives, the worker holds nothing back, and the next run completes.
  expect(await fixture.play(await fixture.agent([{ text: 'fine' }]))).toMatchObject({ status: 'completed' });
  expect(surprises).toEqual([]);
  await fixture.checkInvariants();
});
afterAll(async () => {
  process.off('unhandledRejection', surprise);
  process.off('uncaughtException', surprise);
  await fixture.close();
});

const nested = (depth: number): Json => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
const deepObject = (depth: number): Json => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

describe('a call', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const evil = { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } };
  const lookahead = { type: 'object', properties: { s: { type: 'string', pattern: '(?=a)b' } } };
  const costly = { type: 'object', properties: { s: { type: 'string', pattern: '^[ab]*a[ab]{300}$' } } };
  const two = {
    type: 'object',
    properties: { s: { type: 'string', pattern: '^[a-z]+$' }, t: { type: 'string', pattern: '^[0-9]+$' } },
  };
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'tool', ...schema };
  const remote = { $ref: 'https://example.com/schema.json' };
  const cases: [string, object, string | null][] = [
    ['of a tool that is not there', call('nobody'), 'unknown_tool'],
    ['with arguments that do not fit', call('strict', { n: 'one' }), 'invalid_arguments'],
    ['without the arguments that it needs', call('strict'), 'invalid_arguments'],
    ['with arguments that are no object', call('strict', [1, 2]), 'invalid_arguments'],
    ['with arguments that are null', call('strict', null), 'invalid_arguments'],
    ['with arguments that are no JSON', { ...call('strict', null), invalid: '{"n": 1' }, 'invalid_arguments'],
    ['with arguments in a circle', circularCall(), 'invalid_arguments'],
    ['without any arguments', { id: 'x', name: 'any' }, null],
    ['of a tool whose schema is broken', call('broken', {}), 'broken_schema'],
    ['of a tool whose schema is somewhere else', call('remote', {}), 'broken_schema'],
    ['of a tool whose pattern nobody can run safely', call('lookahead', { s: 'b' }), 'broken_schema'],
    ['against a pattern made to hang', call('evil', { s: `${'a'.repeat(5_000)}!` }), 'invalid_arguments'],
    ['against a pattern that takes long for so much', call('costly', { s: mixed(900_000) }), 'broken_schema'],
    ['against the second of two patterns', call('two', { s: 'ab', t: 'ab' }), 'invalid_arguments'],
    ['that fits two patterns', call('two', { s: 'ab', t: '12' }), null],
    ['against the same pattern with less', call('costly', { s: mixed(310) }), null],
    ['of a tool with a schema of an older draft', call('draft7', { n: 1 }), null],
    ['with arguments of 5 MB', call('any', { text: 'x'.repeat(5_000_000) }), 'arguments_too_large'],
    [
      'of no tool with arguments of 5 MB',
      call('nobody', { text: 'x'.repeat(5_000_000) }),
      'arguments_too_large',
    ],
    ['with arguments nested 100 deep', call('any', nested(100)), 'arguments_too_large'],
    ['with arguments nested 10,000 deep', call('any', deepObject(10_000)), 'arguments_too_large'],
    ['with arguments nested 200,000 deep', call('any', nested(200_000)), 'arguments_too_large'],
    ['of no tool with arguments nested 200,000 deep', call('nobody', nested(200_000)), 'arguments_too_large'],
    ['with a name of 1 MB', call('n'.repeat(1_000_000), {}, 'x'), 'unknown_tool'],
    ['with NUL and half a character in its name', call('no\u0000body\ud800', {}, 'x'), 'unknown_tool'],
    ['with NUL and half a character in its id', call('any', {}, 'i\u0000d\ud800'), null],
    ['with NUL and half a character in its arguments', call('any', { 'a\u0000': 'b\udc00' }), null],
    ['with an empty id', call('any', {}, ''), null],
    ['with an id of 1 MB', call('any', {}, '😀'.repeat(300_000)), null],
    ['with a name from the prototype', call('constructor', {}, 'x'), 'unknown_tool'],
  ];
  const tools = [
    codeTool('any', { inputSchema: {} }),
    codeTool('strict', { inputSchema: schema }),
    codeTool('broken', { inputSchema: { type: 'nonsense' } }),
    codeTool('evil', { inputSchema: evil }),
    codeTool('costly', { inputSchema: costly }),
    codeTool('two', { inputSchema: two }),
    codeTool('lookahead', { inputSchema: lookahead }),
    codeTool('draft7', { inputSchema: draft7 }),
    codeTool('remote', { inputSchema: remote }),
  ];

  it.each(cases)('%s', async (_what, asked, code) => {
    for (const { name } of tools) fixture.tools[name] = () => 'done';
    // By hand: no script can hold all of this.
    fixture.others.careless = answering([asked as ModelAnswer['calls'][number]]);
    const snapshot = await fixture.snapshot({ models: [fixture.model('other:careless')], tools });
    const elapsed = stopwatch();
    const ended = await fixture.play(snapshot);
    expect(elapsed()).toBeLessThan(3_000);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'well' } });
    const [ledger] = await fixture.calls(ended.run);
    expect(ledger).toMatchObject(code ? { status: 'failed', error: { code } } : { status: 'completed' });
    const told = (await fixture.events(ended.thread)).find((event) => event.type === 'tool.failed');
    expect(told?.data?.code).toBe(code ?? undefined);
    if (code) expect((ledger!.error as { message: string }).message.length).toBeLessThan(2_000);
  });

  it('repeated with the same id ten times in one answer is ten calls', async () => {
    fixture.tools.any = (args) => args;
    fixture.others.careless = answering(
      Array.from({ length: 10 }, (_, n) => ({
        id: n % 2 ? '\ud800' : '\udc00',
        name: 'any',
        arguments: { n },
      })),
    );
    const snapshot = await fixture.snapshot({ models: [fixture.model('other:careless')], tools });
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    const ledger = await fixture.calls(ended.run);
    expect(ledger.map((each) => each.output)).toEqual(Array.from({ length: 10 }, (_, n) => ({ n })));
    expect(new Set(ledger.map((each) => each.call_id)).size).toBe(10);
  });

  it('beside 499 others: as many as may are made, the rest is told why not', async () => {
    let made = 0;
    fixture.tools.any = () => ++made;
    fixture.others.careless = answering(
      Array.from({ length: 500 }, (_, n) => ({ id: `call ${n}`, name: 'any', arguments: {} })),
    );
    const snapshot = await fixture.snapshot({ models: [fixture.model('other:careless')], tools });
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    expect(made).toBe(32);
    const ledger = await fixture.calls(ended.run);
    expect(
      ledger.filter((each) => (each.error as { code: string } | null)?.code === 'too_many_calls'),
    ).toHaveLength(468);
  });
});

describe('a tool that', () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const fails: [string, () => unknown, string, RegExp][] = [
    ['throws an error', () => boom(new Error('out of paper')), 'tool_error', /out of paper/],
    [
      'throws an error with a code of its own',
      () => boom(new TroupeError('jammed', 'It is jammed.')),
      'jammed',
      /jammed/,
    ],
    ['throws a string', () => boom('no'), 'tool_error', /no/],
    ['throws undefined', () => boom(undefined), 'tool_error', /undefined|without saying why/],
    ['throws null', () => boom(null), 'tool_error', /null|without saying why/],
    ['throws an empty error', () => boom(new Error()), 'tool_error', /without saying why/],
    ['throws an object without a prototype', () => boom(Object.create(null)), 'tool_error', /./],
    ['throws a symbol', () => boom(Symbol('s')), 'tool_error', /./],
    ['throws an error whose message throws', () => boom(hostileError()), 'tool_error', /./],
    [
      'throws an error whose message is no text',
      () => boom(Object.assign(new Error(), { message: { a: 1 } })),
      'tool_error',
      /./,
    ],
    ['throws 1 MB', () => boom(new Error('x'.repeat(1_000_000))), 'tool_error', /^x{4000}$/],
    ['rejects', () => Promise.reject(new Error('later')), 'tool_error', /later/],
    ['never ends', () => new Promise(() => {}), 'tool_timeout', /300 ms/],
    ['returns 10 MB', () => 'x'.repeat(10_000_000), 'output_too_large', /bytes/],
    ['returns 10 MB in an object', () => ({ text: 'x'.repeat(10_000_000) }), 'output_too_large', /bytes/],
    ['returns itself in a circle', () => circular, 'tool_error', /circular/i],
    ['returns a BigInt', () => 10n, 'tool_error', /BigInt/],
    ['returns a nest of 10,000', () => nested(10_000), 'output_too_deep', /deep/],
    ['returns a nest of 200,000', () => nested(200_000), 'output_too_deep', /deep/],
    [
      'returns an object that cannot be written',
      () => ({ toJSON: () => boom(new Error('no JSON')) }),
      'tool_error',
      /no JSON/,
    ],
  ];

  it.each(fails)('%s', async (_what, act, code, message) => {
    const { run, ledger } = await once(act);
    expect(ledger).toMatchObject({ status: 'failed', output: null, error: { code } });
    expect((ledger.error as { message: string }).message).toMatch(message);
    expect(fixture.shown(run)).toMatchObject({ act: { code } });
  });

  const odd: [string, () => unknown, Json][] = [
    ['returns nothing', () => undefined, null],
    ['returns NaN', () => Number.NaN, null],
    ['returns infinity in a list', () => [1, Number.POSITIVE_INFINITY], [1, null]],
    ['returns a function', () => () => 1, null],
    ['returns a symbol', () => Symbol('s'), null],
    [
      'returns an object with functions',
      () => ({ a: 1, b: () => 2, c: undefined, d: Symbol('s') }),
      { a: 1 },
    ],
    ['returns a date', () => ({ at: new Date(0) }), { at: '1970-01-01T00:00:00.000Z' }],
    ['returns a map', () => new Map([[1, 2]]), {}],
    ['returns an error', () => ({ error: new Error('x') }), { error: {} }],
    ['returns NUL', () => 'a\u0000b', 'a\ufffdb'],
    ['returns half a character', () => ({ 'k\ud800': ['\udc00', '😀'] }), { 'k\ufffd': ['\ufffd', '😀'] }],
    [
      'returns a key called __proto__',
      () => JSON.parse('{"__proto__": 1, "a": 2}'),
      JSON.parse('{"__proto__": 1, "a": 2}'),
    ],
    ['returns a nest of 50', () => nested(50), nested(50)],
    ['returns a promise of a value', () => Promise.resolve({ late: true }), { late: true }],
  ];

  it.each(odd)('%s', async (_what, act, output) => {
    const { run, thread, ledger } = await once(act);
    expect(ledger).toMatchObject({ status: 'completed', error: null });
    expect(ledger.output).toEqual(output);
    // The model is shown now what any other worker would read from the rows.
    expect(fixture.shown(run)).toEqual({ act: output });
    const result = (await fixture.messages(thread)).find((message) => message.role === 'tool_result')!;
    expect(result.content).toEqual({ result: output, error: null });
  });

  it('changes what it returned afterwards changes nothing', async () => {
    const kept = { n: 1 };
    const { run } = await once(() => {
      queueMicrotask(() => setImmediate(() => Object.assign(kept, { n: 2 })));
      return kept;
    });
    expect(fixture.shown(run)).toEqual({ act: { n: 1 } });
  });

  it('is not here: the model is told that no worker can execute it', async () => {
    const snapshot = await fixture.agent([{ calls: [call('elsewhere')] }, { text: 'well' }], {
      tools: [codeTool('elsewhere')],
    });
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    expect(fixture.shown(ended.run)).toMatchObject({ elsewhere: { code: 'tool_unavailable' } });
  });

  async function once(act: () => unknown) {
    fixture.tools.act = () => act() as Json;
    const snapshot = await fixture.agent([{ calls: [call('act')] }, { text: 'well' }], {
      tools: [codeTool('act', { timeoutMs: 300 })],
    });
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'well' } });
    const [ledger] = await fixture.calls(ended.run);
    return { ...ended, ledger: ledger! };
  }
});

describe('a model that', () => {
  const limits = { modelTries: 2, retryBackoffMs: 1, modelStallMs: 100, modelTimeoutMs: 200, steps: 5 };
  const answer = (more: object): ModelAnswer =>
    ({
      text: 'x',
      calls: [],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1 },
      ...more,
    }) as ModelAnswer;
  const fails: [string, () => unknown, string][] = [
    ['throws', () => boom(new Error('no network')), 'model_error'],
    ['throws undefined', () => boom(undefined), 'model_error'],
    ['throws an object without a prototype', () => boom(Object.create(null)), 'model_error'],
    ['never answers', () => new Promise(() => {}), 'model_stalled'],
    ['answers nothing', () => answer({ text: '' }), 'empty_answer'],
    ['answers 5 MB', () => answer({ text: 'x'.repeat(5_000_000) }), 'answer_too_large'],
    ['answers undefined', () => undefined, 'invalid_answer'],
    ['answers without calls or text', () => ({ finishReason: 'stop', usage: {} }), 'invalid_answer'],
    ['answers with calls that are no list', () => answer({ calls: 'none' }), 'invalid_answer'],
    [
      'answers with a call without a name',
      () => answer({ calls: [{ id: 'x', arguments: {} }] }),
      'invalid_answer',
    ],
  ];

  it.each(fails)('%s', async (_what, generate, code) => {
    fixture.others.bad = { generate: async () => generate() as ModelAnswer };
    const snapshot = await fixture.snapshot({ models: [fixture.model('other:bad')], limits });
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'failed', error: { code } });
    expect(ended.error!.message).not.toBe('');
    expect(await fixture.row(ended.run)).toMatchObject({ status: 'failed', error: { code }, step: 0 });
    const types = await fixture.types(ended.thread);
    expect(types).toContain('step.error');
    expect(types.at(-1)).toBe('run.failed');
  });

  it('sends a word now and then but never ends', async () => {
    fixture.others.slow = {
      generate: (_request, { onDelta, signal }) =>
        new Promise((_, reject) => {
          const timer = setInterval(() => onDelta({ type: 'text', text: 'and ' }), 30);
          signal.addEventListener('abort', () => {
            clearInterval(timer);
            reject(signal.reason);
          });
        }),
    };
    const snapshot = await fixture.snapshot({
      models: [fixture.model('other:slow')],
      limits: { ...limits, modelTries: 1 },
    });
    expect(await fixture.play(snapshot)).toMatchObject({
      status: 'failed',
      error: { code: 'model_timeout' },
    });
  });

  it('never stops calling tools', async () => {
    fixture.tools.again = () => 'again';
    const snapshot = await fixture.agent(
      (request) => ({ calls: [call('again', {}, `again ${request.step}`)] }),
      {
        tools: [codeTool('again')],
        limits,
      },
    );
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'step_limit' } });
    expect(await fixture.calls(ended.run)).toHaveLength(5);
  });

  const usages: [string, object][] = [
    ['nothing', {}],
    ['NaN', { inputTokens: Number.NaN, outputTokens: Number.NaN }],
    ['less than nothing', { inputTokens: -5, outputTokens: -1 }],
    ['halves', { inputTokens: 1.5, outputTokens: 2.5 }],
    ['infinity', { inputTokens: Number.POSITIVE_INFINITY, outputTokens: 1e300 }],
  ];
  it.each(usages)('reports %s as its usage', async (_what, usage) => {
    fixture.others.odd = { generate: async () => answer({ usage }) };
    const snapshot = await fixture.snapshot({ models: [fixture.model('other:odd')], limits });
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed' });
    const row = await fixture.row(ended.run);
    expect(Number(row.input_tokens)).toBeGreaterThanOrEqual(0);
  });

  it('answers with NUL and half a character', async () => {
    fixture.others.odd = { generate: async () => answer({ text: 'a\u0000b\ud800' }) };
    const snapshot = await fixture.snapshot({ models: [fixture.model('other:odd')], limits });
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    expect((await fixture.messages(ended.thread)).at(-1)!.content).toEqual({ text: 'a\ufffdb\ufffd' });
  });
});

/** A model that makes these calls once, then answers. */
function answering(calls: ModelAnswer['calls']) {
  return {
    generate: async (request: { step: number }): Promise<ModelAnswer> => ({
      text: request.step === 1 ? '' : 'well',
      calls: request.step === 1 ? calls : [],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1 },
    }),
  };
}

function boom(what: unknown): never {
  throw what;
}

function hostileError(): Error {
  return Object.defineProperty(new Error(), 'message', {
    get() {
      throw new Error('even this');
    },
  });
}

function circularCall() {
  const args: { self?: unknown } = {};
  args.self = args;
  return { id: 'x', name: 'any', arguments: args };
}

/** Of two letters without an order that could be remembered, so that a pattern has to look at all of it anew; one of them where it counts. */
function mixed(length: number): string {
  let state = 1;
  const letters = Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 31 ? 'a' : 'b';
  });
  letters[length - 301] = 'a';
  return letters.join('');
}
