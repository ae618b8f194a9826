import type { Session } from '@troupe/protocol';

import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RetryableError } from '../../src/base/index.ts';
import type { ModelMessage, ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { reap } from '../../src/store/queries/workers.ts';
import { Random } from '../simulation/random.ts';
import { SessionFixture } from './session-fixture.ts';

let fixture: SessionFixture;
/** What the model answers to its nth request, counted from 1. */
let answer: (n: number, request: ModelRequest) => Turn | Promise<Turn>;
let use: () => Promise<string> | string;
let beforeRetry: (() => Promise<unknown>) | null;
let requests: ModelRequest[];

beforeAll(async () => {
  fixture = await SessionFixture.open({
    script: (request) => {
      requests.push(structuredClone(request));
      return answer(requests.length, request);
    },
    tools: { look: () => use() },
    toolList: [{ name: 'look', effect: 'pure' }],
    limits: { retryBackoffMs: 0, modelTries: 3 },
    probe: async (boundary, when) => {
      if (boundary === 'retry' && when === 'before') await beforeRetry?.();
    },
  });
});
beforeEach(() => {
  requests = [];
  use = () => 'seen';
  beforeRetry = null;
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const look = (id: string): Turn => ({ calls: [{ id, name: 'look', arguments: {} }] });

function line(message: ModelMessage): string {
  if (message.role === 'tool') return `result ${message.callId}`;
  const calls = message.role === 'assistant' ? message.calls.map(({ id }) => `call ${id}`) : [];
  return [message.text, ...calls].filter((part) => part !== '').join(' ');
}

const shown = (n = requests.length) => requests[n - 1]!.messages.map(line);
const steer = (session: Session, text: string) => fixture.say(session, text, { policy: 'steer' });

/** Whatever a model was shown stays as it was, and each request adds to the one before. */
function expectAppendOnly() {
  for (const [index, { messages }] of requests.entries()) {
    const before = requests[index - 1]?.messages ?? [];
    expect(messages.slice(0, before.length), `request ${index + 1}`).toEqual(before);
    // Results stand right after their calls, as providers require.
    for (const [place, message] of messages.entries()) {
      if (message.role !== 'assistant') continue;
      const results = messages.slice(place + 1, place + 1 + message.calls.length);
      expect(results.map((result) => (result.role === 'tool' ? result.callId : result.role))).toEqual(
        message.calls.map(({ id }) => id),
      );
    }
  }
}

describe('a message that steers a run', () => {
  it('is shown once, before the first answer, if the model read it before its first step', async () => {
    const session = await fixture.create();
    beforeRetry = () => {
      beforeRetry = null;
      return steer(session, 'early');
    };
    answer = async (n) => {
      if (n === 1) throw new RetryableError('busy', 'Come again.');
      if (n === 2) await steer(session, 'late');
      return { text: `answer ${n}` };
    };
    await fixture.say(session, 'go');
    await fixture.becomes(session, 'pending');
    expect(shown(2)).toEqual(['go', 'early']);
    expect(shown()).toEqual(['go', 'early', 'answer 2', 'late']);
    expectAppendOnly();

    answer = () => ({ text: 'next' });
    await fixture.say(session, 'again');
    await until('the next run has answered', async () => requests.length === 4);
    await fixture.becomes(session, 'pending');
    expect(shown()).toEqual(['go', 'early', 'answer 2', 'late', 'answer 3', 'again']);
    expectAppendOnly();
  });

  it('stands after the call that missed it and its result', async () => {
    const session = await fixture.create();
    answer = async (n) => {
      if (n === 1) await steer(session, 'missed');
      return n === 1 ? look('a') : { text: 'Done.' };
    };
    await fixture.say(session, 'go');
    await fixture.becomes(session, 'pending');
    expect(shown()).toEqual(['go', 'call a', 'result a', 'missed']);
    expectAppendOnly();
  });

  it('stands between the steps that it came between', async () => {
    const session = await fixture.create();
    let uses = 0;
    use = async () => {
      if (++uses === 1) await steer(session, 'between');
      return 'seen';
    };
    answer = (n) => (n < 3 ? look(`${n}`) : { text: 'Done.' });
    await fixture.say(session, 'go');
    await fixture.becomes(session, 'pending');
    expect(shown()).toEqual(['go', 'call 1', 'result 1', 'between', 'call 2', 'result 2']);
    expectAppendOnly();
  });

  it('makes the run take another step if it comes during the last answer, and starts a run after it', async () => {
    const session = await fixture.create();
    answer = async (n) => {
      if (n === 1) await steer(session, 'during');
      return { text: `answer ${n}` };
    };
    const first = await fixture.say(session, 'go');
    await fixture.becomes(session, 'pending');
    expect(shown()).toEqual(['go', 'answer 1', 'during']);
    const second = await steer(session, 'after');
    expect(second.run).toMatchObject({ outcome: 'started' });
    expect(second.run!.id).not.toBe(first.run!.id);
    await until('it is answered', async () => requests.length === 3);
    await fixture.becomes(session, 'pending');
    expect(shown()).toEqual(['go', 'answer 1', 'during', 'answer 2', 'after']);
    expectAppendOnly();
  });

  it('keeps its place when another claim takes the run over', async () => {
    const session = await fixture.create();
    answer = async (n) => {
      if (n === 1) await steer(session, 'missed');
      if (n === 2) {
        await steer(session, 'lost');
        await takeOver();
      }
      return n === 1 ? look('a') : n === 3 ? look('b') : { text: `answer ${n}` };
    };
    await fixture.say(session, 'go');
    await until('the run went on', async () => requests.length === 4);
    await fixture.becomes(session, 'pending');
    // The answer to the second request was lost, so that the message after it is read with the third.
    expect(shown(3)).toEqual(['go', 'call a', 'result a', 'missed', 'lost']);
    expect(shown(4)).toEqual(['go', 'call a', 'result a', 'missed', 'lost', 'call b', 'result b']);
    expectAppendOnly();
  });

  it('stands where the model first read it, whenever it comes', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const chance = new Random(seed);
      requests = [];
      const session = await fixture.create();
      let said = 0;
      const perhaps = async (share: number) => {
        if (said < 6 && chance.next() < share) await steer(session, `steer ${++said}`);
      };
      beforeRetry = () => perhaps(0.5);
      use = async () => {
        await perhaps(0.5);
        return 'seen';
      };
      answer = async (n) => {
        await perhaps(0.4);
        if (chance.next() < 0.2) await takeOver();
        if (chance.next() < 0.2) throw new RetryableError('busy', 'Come again.');
        await perhaps(0.2);
        return chance.next() < 0.6 && n < 12 ? look(`${n}`) : { text: `answer ${n}` };
      };
      await fixture.say(session, 'go');
      const { status } = await until('the session rests', async () => {
        const now = await fixture.get(session);
        return now.status === 'pending' || now.status === 'failed' ? now : null;
      });
      if (status === 'pending') {
        beforeRetry = null;
        const before = requests.length;
        answer = () => ({ text: 'next' });
        await fixture.say(session, 'again');
        await until('the next run has answered', async () => requests.length > before);
        await fixture.becomes(session, 'pending');
        const steers = shown().filter((text) => text.startsWith('steer'));
        expect(steers, `seed ${seed}`).toEqual(Array.from({ length: said }, (_, n) => `steer ${n + 1}`));
      }
      expectAppendOnly();
    }
  });
});

/** What another worker does after this one died: it queues its runs. This worker then claims them, as any other could. */
async function takeOver(): Promise<void> {
  const { incarnation } = fixture.kernel.worker!;
  for (;;) {
    const { rows } = await fixture.db.pool.query('select beat from troupe.workers where incarnation = $1', [
      incarnation,
    ]);
    if ((await reap(fixture.db, incarnation, Number(rows[0].beat), true)) !== null) return;
  }
}
