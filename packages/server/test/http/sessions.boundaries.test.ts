import type { BusyPolicy, Session } from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelMessage, ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { SessionFixture } from './session-fixture.ts';

/** A moment of a turn: `answer after #2` is right after the second answer was written. */
type Moment = string;

/** Every boundary of a turn with two failed tries, a second model, a tool and a call that waits for a client. */
const MOMENTS: Moment[] = [
  ...['start before #1', 'start after #1'],
  ...['retry before #1', 'retry after #1', 'claim after #1', 'fallback before #1', 'fallback after #1'],
  ...['answer before #1', 'answer after #1', 'result before #1', 'result after #1'],
  ...['settle before #1', 'settle after #1', 'claim after #2'],
  ...['answer before #2', 'answer after #2'],
];

let fixture: SessionFixture;
/** While it is set, no try succeeds. */
let broken = false;
let watch: {
  run: string | null;
  counts: Map<string, number>;
  seen: Moment[];
  at: Moment;
  act: () => Promise<void>;
} | null = null;

beforeAll(async () => {
  fixture = await SessionFixture.open({
    script,
    tools: { echo: () => 'x' },
    toolList: [{ name: 'echo' }, { name: 'ask', provider: 'client', waitsFor: 'client' }],
    limits: { retryBackoffMs: 0, modelTries: 2 },
    models: ['first', 'second'],
    probe: async (boundary, when, runs) => {
      if (!watch || runs.length === 0) return;
      // The first run that is seen is the one of the first message.
      watch.run ??= runs[0]!;
      if (!runs.includes(watch.run)) return;
      const key = `${boundary} ${when}`;
      const count = (watch.counts.get(key) ?? 0) + 1;
      watch.counts.set(key, count);
      const moment = `${key} #${count}`;
      watch.seen.push(moment);
      if (moment === watch.at) await watch.act();
    },
  });
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

describe('a second message at any moment of a turn is answered exactly once', () => {
  it('the moments are all of them', async () => {
    const session = await fixture.create();
    const { seen } = await turn(session, 'none', async () => {});
    expect(new Set(seen)).toEqual(new Set(MOMENTS));
  });

  for (const policy of ['queue', 'steer', 'interrupt', 'reject'] as const) {
    for (const moment of MOMENTS) {
      it(`${policy}, ${moment}`, async () => {
        const session = await fixture.create();
        let status = 0;
        let outcome: string | undefined;
        await turn(session, moment, async () => {
          const path = `${fixture.sessions}/${session.id}/messages`;
          const answer = await fixture.ask<{ run?: { outcome: string } }>('POST', path, {
            content: { text: 'second' },
            policy,
          });
          status = answer.status;
          outcome = answer.body.run?.outcome;
        });
        const messages = await fixture.messages(session);
        const asked = messages.filter(({ role }) => role === 'user').map(textOf);
        const answers = messages.filter(({ role }) => role === 'assistant').map(textOf);
        // A commit that lets the run go, to wait or to be taken again, leaves it free to end before the message comes.
        const ended = outcome === 'started' && moment.includes(' after ');
        const idle = ended || moment === 'start before #1' || moment === 'answer after #2';
        expect([status, outcome]).toEqual(expectation(policy, idle));
        expect(asked.toSorted()).toEqual(policy === 'reject' && !idle ? ['first'] : ['first', 'second']);
        // Answers name what they answer: every message once, in the order of the messages.
        expect(answers.flatMap((answer) => answer.slice(4).split('+'))).toEqual(asked);
        if (policy === 'queue' || idle) expect(answers).toEqual(asked.map((text) => `re: ${text}`));
      });
    }
  }
});

describe('a second message to a turn that fails', () => {
  for (const policy of ['queue', 'steer', 'interrupt', 'reject'] as const) {
    it(`${policy}, right before it is written`, async () => {
      const session = await fixture.create();
      const path = `${fixture.sessions}/${session.id}`;
      broken = true;
      let status = 0;
      await turn(session, 'finish before #1', async () => {
        broken = false;
        status = (await fixture.ask('POST', `${path}/messages`, { content: { text: 'second' }, policy }))
          .status;
      });
      expect(status).toBe(policy === 'reject' ? 409 : 201);
      const failed = policy === 'steer' || policy === 'reject';
      expect((await fixture.get(session)).status).toBe(failed ? 'failed' : 'pending');
      if (failed) {
        await fixture.done('POST', `${path}/retry`);
        await settled(session);
      }
      const answers = (await fixture.messages(session))
        .filter(({ role }) => role === 'assistant')
        .map(textOf);
      expect(answers).toEqual([policy === 'reject' ? 're: first' : 're: first+second']);
    });

    it(`${policy}, right after it was written, is refused`, async () => {
      const session = await fixture.create();
      broken = true;
      let refusal: unknown;
      await turn(session, 'finish after #1', async () => {
        const body = { content: { text: 'second' }, policy };
        refusal = await fixture.refused('POST', `${fixture.sessions}/${session.id}/messages`, body);
      });
      broken = false;
      expect(refusal).toEqual([409, 'session_failed']);
      expect(await fixture.messages(session)).toHaveLength(1);
    });
  }
});

function expectation(policy: BusyPolicy, idle: boolean): [number, string | undefined] {
  if (idle) return [201, 'started'];
  if (policy === 'queue') return [201, 'queued'];
  if (policy === 'reject') return [409, undefined];
  return [201, policy === 'steer' ? 'steered' : 'interrupted'];
}

/** Posts the first message, lets `act` happen at the moment, and settles whatever waits until nothing is left to do. */
async function turn(session: Session, at: Moment, act: () => Promise<void>): Promise<{ seen: Moment[] }> {
  let acted = at === 'none';
  const watching = {
    run: null,
    counts: new Map<string, number>(),
    seen: [] as Moment[],
    at,
    act: async () => {
      await act();
      acted = true;
    },
  };
  watch = watching;
  await fixture.say(session, 'first');
  await settled(session, () => acted);
  watch = null;
  return watching;
}

/** Settles whatever waits for a client, until nothing is left to do. */
async function settled(session: Session, done = () => true): Promise<void> {
  await until('the session has nothing to do', async () => {
    const { rows } = await fixture.db.pool.query<{ run: string; call: string }>(
      `select c.run_id as run, c.call_id as call from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
        where r.thread_id = $1 and r.status = 'waiting_tool' and c.waits_for is not null`,
      [session.threadId],
    );
    for (const { run, call } of rows)
      await fixture.kernel.settle(run, call, { status: 'completed', output: 'ok' });
    const { status } = await fixture.get(session);
    return done() && (status === 'pending' || status === 'failed');
  });
}

/** Fails twice, makes its calls, then answers everything that no text of its own has answered yet. */
function script(request: ModelRequest, attempt: number): Turn {
  const last = request.messages.at(-1)!;
  if (last.role === 'assistant') throw new Error('a model was asked although it has the last word');
  if (request.step === 1) {
    if (attempt < 3 || broken) return { error: { code: 'busy', message: 'Later.', retryable: true } };
    return {
      calls: [
        { id: 'echo', name: 'echo', arguments: {} },
        { id: 'ask', name: 'ask', arguments: {} },
      ],
    };
  }
  return { text: `re: ${unanswered(request.messages).join('+')}` };
}

function unanswered(messages: readonly ModelMessage[]): string[] {
  const spoken = messages.findLastIndex((message) => message.role === 'assistant' && message.text !== '');
  return messages.slice(spoken + 1).flatMap((message) => (message.role === 'user' ? [message.text] : []));
}

function textOf({ content }: { content: unknown }): string {
  return (content as { text: string }).text;
}
