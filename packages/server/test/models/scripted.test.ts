import { describe, expect, it, vi } from 'vitest';
import { RetryableError, TroupeError } from '../../src/base/index.ts';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import { createScripted } from '../../src/models/index.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { afterTools, ask, buildRequest, RUN_ID, streamedInput, user } from './ask.ts';

function play(turn: Turn, request = buildRequest()) {
  return ask(createScripted(() => turn).provider('x'), request);
}

describe('a turn', () => {
  it('gives exactly what it says', async () => {
    const { answer, deltas } = await play({
      chunks: ['He', 'll', 'o'],
      reasoning: 'A greeting.',
      calls: [{ id: 'mine', name: 'add', arguments: [1, 2] }],
      usage: { inputTokens: 7, outputTokens: 3 },
      finishReason: 'other',
    });
    expect(answer).toEqual({
      text: 'Hello',
      reasoning: 'A greeting.',
      calls: [{ id: 'mine', name: 'add', arguments: [1, 2] }],
      usage: { inputTokens: 7, outputTokens: 3 },
      finishReason: 'other',
    });
    expect(deltas).toEqual([
      { type: 'reasoning', text: 'A greeting.' },
      { type: 'text', text: 'He' },
      { type: 'text', text: 'll' },
      { type: 'text', text: 'o' },
      { type: 'tool_input', callId: 'mine', name: 'add', text: '[1,2]' },
    ]);
  });

  it('fills in what it leaves out', async () => {
    const { answer } = await play(
      { calls: [{ name: 'a' }, { name: 'b', arguments: null }] },
      buildRequest({ step: 3 }),
    );
    const end = RUN_ID.slice(-12);
    expect(answer.calls).toEqual([
      { id: `call_${end}_3_0`, name: 'a', arguments: {} },
      { id: `call_${end}_3_1`, name: 'b', arguments: null },
    ]);
    expect(answer).toMatchObject({ text: '', finishReason: 'tool_calls' });
    expect((await play({})).answer).toMatchObject({ text: '', calls: [], finishReason: 'stop' });
    expect((await play({})).deltas).toEqual([]);
  });

  it('gives arguments that are no JSON', async () => {
    const { answer, deltas } = await play({ calls: [{ id: 'c', name: 'add', invalid: '{"a":' }] });
    expect(answer.calls).toEqual([{ id: 'c', name: 'add', arguments: null, invalid: '{"a":' }]);
    expect(streamedInput(deltas, 'c')).toBe('{"a":');
  });

  it('streams arguments in the given pieces', async () => {
    const chunks = ['{"text":"Good', ' day"}'];
    const { deltas } = await play({
      calls: [{ id: 'c', name: 'send_message', arguments: { text: 'Good day' }, chunks }],
    });
    expect(deltas.map((delta) => delta.text)).toEqual(chunks);
  });

  it.each<Turn>([
    { text: 'Hello', chunks: ['Hell'] },
    { calls: [{ name: 'a', arguments: { b: 1 }, chunks: ['{}'] }] },
  ])('refuses chunks that do not add up: %j', async (turn) => {
    await expect(play(turn)).rejects.toMatchObject({ code: 'invalid_script' });
  });

  it('counts four code units as a token where no usage is given', async () => {
    const request = buildRequest({ system: '12345', messages: [user('1234')] });
    const { answer } = await play({ text: '12345', reasoning: '123' }, request);
    expect(answer.usage).toEqual({ inputTokens: 3, outputTokens: 2 });
  });
});

describe('faults', () => {
  it.each([true, false])('throws its error with the class that decides the retry (%s)', async (retryable) => {
    const error = { code: 'overloaded', message: 'Too busy.', retryable, retryAfterMs: 250 };
    const thrown = await play({ text: 'never', error }).catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(TroupeError);
    expect(thrown instanceof RetryableError).toBe(retryable);
    expect(thrown).toMatchObject({ code: 'overloaded', message: 'Too busy.' });
    if (retryable) expect(thrown).toMatchObject({ retryAfterMs: 250 });
  });

  it.each([
    [0, []],
    [2, ['a', 'b']],
    [3, ['a', 'b', 'c']],
    [99, ['a', 'b', 'c']],
  ])('breaks the stream after %i pieces', async (failAfterChunks, expected) => {
    const onDelta = vi.fn();
    const model = createScripted([{ chunks: ['a', 'b', 'c'], failAfterChunks }]).provider('x');
    const generated = model.generate(buildRequest(), { signal: new AbortController().signal, onDelta });
    await expect(generated).rejects.toBeInstanceOf(RetryableError);
    expect(onDelta.mock.calls.map(([delta]) => delta.text)).toEqual(expected);
  });

  it('stalls until aborted, at once or in the middle of the stream', async () => {
    for (const failAfterChunks of [0, 1]) {
      const controller = new AbortController();
      const onDelta = vi.fn();
      const model = createScripted([{ chunks: ['a', 'b'], stallForever: true, failAfterChunks }]).provider(
        'x',
      );
      const generated = model.generate(buildRequest(), { signal: controller.signal, onDelta });
      const settled = vi.fn();
      generated.then(settled, settled);
      await new Promise((resolve) => setImmediate(resolve));
      expect(settled).not.toHaveBeenCalled();
      expect(onDelta).toHaveBeenCalledTimes(failAfterChunks);
      controller.abort('stalled');
      await expect(generated).rejects.toBe('stalled');
    }
  });

  it('ends after so many attempts at the same step', async () => {
    const error = { code: 'busy', message: 'Busy.', retryable: true };
    const model = createScripted([{ text: 'at last', error, faultTimes: 2 }]).provider('x');
    await expect(ask(model, buildRequest())).rejects.toMatchObject({ code: 'busy' });
    await expect(ask(model, buildRequest())).rejects.toMatchObject({ code: 'busy' });
    expect((await ask(model, buildRequest())).answer.text).toBe('at last');
    await expect(ask(model, buildRequest({ requestKey: 'other' }))).rejects.toMatchObject({ code: 'busy' });
  });

  it('waits at a gate, and leaves it when aborted, also when the gate breaks later', async () => {
    const gate = Promise.withResolvers<void>();
    const model = createScripted([{ text: 'through', gate: gate.promise }]).provider('x');
    const controller = new AbortController();
    const left = ask(model, buildRequest(), controller.signal);
    const passed = ask(model, buildRequest());
    controller.abort('left');
    await expect(left).rejects.toBe('left');
    gate.resolve();
    expect((await passed).answer.text).toBe('through');

    const broken = Promise.withResolvers<void>();
    const other = new AbortController();
    const gated = createScripted([{ gate: broken.promise }]).provider('x');
    const abandoned = ask(gated, buildRequest(), other.signal);
    other.abort('left');
    await expect(abandoned).rejects.toBe('left');
    broken.reject(new Error('nobody listens'));
  });
});

describe('scripts', () => {
  it('is found by the name of the model, with or without "scripted:"', async () => {
    const scripted = createScripted({ a: [{ text: 'A' }] });
    scripted.add('b', [{ text: 'B' }]);
    expect((await ask(scripted.provider('a'), buildRequest())).answer.text).toBe('A');
    expect((await ask(scripted.provider('scripted:b'), buildRequest())).answer.text).toBe('B');
    await expect(ask(scripted.provider('c'), buildRequest())).rejects.toMatchObject({
      code: 'unknown_script',
      hint: 'Registered here: a, b.',
    });
  });

  it('may be a function of the request and the attempt', async () => {
    const model = createScripted((request, attempt) => ({ text: `${request.step}.${attempt}` })).provider(
      'x',
    );
    expect((await ask(model, buildRequest())).answer.text).toBe('1.1');
    expect((await ask(model, buildRequest())).answer.text).toBe('1.2');
    expect((await ask(model, buildRequest({ step: 2, requestKey: 'key-2' }))).answer.text).toBe('2.1');
  });

  it('ends with an error that says so', async () => {
    const model = createScripted([{ calls: [{ name: 'a' }] }]).provider('x');
    const first = await ask(model, buildRequest());
    const next = afterTools(buildRequest(), first.answer, [{ output: 1 }]);
    await expect(ask(model, next)).rejects.toMatchObject({
      code: 'script_ended',
      message: 'The script has 1 turns and was asked for turn 2.',
    });
  });

  it.each([
    ['not closed', 'script:[{"text":"a"}'],
    ['no JSON', 'script:[{text}]'],
    ['a misspelt field', 'script:[{"txt":"a"}]'],
    ['no turns', 'script:[1]'],
  ])('refuses a carried script that is %s', async (_, text) => {
    const model = createScripted().provider('x');
    const request = buildRequest({ messages: [user(text)] });
    await expect(ask(model, request)).rejects.toMatchObject({ code: 'invalid_script' });
    expect(model.maxInputTokens!(request)).toBeGreaterThan(0);
  });

  it('tells the scripted usage beforehand', async () => {
    const model = createScripted([{ usage: { inputTokens: 5000, outputTokens: 1 } }]).provider('x');
    expect(model.maxInputTokens!(buildRequest())).toBe(5000);
  });
});

describe('what is recorded', () => {
  it('keeps a copy of every request, as it was when it came', async () => {
    const scripted = createScripted([{ text: 'a' }]);
    const request = buildRequest();
    await ask(scripted.provider('x'), request);
    request.messages.push(user('later'));
    expect(scripted.requests).toEqual([buildRequest()]);
  });

  it('keeps nothing where it is told so', async () => {
    const scripted = createScripted([{ text: 'a' }], { record: false });
    await ask(scripted.provider('x'), buildRequest());
    expect(scripted.requests).toEqual([]);
  });

  it('waits for the hook before it answers, and throws what the hook throws', async () => {
    const order: string[] = [];
    const written = Promise.withResolvers<void>();
    const onRequest = async (request: ModelRequest, attempt: number) => {
      order.push(`asked ${request.step} ${attempt}`);
      await written.promise;
      if (attempt === 2) throw new Error('crash');
    };
    const model = createScripted([{ text: 'a' }], { onRequest }).provider('x');
    const asked = ask(model, buildRequest()).then(() => order.push('answered'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual(['asked 1 1']);
    written.resolve();
    await asked;
    expect(order).toEqual(['asked 1 1', 'answered']);
    await expect(ask(model, buildRequest())).rejects.toThrow('crash');
  });

  it('leaves a hook that never returns when aborted', async () => {
    const controller = new AbortController();
    const model = createScripted([{}], { onRequest: () => new Promise(() => {}) }).provider('x');
    const asked = ask(model, buildRequest(), controller.signal);
    controller.abort('killed');
    await expect(asked).rejects.toBe('killed');
  });
});
