import { newId } from '@troupe/server';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RetryableError, TroupeError } from '../../src/base/index.ts';
import type { Model, ModelRequest } from '../../src/kernel/ports.ts';
import { createProviders } from '../../src/models/index.ts';
import type { ProviderRecord } from '../../src/models/providers/providers.ts';
import { ask, buildRequest, buildTool, RUN_ID, streamedInput, streamedText, user } from './ask.ts';
import { type Format, formats, type Said } from './wire/formats.ts';
import { hangUp, refuse, stream, WireServer } from './wire/server.ts';

// Long because every provider is asked the same: what one answers wrongly is seen beside the others.

const KEY = 'very-secret-0123456789';
let wire: WireServer;
beforeAll(async () => {
  wire = await WireServer.open();
});
afterEach(() => {
  expect(wire.left).toBe(0);
  wire.heard.length = 0;
});
afterAll(() => wire.close());

function modelOf(format: Format, changes: Partial<ProviderRecord> = {}): Model {
  const row: ProviderRecord = {
    id: newId(),
    kind: format.kind,
    baseUrl: wire.url,
    apiKey: KEY,
    status: 'active',
    ...changes,
  };
  const models = createProviders({ load: async (id) => (id === row.id ? row : null) });
  return models.resolve({
    provider: row.id,
    model: 'm-1',
    maxOutputTokens: 4096,
    inputPrice: 0,
    outputPrice: 0,
  });
}

async function failed(promise: Promise<unknown>): Promise<TroupeError> {
  const error = await promise.then(
    () => expect.unreachable('it should have failed'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TroupeError);
  const text = `${String(error)} ${JSON.stringify(error)} ${(error as Error).stack}`;
  expect(text).not.toContain(KEY);
  expect((error as Error).cause).toBeUndefined();
  return error as TroupeError;
}

/** What everything about a call must leave behind: one request, never a silent retry. */
const once = () => expect(wire.heard).toHaveLength(1);

const WHOLE: Said = {
  reasoning: ['Let me ', 'see.'],
  text: ['Naïve ', '🎭', ' — done'],
  calls: [
    { id: 'call_a', name: 'add', pieces: ['{"a"', ':1,"b', '":"é🎭"}'] },
    { id: 'call_b', name: 'noop', pieces: ['{', '}'] },
  ],
};

describe.each(formats.map((format) => ({ name: format.kind, format })))('$name', ({ format }) => {
  const request = (changes: Partial<ModelRequest> = {}) => buildRequest({ model: 'm-1', ...changes });
  const say = (said: Said, options?: Parameters<typeof stream>[1]) =>
    wire.replies(stream(format.events(said), options));

  it.each([undefined, 1, 3, 7, 64, 100_000])('reads a stream in writes of %s bytes', async (bytes) => {
    say(WHOLE, bytes === undefined ? {} : { bytes });
    const { answer, deltas } = await ask(modelOf(format), request());
    const { reasoningParts, ...shown } = answer;
    // Compatible servers want nothing back.
    expect(reasoningParts !== undefined).toBe(format.kind !== 'openai_compatible');
    expect(shown).toEqual({
      reasoning: 'Let me see.',
      text: 'Naïve 🎭 — done',
      calls: [
        { id: 'call_a', name: 'add', arguments: { a: 1, b: 'é🎭' } },
        { id: 'call_b', name: 'noop', arguments: {} },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 11, outputTokens: 7 },
    });
    expect(streamedText(deltas)).toBe(answer.text);
    expect(streamedInput(deltas, 'call_a')).toBe('{"a":1,"b":"é🎭"}');
    expect(streamedInput(deltas, 'call_b')).toBe('{}');
    expect(deltas.filter((delta) => delta.type === 'reasoning')).toEqual([
      { type: 'reasoning', text: 'Let me ' },
      { type: 'reasoning', text: 'see.' },
    ]);
    once();
  });

  it('passes pieces on while the stream is still open', async () => {
    const events = format.events({ text: ['first', 'second'] });
    let goOn = () => {};
    const heardFirst = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    wire.replies(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const at = events.findIndex((event) => event.includes('first'));
      response.write(events.slice(0, at + 1).join(''));
      await heardFirst;
      response.end(events.slice(at + 1).join(''));
    });
    const answer = await modelOf(format).generate(request(), {
      signal: new AbortController().signal,
      onDelta: (delta) => delta.type === 'text' && delta.text === 'first' && goOn(),
    });
    expect(answer).toMatchObject({ text: 'firstsecond', finishReason: 'stop' });
  });

  it('sends the conversation, the tools and the key in the provider’s own form', async () => {
    say({ text: ['ok'] });
    const tool = buildTool('add', { a: { type: 'number' } }, ['a']);
    await ask(
      modelOf(format),
      request({
        system: 'Be brief.',
        tools: [{ ...tool, description: 'Adds.' }],
        maxOutputTokens: 321,
        messages: [
          user('Look', 'Ada'),
          { role: 'assistant', text: 'I add.', calls: [{ id: 'c1', name: 'add', arguments: { a: 1 } }] },
          { role: 'tool', callId: 'c1', name: 'add', output: { sum: 2 }, isError: false },
          {
            role: 'assistant',
            text: '',
            calls: [{ id: 'bad id:0', name: 'add', arguments: null, invalid: '{"a":' }],
          },
          { role: 'tool', callId: 'bad id:0', name: 'add', output: 'Not JSON.', isError: true },
          { role: 'system', text: 'Mind the time.' },
          {
            role: 'user',
            text: 'a cat',
            parts: [
              { type: 'text', text: 'What is this?' },
              { type: 'image', base64: 'aGVsbG8=', mediaType: 'image/png' },
              { type: 'image', url: 'https://example.com/cat.jpg' },
            ],
          },
        ],
      }),
    );
    const [heard] = wire.heard;
    expect(heard!.path).toBe(format.path);
    expect(format.keyOf(heard!.headers)).toBe(KEY);
    const sent = JSON.stringify(heard!.body);
    for (const piece of [
      ...['Be brief.', 'Ada: Look', 'I add.', 'Mind the time.', 'What is this?', 'Adds.', 'Not JSON.'],
      ...['aGVsbG8=', 'https://example.com/cat.jpg', 'invalidArguments'],
    ]) {
      expect(sent).toContain(piece);
    }
    expect(sent).not.toContain('bad id:0');
    expect(sent).toContain('321');
    expect(heard!.body).toMatchObject({ model: 'm-1', stream: true });
    expect(heard!.body).toMatchSnapshot();
  });

  it.each(['auto', 'none'] as const)('says that tools may be used: %s', async (toolChoice) => {
    say({ text: ['ok'] });
    await ask(modelOf(format), request({ tools: [buildTool('noop')], toolChoice }));
    const choice = wire.heard[0]!.body.tool_choice as string | { type: string };
    expect(typeof choice === 'string' ? choice : choice.type).toBe(toolChoice);
  });

  it('never asks for more output than it may, whatever the effort', async () => {
    for (const model of ['m-1', 'gpt-5', 'claude-sonnet-4-5', 'claude-opus-4-6']) {
      for (const reasoningEffort of ['none', 'minimal', 'low', 'medium', 'high'] as const) {
        say({ text: ['ok'] });
        await ask(modelOf(format), request({ model, maxOutputTokens: 4000, reasoningEffort }));
        const { max_tokens, max_output_tokens } = wire.heard.at(-1)!.body;
        expect(max_tokens ?? max_output_tokens).toBe(4000);
      }
    }
  });

  it('tells an answer that was cut at its limit, filtered, or not counted', async () => {
    say({ text: ['half'], finish: 'length' });
    expect((await ask(modelOf(format), request())).answer).toMatchObject({
      text: 'half',
      finishReason: 'length',
    });
    say({ calls: [{ id: 'c', name: 'drop_table', pieces: [] }], finish: 'length' });
    expect((await ask(modelOf(format), request())).answer.calls).toMatchObject([
      { arguments: null, invalid: expect.any(String) },
    ]);
    say({ text: ['no'], finish: 'filter' });
    expect((await ask(modelOf(format), request())).answer.finishReason).toBe('content_filter');
    say({ text: ['eight by', 'tes'], usage: null });
    expect((await ask(modelOf(format), request())).answer.usage).toEqual({ inputTokens: 2, outputTokens: 3 });
  });

  it('counts what was cached among the input', async () => {
    say({ text: ['ok'], usage: { input: 100, output: 2, cacheRead: 80, cacheWrite: 15 } });
    expect((await ask(modelOf(format), request())).answer.usage).toEqual({
      inputTokens: 100,
      outputTokens: 2,
      cacheReadTokens: 80,
      ...(format.kind === 'anthropic' ? { cacheWriteTokens: 15 } : {}),
    });
  });

  it('hands arguments that are not JSON on as they are', async () => {
    say({ calls: [{ id: 'c', name: 'add', pieces: ['{"a": 1', ', oops'] }] });
    const { answer } = await ask(modelOf(format), request());
    expect(answer.calls).toEqual([{ id: 'c', name: 'add', arguments: null, invalid: '{"a": 1, oops' }]);
  });

  it('takes a call without any arguments as one with none', async () => {
    say({ calls: [{ id: 'c', name: 'noop', pieces: [] }] });
    expect((await ask(modelOf(format), request())).answer.calls).toEqual([
      { id: 'c', name: 'noop', arguments: {} },
    ]);
  });

  it('makes ids of its own where the provider repeats one, of the answer or of an earlier step', async () => {
    say({
      calls: [
        { id: 'call_0', name: 'one', pieces: ['{"n":1}'] },
        { id: 'odd id', name: 'two', pieces: ['{"n":2}'] },
      ],
    });
    const said = {
      role: 'assistant' as const,
      text: '',
      calls: [{ id: 'call_0', name: 'one', arguments: {} }],
    };
    const result = { role: 'tool' as const, callId: 'call_0', name: 'one', output: 1, isError: false };
    const { answer, deltas } = await ask(
      modelOf(format),
      request({ messages: [user('go'), said, result], step: 2 }),
    );
    const end = RUN_ID.slice(-12);
    expect(answer.calls).toEqual([
      { id: `call_${end}_2_0`, name: 'one', arguments: { n: 1 } },
      { id: `call_${end}_2_1`, name: 'two', arguments: { n: 2 } },
    ]);
    expect(streamedInput(deltas, `call_${end}_2_1`)).toBe('{"n":2}');
  });

  it.each([
    { finish: 'stop', finishReason: 'stop' },
    { finish: 'length', finishReason: 'length' },
    { finish: 'filter', finishReason: 'content_filter' },
  ] as const)('returns an empty answer that ends with $finish', async ({ finish, finishReason }) => {
    say({ finish });
    const { answer, deltas } = await ask(modelOf(format), request());
    expect(answer).toMatchObject({ text: '', calls: [], finishReason });
    expect(deltas).toEqual([]);
  });

  const refusals: {
    what: string;
    status: number;
    type?: string;
    message?: string;
    headers?: Record<string, string>;
    expected: { code: string; retryable: boolean; after?: number };
  }[] = [
    {
      what: 'too many requests, wait in seconds',
      status: 429,
      headers: { 'retry-after': '7' },
      expected: { code: 'rate_limited', retryable: true, after: 7000 },
    },
    {
      what: 'too many requests, wait in milliseconds',
      status: 429,
      headers: { 'retry-after-ms': '250', 'retry-after': '1' },
      expected: { code: 'rate_limited', retryable: true, after: 250 },
    },
    { what: 'too many requests, no wait', status: 429, expected: { code: 'rate_limited', retryable: true } },
    {
      what: 'too many requests, an unreadable wait',
      status: 429,
      headers: { 'retry-after': 'soon' },
      expected: { code: 'rate_limited', retryable: true },
    },
    {
      what: 'no money',
      status: 429,
      type: 'insufficient_quota',
      expected: { code: 'model_quota', retryable: false },
    },
    { what: 'an error of the server', status: 500, expected: { code: 'model_unavailable', retryable: true } },
    { what: 'a gateway', status: 502, expected: { code: 'model_unavailable', retryable: true } },
    {
      what: 'an overload',
      status: 529,
      headers: { 'retry-after': '2' },
      expected: { code: 'model_overloaded', retryable: true, after: 2000 },
    },
    { what: 'a bad request', status: 400, expected: { code: 'model_rejected', retryable: false } },
    { what: 'no such model', status: 404, expected: { code: 'model_rejected', retryable: false } },
    { what: 'an unprocessable request', status: 422, expected: { code: 'model_rejected', retryable: false } },
    { what: 'a wrong key', status: 401, expected: { code: 'model_auth', retryable: false } },
    { what: 'a key without the right', status: 403, expected: { code: 'model_auth', retryable: false } },
    {
      what: 'too long a prompt',
      status: 400,
      message: "This model's maximum context length is 4096 tokens.",
      expected: { code: 'context_too_long', retryable: false },
    },
    {
      what: 'a prompt that a filter refuses',
      status: 400,
      type: 'content_filter',
      expected: { code: 'content_filter', retryable: false },
    },
    { what: 'too large a body', status: 413, expected: { code: 'context_too_long', retryable: false } },
    {
      what: 'a redirect, which is not followed',
      status: 307,
      headers: { location: 'http://127.0.0.1:9/elsewhere' },
      expected: { code: 'model_rejected', retryable: false },
    },
  ];
  it.each(refusals)(
    '$status: $what → $expected.code',
    async ({ status, type, message, headers, expected }) => {
      const said = message ?? `Something about ${KEY} and sk-abc***xyz.`;
      wire.replies(refuse(status, format.refusal({ type: type ?? 'some_error', message: said }), headers));
      const error = await failed(ask(modelOf(format), request()));
      expect(error.code).toBe(expected.code);
      expect(error instanceof RetryableError).toBe(expected.retryable);
      expect((error as RetryableError).retryAfterMs).toBe(expected.after);
      expect(error.message).toContain(message ?? 'Something about [key] and [key].');
      once();
    },
  );

  it('reads refusals in whatever body they come, and shortens them', async () => {
    const of = async (body: Parameters<typeof refuse>[1]) => {
      wire.replies(refuse(400, body));
      return (await failed(ask(modelOf(format), request()))).message;
    };
    expect(await of({ error: 'model "m-1" not found' })).toContain('model "m-1" not found');
    expect(await of({ detail: 'Not here.' })).toContain('Not here.');
    expect(await of({ detail: [{ loc: ['body'], msg: 'required' }] })).toContain('required');
    expect(await of({ message: 'x'.repeat(5000) })).toHaveLength(
      (await of({ message: 'y'.repeat(9000) })).length,
    );
    expect(await of('<html><body>Bad Request</body></html>')).not.toContain('<html>');
    expect(await of('')).toMatch(/refused the request for "m-1" \(400\)/);
  });

  it('reads no more than the beginning of a refusal that never ends', async () => {
    let given = 0;
    wire.replies((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      const more = () => {
        do given += 65_536;
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    expect((await failed(ask(modelOf(format), request()))).code).toBe('model_rejected');
    await wire.heard[0]!.closed;
    expect(given).toBeLessThan(32 * 1024 * 1024);
  });

  it.each([
    { type: 'rate_limit_error', code: 'rate_limited', retryable: true },
    { type: 'overloaded_error', code: 'model_overloaded', retryable: true },
    { type: 'server_error', code: 'model_unavailable', retryable: true },
    { type: 'invalid_request_error', code: 'model_rejected', retryable: false },
    { type: 'context_length_exceeded', code: 'context_too_long', retryable: false },
    { type: 'content_filter', code: 'content_filter', retryable: false },
  ])(
    'an error inside the stream ($type), before or after the first word',
    async ({ type, code, retryable }) => {
      const events = format.events({ text: ['first', 'second'] });
      const at = events.findIndex((event) => event.includes('first')) + 1;
      for (const before of [[], events.slice(0, at)]) {
        wire.replies(stream([...before, format.failure({ type, message: 'It broke.' })]));
        const error = await failed(ask(modelOf(format), request()));
        expect({ code: error.code, retryable: error instanceof RetryableError }).toEqual({ code, retryable });
        expect(error.message).toContain('It broke.');
      }
    },
  );

  it('is tried again where the stream ends or is cut at any event', async () => {
    const events = format.events(WHOLE);
    // What follows the last event with content is no loss: the answer was whole.
    const whole = events.findLastIndex((event) =>
      /finish_reason":"tool_calls|message_stop|completed"/.test(event),
    );
    expect(whole).toBeGreaterThan(8);
    for (let count = 0; count < whole; count++) {
      for (const last of ['end', 'cut'] as const) {
        wire.replies(stream(events.slice(0, count), { last }));
        const error = await failed(ask(modelOf(format), request()));
        expect(error, `${last} after ${count}`).toBeInstanceOf(RetryableError);
        expect(['model_stream_cut', 'model_bad_response', 'model_unreachable']).toContain(error.code);
      }
    }
  });

  it('is tried again where an event is cut in two', async () => {
    const text = format.events(WHOLE).join('');
    const cut = text.slice(0, Math.floor(text.length / 2));
    wire.replies(stream([cut], { last: 'cut' }));
    expect(await failed(ask(modelOf(format), request()))).toBeInstanceOf(RetryableError);
  });

  it.each([
    { what: 'no JSON', events: ['data: {"a":\n\n'] },
    { what: 'other JSON', events: ['data: {"hello":"world"}\n\n'] },
    { what: 'no events', events: ['\u0000\u0001 what? \n'.repeat(100)] },
    { what: 'nothing', events: [] },
  ])('is tried again where it sends $what', async ({ events }) => {
    wire.replies(stream(events));
    const error = await failed(ask(modelOf(format), request()));
    expect(error).toBeInstanceOf(RetryableError);
  });

  it('is tried again where garbage comes in the middle', async () => {
    const events = format.events(WHOLE);
    wire.replies(stream([...events.slice(0, 4), 'data: {{{\n\n', ...events.slice(4)]));
    expect((await failed(ask(modelOf(format), request()))).code).toBe('model_bad_response');
  });

  it('says so where a page or a document comes in the place of a stream', async () => {
    wire.replies(refuse(200, '<html>Log in</html>'));
    const page = await failed(ask(modelOf(format), request()));
    expect(page).toMatchObject({ code: 'model_bad_response', hint: expect.stringContaining('base URL') });
    expect(page).toBeInstanceOf(RetryableError);
    wire.replies(refuse(200, { error: { message: 'Slow down.', code: 429 } }));
    expect(await failed(ask(modelOf(format), request()))).toMatchObject({ code: 'rate_limited' });
  });

  it('reads a stream of the wrong type all the same', async () => {
    say({ text: ['ok'] }, { type: 'text/plain' });
    expect((await ask(modelOf(format), request())).answer.text).toBe('ok');
  });

  it('cannot be reached, or hangs up', async () => {
    wire.replies(hangUp);
    expect(await failed(ask(modelOf(format), request()))).toMatchObject({ code: 'model_unreachable' });
    const nobody = await failed(ask(modelOf(format, { baseUrl: 'http://127.0.0.1:1' }), request()));
    expect(nobody).toMatchObject({ code: 'model_unreachable' });
    expect(nobody).toBeInstanceOf(RetryableError);
  });

  it.each(['before the first event', 'in the middle'])(
    'is given up when told to: silence %s',
    async (when) => {
      const events = format.events({ text: ['first', 'second'] });
      const at = events.findIndex((event) => event.includes('first')) + 1;
      wire.replies(stream(when === 'in the middle' ? events.slice(0, at) : [], { last: 'silence' }));
      const controller = new AbortController();
      const reason = new Error('stalled');
      const asked = ask(modelOf(format), request(), controller.signal);
      await expect.poll(() => wire.heard.length).toBe(1);
      controller.abort(reason);
      await expect(asked).rejects.toBe(reason);
      await wire.heard[0]!.closed;
    },
  );

  it('is not called at all where it is given up before', async () => {
    const reason = new Error('before');
    await expect(ask(modelOf(format), request(), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(wire.heard).toHaveLength(0);
  });
});

describe('ends of streams that providers do not close', () => {
  it('do not hold the answer of Anthropic', async () => {
    const format = formats.find(({ kind }) => kind === 'anthropic')!;
    wire.replies(stream(format.events({ text: ['ok'] }), { last: 'silence' }));
    expect((await ask(modelOf(format), buildRequest())).answer.text).toBe('ok');
    await wire.heard[0]!.closed;
  });
});

describe('the schema of an answer', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  const heardFor = async (
    kind: string,
    changes: Partial<ModelRequest>,
    said: Said = { text: ['{"a":"x"}'] },
  ) => {
    const format = formats.find((one) => one.kind === kind)!;
    wire.replies(stream(format.events(said)));
    const request = buildRequest({
      model: 'm-1',
      tools: [buildTool('add')],
      answerSchema: schema,
      ...changes,
    });
    const { answer } = await ask(modelOf(format), request);
    expect(answer).toMatchObject({ text: '{"a":"x"}', calls: [] });
    return wire.heard.shift()!.body as Record<string, unknown>;
  };

  it('goes to OpenAI as it is, with tools beside it; one that is no object stays in the prompt', async () => {
    const sent = await heardFor('openai', {});
    expect(sent.text).toMatchObject({
      format: { type: 'json_schema', strict: false, name: 'answer', schema },
    });
    expect(sent.tools).toHaveLength(1);
    expect(await heardFor('openai', { answerSchema: { type: 'array' } })).not.toHaveProperty('text');
  });

  it('goes to Anthropic in the form that the model takes, or not at all beside reasoning', async () => {
    const known = await heardFor('anthropic', { model: 'claude-sonnet-4-5' });
    expect(known.output_config).toMatchObject({
      format: { type: 'json_schema', schema: { required: ['a'] } },
    });
    const calls = [{ id: 'c1', name: 'json', pieces: ['{"a":', '"x"}'] }];
    const other = await heardFor('anthropic', {}, { calls });
    expect(other.tools).toMatchObject([{ name: 'add' }, { name: 'json', input_schema: schema }]);
    const thinking = await heardFor('anthropic', { reasoningEffort: 'high' });
    expect(thinking.tools).toHaveLength(1);
  });

  it('is left to the prompt where nobody knows what the server takes', async () => {
    expect(await heardFor('openai_compatible', {})).not.toHaveProperty('response_format');
  });
});
