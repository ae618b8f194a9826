import { newId } from '@troupe/server';
import { oftenOf } from '@troupe/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Posted } from '../../src/store/queries/start.ts';
import { atOnce, type Held, RaceFixture, send } from './fixture.ts';

let fixture: RaceFixture;
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

const serial = { run: { serial: true } };
const POLICIES = ['queue', 'steer', 'interrupt', 'reject'] as const;
type Policy = (typeof POLICIES)[number];

const runsOf = (message: string) =>
  fixture.rows<{ id: string; status: string; ready: boolean }>(
    'select id, status, ready from troupe.runs where trigger_message_id = $1',
    [message],
  );
const inThread = async (message: string) =>
  fixture.rows<{ seq: number; run_id: string | null }>(
    'select seq, run_id from troupe.messages where id = $1',
    [message],
  );

describe('the same message', () => {
  it('makes one run, started twenty times at once by two processes', async () => {
    for (let trial = 0; trial < oftenOf(10); trial++) {
      const { thread } = (await fixture.hold(1))[0]!;
      const message = newId();
      const starts = await atOnce(
        Array.from(
          { length: 20 },
          (_, n) => () => fixture.process(n).kernel.start(fixture.item({ thread, message })),
        ),
      );
      const [run, ...more] = await runsOf(message);
      expect(more).toEqual([]);
      expect(starts.map((start) => start.ok && start.run)).toEqual(starts.map(() => run!.id));
      expect(starts.filter((start) => start.ok && !start.duplicate)).toHaveLength(1);
      expect(await inThread(message)).toHaveLength(1);
    }
  });

  it('makes one run where each start brings a thread of its own', async () => {
    for (let trial = 0; trial < oftenOf(10); trial++) {
      const message = newId();
      const starts = await atOnce(
        Array.from({ length: 8 }, (_, n) => () => fixture.process(n).kernel.start(fixture.item({ message }))),
      );
      const [run, ...more] = await runsOf(message);
      expect(more).toEqual([]);
      expect(starts.map((start) => start.ok && start.run)).toEqual(starts.map(() => run!.id));
      expect(await inThread(message)).toHaveLength(1);
    }
  });

  it.each(POLICIES)(
    'posted eight times at once with policy %s to an idle thread counts once',
    async (policy) => {
      for (let trial = 0; trial < oftenOf(10); trial++) {
        const { thread } = await idleThread();
        const message = newId();
        const posts = await atOnce(
          Array.from(
            { length: 8 },
            (_, n) => () => fixture.process(n).kernel.post(fixture.post(thread, policy, { message })),
          ),
          Array.from({ length: 8 }, (_, n) => n % 3),
        );
        await countsOnce(message, posts);
        const [run] = await runsOf(message);
        expect(run).toMatchObject({ status: 'queued', ready: true });
      }
    },
  );

  it.each(POLICIES)(
    'posted eight times at once with policy %s to a busy thread counts once',
    async (policy) => {
      for (let trial = 0; trial < oftenOf(10); trial++) {
        const [busy] = await fixture.hold(1, serial);
        const message = newId();
        const posts = await atOnce(
          Array.from(
            { length: 8 },
            (_, n) => () => fixture.process(n).kernel.post(fixture.post(busy!.thread, policy, { message })),
          ),
          Array.from({ length: 8 }, (_, n) => n % 3),
        );
        if (policy === 'reject') {
          expect(posts.map((post) => !post.ok && post.code)).toEqual(posts.map(() => 'busy'));
          expect(await inThread(message)).toEqual([]);
          continue;
        }
        await countsOnce(message, posts);
        const [run] = await runsOf(message);
        if (policy === 'steer') expect(run).toBeUndefined();
        else expect(run).toMatchObject({ status: 'queued', ready: policy === 'interrupt' });
        expect(await fixture.status(busy!.run)).toBe(policy === 'interrupt' ? 'canceled' : 'running');
      }
    },
  );

  async function countsOnce(message: string, posts: Posted[]): Promise<void> {
    expect(posts.filter((post) => !post.ok)).toEqual([]);
    expect(posts.filter((post) => post.ok && post.outcome !== 'duplicate')).toHaveLength(1);
    expect(await inThread(message)).toHaveLength(1);
    expect((await runsOf(message)).length).toBeLessThanOrEqual(1);
  }
});

describe('a message to a busy serial thread', () => {
  it('is answered exactly once when it comes with the finishing commit (300 trials)', async () => {
    const held = await fixture.hold(300, serial);
    const messages = held.map(() => newId());
    await Promise.all(
      held.map((run, n) =>
        atOnce<unknown>(
          [
            () => send(fixture.process(n).db, [run.finishes()]),
            () =>
              fixture.process(n + 1).kernel.start({
                ...fixture.item({ thread: run.thread, message: messages[n]!, ...serial }),
              }),
          ],
          [n % 2, (n >> 1) % 2],
        ),
      ),
    );
    await fixture.checkInvariants();
    const next = await fixture.rows<{ status: string; ready: boolean; n: number }>(
      'select status, ready, count(*)::int as n from troupe.runs where trigger_message_id = any($1) group by 1, 2',
      [messages],
    );
    expect(next).toEqual([{ status: 'queued', ready: true, n: 300 }]);
  });

  it('is answered exactly once where both waited for the thread', async () => {
    for (let trial = 0; trial < oftenOf(20); trial++) {
      const [run] = await fixture.hold(1, serial);
      const message = newId();
      const finish = () => send(fixture.process(0).db, [run!.finishes()]);
      const start = () =>
        fixture.process(1).kernel.start(fixture.item({ thread: run!.thread, message, ...serial }));
      await fixture.behindLock<unknown>(
        { threads: [run!.thread] },
        trial % 2 === 0 ? [finish, start] : [start, finish],
      );
      expect(await runsOf(message)).toMatchObject([{ status: 'queued', ready: true }]);
    }
  });

  it('that steers is seen by a later step or starts a run of its own, never lost (200 trials)', async () => {
    const held = await fixture.hold(200, serial);
    const seen = await Promise.all(held.map((run, n) => steerAgainstFinish(run, n)));
    expect(seen.filter((how) => how === 'lost')).toEqual([]);
  });

  it('that steers is not lost where it waited for the lock together with the finishing commit', async () => {
    const outcomes = new Set<string>();
    for (let trial = 0; trial < oftenOf(20); trial++) {
      const [run] = await fixture.hold(1, serial);
      const message = newId();
      const finish = () => send(fixture.process(0).db, [run!.finishes()]);
      const steer = () => fixture.process(1).kernel.post(fixture.post(run!.thread, 'steer', { message }));
      const answers = await fixture.behindLock<unknown>(
        { runs: [run!.run] },
        trial % 2 === 0 ? [finish, steer] : [steer, finish],
      );
      const verdicts = (trial % 2 === 0 ? answers[0] : answers[1]) as Awaited<ReturnType<typeof send>>;
      const posted = (trial % 2 === 0 ? answers[1] : answers[0]) as Posted;
      outcomes.add(await fate(message, verdicts[0]!, posted));
    }
    expect(outcomes).toEqual(new Set(['seen by a later step', 'started a run']));
  });

  async function steerAgainstFinish(run: Held, n: number): Promise<string> {
    const message = newId();
    const [verdicts, posted] = await Promise.all([
      send(fixture.process(n).db, [run.finishes()]),
      fixture.process(n + 1).kernel.post(fixture.post(run.thread, 'steer', { message })),
    ]);
    return fate(message, verdicts[0]!, posted);
  }

  async function fate(
    message: string,
    verdict: Awaited<ReturnType<typeof send>>[number],
    posted: Posted,
  ): Promise<string> {
    if (!verdict.ok || !posted.ok) return 'lost';
    if (posted.outcome === 'started') return (await runsOf(message)).length === 1 ? 'started a run' : 'lost';
    const told = verdict.foreign?.some((foreign) => foreign.id === message);
    // Put to the run: then its end must have become a further step, and the commit must have told of the message.
    return verdict.mode === 'go' && told ? 'seen by a later step' : 'lost';
  }
});

describe('messages with different policies at once', () => {
  it('never leave the thread blocked, and each has exactly one fate', async () => {
    const actors = fc.array(fc.record({ policy: fc.constantFrom<Policy>(...POLICIES), turns: fc.nat(4) }), {
      minLength: 4,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(actors, fc.constantFrom('idle', 'busy', 'finishing'), async (posts, state) => {
        const run = state === 'idle' ? await idleThread() : (await fixture.hold(1, serial))[0]!;
        const messages = posts.map(() => newId());
        const finish = async () => {
          if (state === 'finishing') await send(fixture.process(0).db, [run.finishes()]);
          return null;
        };
        const answers = await atOnce<Posted | null>(
          [
            ...posts.map(
              ({ policy }, n) =>
                () =>
                  fixture.process(n).kernel.post(fixture.post(run.thread, policy, { message: messages[n]! })),
            ),
            finish,
          ],
          [...posts.map(({ turns }) => turns), 1],
        );
        for (const [n, { policy }] of posts.entries()) {
          const answer = answers[n]!;
          const stored = await inThread(messages[n]!);
          const runs = await runsOf(messages[n]!);
          if (!answer.ok) {
            expect(policy).toBe('reject');
            expect([stored, runs]).toEqual([[], []]);
          } else if (answer.outcome === 'steered') {
            expect(stored).toMatchObject([{ run_id: answer.run }]);
            expect(runs).toEqual([]);
          } else {
            expect(stored).toHaveLength(1);
            expect(runs).toHaveLength(1);
            // Only an idle thread lets a rejecting message in.
            if (policy === 'reject') expect(answer.ready).toBe(true);
          }
        }
        await fixture.checkInvariants();
      }),
      { numRuns: oftenOf(40) },
    );
  });
});

async function idleThread(): Promise<Held> {
  const [run] = await fixture.hold(1, serial);
  const [verdict] = await send(fixture.process(0).db, [run!.finishes()]);
  expect(verdict).toMatchObject({ ok: true, mode: 'ended' });
  return run!;
}
