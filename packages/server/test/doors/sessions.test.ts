import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { titleFrom } from '../../src/doors/sessions/title.ts';
import { RUN_KEY, turnsFor } from '../../src/doors/sessions/turns.ts';
import type { StoredMessage } from '../../src/store/index.ts';

const shown = (run: string, log: StoredMessage[]) => {
  const { earlier, own } = turnsFor({ id: run, triggerSeq: null }, log);
  return [...earlier, own].map(({ messages }) => messages);
};

describe('the title of a session', () => {
  it.each([
    ['How much is 2+2?', 'How much is 2+2?'],
    ['Hello there. I have a question.', 'Hello there.'],
    ['Version 1.2 is out', 'Version 1.2 is out'],
    ['  First   line \n second line', 'First line'],
    ['今日は。お元気ですか。', '今日は。お元気ですか。'],
    ['', null],
    [' \n ', null],
    [null, null],
  ])('%j is called %j', (text, title) => expect(titleFrom(text)).toBe(title));

  it('is cut at a word, and holds at most 60 characters', () => {
    const title = titleFrom('Please tell me everything that you know about the history of the town of Ulm')!;
    expect(title).toBe('Please tell me everything that you know about the history…');
    expect(titleFrom('x'.repeat(500))).toBe(`${'x'.repeat(59)}…`);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const made = titleFrom(text);
        if (made === null) return;
        expect(made.length).toBeGreaterThan(0);
        expect(made.length).toBeLessThanOrEqual(60);
        expect(made.isWellFormed() || !text.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('turns', () => {
  const texts = (turns: StoredMessage[][]) => turns.map((turn) => turn.map(({ id }) => id));

  it('put an answer after the question that it answers, whatever came in between', () => {
    const log = [asks('A', 'a'), asks('B', 'b'), says('a1', 'a'), asks('C', 'c'), says('b1', 'b')];
    expect(texts(shown('a', log.slice(0, 2)))).toEqual([['A']]);
    expect(texts(shown('b', log.slice(0, 4)))).toEqual([['A', 'a1'], ['B']]);
    expect(texts(shown('c', log))).toEqual([['A', 'a1'], ['B', 'b1'], ['C']]);
  });

  it('keep what was asked before and never answered', () => {
    const log = [asks('A', 'a'), asks('B', 'b'), says('b1', 'b'), asks('C', 'c')];
    expect(texts(shown('c', log))).toEqual([['A'], ['B', 'b1'], ['C']]);
  });

  it('put last what was said while the last answer was being written', () => {
    const log = [asks('A', 'a'), asks('B', null, 'a'), says('a1', 'a')];
    expect(texts(shown('a', log))).toEqual([['A', 'a1', 'B']]);
    expect(texts(shown('a', [asks('A', 'a'), asks('B', null, 'a')]))).toEqual([['A', 'B']]);
  });
});

let seq = 0;

/** A question of a user, which starts a run or is put to one at work. */
function asks(id: string, starts: string | null, to: string | null = null): StoredMessage {
  return message({ id, role: 'user', runId: to, metadata: starts ? { [RUN_KEY]: starts } : null });
}

function says(id: string, run: string): StoredMessage {
  return message({ id, role: 'assistant', runId: run, step: 1 });
}

function message(given: Partial<StoredMessage> & { id: string }): StoredMessage {
  seq += 1;
  const rest = { callId: null, sender: null, runId: null, step: null, metadata: null };
  return { seq, role: 'user', content: { text: given.id }, ...rest, ...given };
}
