import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Model, ModelRequest } from '../../src/kernel/ports.ts';
import { createDemo, createScripted } from '../../src/models/index.ts';
import { ask, buildRequest, buildTool, streamedInput, streamedText, user } from './ask.ts';

// What the port promises of every model, asked of each model of the room, slow ones under fake timers.

const SCRIPT = [
  {
    reasoning: 'Let me see.',
    chunks: ['The', ' time', ' is'],
    calls: [{ name: 'noop', arguments: { a: 1 } }, { name: 'noop' }],
    delayMs: 20,
    delayBetweenChunksMs: 20,
  },
];

const cases: { name: string; model: (delayMs: number) => Model; requests: ModelRequest[] }[] = [
  {
    name: 'scripted',
    model: (delayMs) =>
      createScripted(SCRIPT.map((turn) => ({ ...turn, delayMs, delayBetweenChunksMs: delayMs }))).provider(
        'x',
      ),
    requests: [buildRequest()],
  },
  {
    name: 'demo',
    model: (delayMs) => createDemo({ delayMs }),
    requests: [
      buildRequest({ messages: [user('who are you?')] }),
      buildRequest({
        messages: [user('call noop {"a":"so many words that the stream takes a while"} and call noop')],
        tools: [buildTool('noop')],
      }),
      buildRequest({ messages: [user('who are you?')], tools: [buildTool('send_message')] }),
    ],
  },
];

describe.each(cases)('$name keeps the promises of the port', ({ model, requests }) => {
  it('streams pieces that add up to the answer exactly', async () => {
    for (const request of requests) {
      const { answer, deltas } = await ask(model(0), request);
      expect(answer.text + answer.calls.length).not.toBe('0');
      expect(streamedText(deltas)).toBe(answer.text);
      for (const call of answer.calls) {
        expect(streamedInput(deltas, call.id)).toBe(JSON.stringify(call.arguments));
      }
      expect(deltas.length).toBeGreaterThan(1);
    }
  });

  it('gives calls ids that are unique and the same in another process', async () => {
    for (const request of requests) {
      const [one, other] = [await ask(model(0), request), await ask(model(0), request)];
      expect(one).toEqual(other);
      const ids = one.answer.calls.map((call) => call.id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('never uses more input than it said beforehand', async () => {
    for (const request of requests) {
      const most = model(0).maxInputTokens?.(request);
      const { answer } = await ask(model(0), request);
      expect(answer.usage.inputTokens).toBeLessThanOrEqual(most!);
      expect(answer.usage.outputTokens).toBeGreaterThan(0);
    }
  });

  it('rejects with the reason, without a word, where the signal has aborted before', async () => {
    const reason = new Error('canceled before');
    const onDelta = vi.fn();
    const generated = model(0).generate(requests[0]!, { signal: AbortSignal.abort(reason), onDelta });
    await expect(generated).rejects.toBe(reason);
    expect(onDelta).not.toHaveBeenCalled();
  });

  describe('while it waits', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it.each([0, 1, 25, 45, 61])(
      'aborts at %i ms with the reason and leaves no timer or listener',
      async (ms) => {
        for (const request of requests) {
          const controller = new AbortController();
          const onDelta = vi.fn();
          const reason = new Error(`canceled at ${ms}`);
          const generated = model(20).generate(request, { signal: controller.signal, onDelta });
          const rejected = expect(generated).rejects.toBe(reason);
          await vi.advanceTimersByTimeAsync(ms);
          expect(vi.getTimerCount()).toBe(1);
          const before = onDelta.mock.calls.length;
          controller.abort(reason);
          await rejected;
          expect(vi.getTimerCount()).toBe(0);
          expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
          await vi.advanceTimersByTimeAsync(10_000);
          expect(onDelta).toHaveBeenCalledTimes(before);
        }
      },
    );

    it('leaves no timer or listener after an answer', async () => {
      const controller = new AbortController();
      const asked = ask(model(20), requests[0]!, controller.signal);
      await vi.runAllTimersAsync();
      await asked;
      expect(vi.getTimerCount()).toBe(0);
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    });
  });
});

describe('demo, whatever is said', () => {
  const tools = ['send_message', 'current_time', 'create_agent', 'final_answer', 'noop'].map((name) =>
    buildTool(name),
  );
  const words = fc.constantFrom(
    'call',
    'noop',
    '{"a":1}',
    'delegate',
    'to',
    '@x',
    '2+',
    '(',
    '9',
    'my name is',
    'time',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(words).map((list) => list.join(' ')),
  );

  it('stays within the limits and answers the same twice', async () => {
    const demo = createDemo({ delayMs: 0 });
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.string({ unit: 'binary' }),
        fc.subarray(tools),
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom('auto' as const, 'none' as const),
        async (said, system, given, maxOutputTokens, toolChoice) => {
          const request = buildRequest({
            messages: [user(said)],
            system,
            tools: given,
            maxOutputTokens,
            toolChoice,
          });
          const { answer, deltas } = await ask(demo, request);
          expect(answer.usage.outputTokens).toBeLessThanOrEqual(maxOutputTokens);
          expect(answer.usage.inputTokens).toBeLessThanOrEqual(demo.maxInputTokens!(request));
          expect(streamedText(deltas)).toBe(answer.text);
          for (const call of answer.calls) {
            expect(given.map((tool) => tool.name)).toContain(call.name);
            expect(streamedInput(deltas, call.id)).toBe(JSON.stringify(call.arguments));
          }
          if (toolChoice === 'none') expect(answer.calls).toEqual([]);
          expect((await ask(demo, request)).answer).toEqual(answer);
        },
      ),
      { numRuns: 300 },
    );
  });
});
