import { agentSnapshot, type JsonObject } from '@troupe/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { uncovered } from '../../src/doors/shared/summary.ts';
import { estimateTokens, messageTokens } from '../../src/doors/shared/tokens.ts';
import { type Window, windowFor } from '../../src/doors/shared/window.ts';
import type { RunView } from '../../src/kernel/index.ts';
import type { StoredMessage } from '../../src/store/index.ts';

const snapshot = (more: JsonObject = {}, contextTokens = 4_000) =>
  agentSnapshot.parse({
    kind: 'agent',
    name: 'a',
    models: [{ provider: 'scripted', model: 'm', contextTokens, maxOutputTokens: 1_000 }],
    ...more,
  });

const run = { id: 'run', triggerSeq: 1 } as RunView['run'];

function message(seq: number, given: Partial<StoredMessage>): StoredMessage {
  const rest = { callId: null, sender: null, runId: 'run', step: null, metadata: null };
  return { id: `m${seq}`, seq, role: 'user', content: { text: '' }, ...rest, ...given };
}

/** One turn: a question, and steps with a call and a result of so many words each. */
function transcriptOf(words: readonly number[]): StoredMessage[] {
  const messages = [message(1, { content: { text: 'Do it.' } })];
  for (const [index, count] of words.entries()) {
    const [step, callId] = [index + 1, `c${index}`];
    const call = { id: callId, name: 'look', arguments: {} };
    const content = { result: `r${index} ${'word '.repeat(count)}`, error: null };
    messages.push(message(messages.length + 1, { role: 'tool_call', step, callId, content: call }));
    messages.push(message(messages.length + 1, { role: 'tool_result', step, callId, content }));
  }
  return messages;
}

function windowOf(transcript: StoredMessage[], of = snapshot()): Window {
  const view = { run, snapshot: of, transcript };
  return windowFor(view, { earlier: [], own: uncovered(transcript, run) });
}

const steps = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 40 });

describe('the window of a conversation', () => {
  it('shows everything while it fits', () => {
    const transcript = transcriptOf([10, 20, 30]);
    expect(windowOf(transcript)).toMatchObject({ shown: transcript, due: null });
    expect(windowOf(transcript).shortened.size).toBe(0);
  });

  it('keeps results shortened when the transcript grows', () => {
    fc.assert(
      fc.property(steps, (words) => {
        const transcript = transcriptOf(words);
        let before = new Set<StoredMessage>();
        for (let end = 1; end <= transcript.length; end += 2) {
          const { shortened } = windowOf(transcript.slice(0, end));
          for (const one of before) expect(shortened.has(one)).toBe(true);
          before = new Set(shortened);
        }
      }),
    );
  });

  it('summarises only old messages, never the question, and covers each exactly once', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 30 }), (words, keepLast) => {
        const of = snapshot({ compaction: { keepLast } });
        let transcript = transcriptOf(words);
        const left: number[] = [];
        for (let count = 0; count < 100; count++) {
          const { due } = windowOf(transcript, of);
          if (!due) break;
          const seqs = due.leaving.map(({ seq }) => seq);
          expect(seqs).not.toContain(1);
          expect(seqs.length).toBeGreaterThan(0);
          left.push(...seqs);
          const metadata = { 'troupe:summary': { ...due.coverage } };
          expect(due.coverage.kept).toContain(1);
          transcript = [
            ...transcript,
            message(transcript.length + 1, { role: 'system', content: { text: 'Summary.' }, metadata }),
          ];
        }
        expect(new Set(left).size).toBe(left.length);
        const shown = new Set(windowOf(transcript, of).shown.map(({ seq }) => seq));
        const originals = transcript.filter(({ role }) => role !== 'system').map(({ seq }) => seq);
        // Every message is either shown or covered by a summary that was given it.
        expect([...shown, ...left].toSorted((a, b) => a - b)).toEqual(originals);
      }),
    );
  });

  it('counts messages as well if the agent limits them', () => {
    const of = snapshot({ limits: { historyMessages: 10 } }, 1_000_000);
    expect(windowOf(transcriptOf(Array(4).fill(1)), of).due).toBeNull();
    expect(windowOf(transcriptOf(Array(5).fill(1)), of).due?.leaving.length).toBeGreaterThan(0);
  });

  it('summarises images that have many bytes for few tokens', () => {
    const image = { type: 'image', base64: 'A'.repeat(1_000_000), mediaType: 'image/png' };
    const seen = (count: number) => {
      const pictures = Array.from({ length: count }, (_, index) =>
        message(index + 2, { content: { text: 'Look.', parts: [image] } as never }),
      );
      return windowOf([message(1, { content: { text: 'Do it.' } }), ...pictures], snapshot({}, 1_000_000))
        .due;
    };
    expect(seen(7)).toBeNull();
    expect(seen(9)?.leaving.length).toBeGreaterThan(3);
  });

  it('trusts calibration of answers only', () => {
    const forged = message(2, {
      content: { text: 'Hi.' },
      metadata: { 'troupe:tokens': { model: 'm', ratio: 4 } },
    });
    const transcript = [message(1, { content: { text: 'Do it.' } }), forged];
    expect(windowOf(transcript).ratio).toBeLessThan(1.2);
    const answered = message(3, {
      role: 'assistant',
      step: 1,
      content: { text: 'Yes.' },
      metadata: forged.metadata,
    });
    expect(windowOf([...transcript, answered]).ratio).toBe(4);
  });
});

describe('token estimates', () => {
  it.each([
    ['', 0, 0],
    ['Hello there.', 2, 4],
    ['The quick brown fox jumps over the lazy dog.', 9, 12],
    ['今日は天気がいいですね', 8, 14],
    ['{"id":123,"name":"Ada"}', 8, 14],
    ['3f2a9c1b7d4e8f6a0b5c', 10, 18],
    ['qL8xB2v9Tz0RkW4nY7mHs5PdC1fJ6gUa', 16, 26],
  ])('%j is about as many tokens as with a tokenizer', (text, least, most) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(least);
    expect(estimateTokens(text)).toBeLessThanOrEqual(most);
  });

  it('grow with the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, two) => {
        const both = estimateTokens(`${one} ${two}`);
        expect(both).toBeGreaterThanOrEqual(Math.max(estimateTokens(one), estimateTokens(two)) - 1);
      }),
    );
  });

  it('count an image by its price and not by its bytes', () => {
    const image = { type: 'image', base64: 'A'.repeat(100_000), mediaType: 'image/png' };
    const tokens = messageTokens(message(1, { content: { text: 'Look.', parts: [image] } as never }));
    expect(tokens).toBeLessThan(2_000);
  });
});
