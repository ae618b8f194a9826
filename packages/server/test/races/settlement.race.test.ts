import { newId } from '@troupe/server';
import { oftenOf } from '@troupe/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { cancel, expire, settle } from '../../src/store/queries/outside.ts';
import { atOnce, callId, RaceFixture, send } from './fixture.ts';

let fixture: RaceFixture;
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

const SETTLERS = 8;

describe('the last settled call of a step', () => {
  it('queues the run exactly once, with eight settlers at once', async () => {
    const held = await fixture.park(100, SETTLERS);
    const answers = await Promise.all(
      held.map((run) =>
        atOnce(
          Array.from(
            { length: SETTLERS },
            (_, n) => () =>
              fixture.process(n).kernel.settle(run.run, callId(1, n), { status: 'completed', output: n }),
          ),
        ),
      ),
    );
    for (const verdicts of answers) {
      expect(verdicts.every((verdict) => verdict.ok)).toBe(true);
      expect(verdicts.filter((verdict) => verdict.ok && verdict.queued)).toHaveLength(1);
    }
    const statuses = await fixture.rows<{ status: string; n: number }>(
      'select status, count(*)::int as n from troupe.runs where id = any($1) group by 1',
      [held.map((run) => run.run)],
    );
    expect(statuses).toEqual([{ status: 'queued', n: 100 }]);
  });

  it('queues the run exactly once where all eight waited for its lock', async () => {
    for (let trial = 0; trial < oftenOf(15); trial++) {
      const [run] = await fixture.park(1, SETTLERS);
      const verdicts = await fixture.behindLock(
        { runs: [run!.run] },
        Array.from(
          { length: SETTLERS },
          (_, n) => () =>
            fixture.process(n).kernel.settle(run!.run, callId(1, n), { status: 'completed', output: n }),
        ),
      );
      expect(verdicts.filter((verdict) => verdict.ok && verdict.queued)).toHaveLength(1);
      expect(await fixture.status(run!.run)).toBe('queued');
    }
  });
});

describe('a call', () => {
  type Move = 'settle' | 'fail' | 'expire' | 'cancel';
  const moves = fc.array(
    fc.record({
      move: fc.constantFrom<Move>('settle', 'fail', 'expire', 'cancel'),
      turns: fc.nat(3),
    }),
    { minLength: 4, maxLength: 8 },
  );

  it('ends in one way, whoever settles, expires or cancels it at once', async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.integer({ min: 1, max: 3 }), async (actors, calls) => {
        // The deadline is already over when the race begins, so that expire competes with the others.
        const [run] = await fixture.park(1, calls, 0);
        const act = async (move: Move, n: number): Promise<boolean> => {
          const { kernel, db } = fixture.process(n);
          const call = callId(1, n % calls);
          if (move === 'expire') return (await expire(db, 10)).runs > 0;
          if (move === 'cancel') return (await kernel.cancel(run!.run)).ok;
          const outcome =
            move === 'settle'
              ? ({ status: 'completed', output: n } as const)
              : ({ status: 'failed', error: { code: 'no', message: 'no' } } as const);
          return (await kernel.settle(run!.run, call, outcome, `actor ${n}`)).ok;
        };
        const done = await atOnce(
          actors.map(
            ({ move }, n) =>
              () =>
                act(move, n),
          ),
          actors.map(({ turns }) => turns),
        );

        const won = (move: Move) => actors.filter((actor, n) => actor.move === move && done[n]).length;
        const ledger = await fixture.calls(run!.run);
        const count = (status: string) => ledger.filter((call) => call.status === status).length;
        expect(count('completed')).toBe(won('settle'));
        expect(count('failed')).toBe(won('fail'));
        expect(won('cancel')).toBeLessThanOrEqual(1);
        if (won('cancel') === 0) expect(count('canceled')).toBe(0);
        if (won('expire') === 0) expect(count('expired')).toBe(0);

        const results = (await fixture.messages(run!.thread)).filter((m) => m.role === 'tool_result');
        const settled = ledger.filter((call) => call.status !== 'requested');
        expect(results.map((result) => result.tool_call_id).sort()).toEqual(
          settled.map((call) => call.call_id).sort(),
        );
        const status = await fixture.status(run!.run);
        if (won('cancel') === 1) expect(status).toBe('canceled');
        else expect(status).toBe(settled.length === calls ? 'queued' : 'waiting_tool');
        await cancel(fixture.process(0).db, run!.run, 'user', null);
      }),
      { numRuns: oftenOf(60) },
    );
  });

  it('is settled once by the same settlement sent eight times', async () => {
    for (let trial = 0; trial < oftenOf(20); trial++) {
      const [run] = await fixture.park(1, 1);
      const message = newId();
      const verdicts = await atOnce(
        Array.from(
          { length: SETTLERS },
          (_, n) => () =>
            settle(
              fixture.process(n).db,
              run!.run,
              callId(1, 0),
              { status: 'completed', output: n },
              null,
              message,
            ),
        ),
      );
      const winner = verdicts.findIndex((verdict) => verdict.ok);
      expect(verdicts.filter((verdict) => verdict.ok)).toHaveLength(1);
      for (const verdict of verdicts.filter((each) => !each.ok)) {
        expect(verdict).toMatchObject({ code: 'call_not_open', status: 'completed', output: winner });
      }
    }
  });
});

describe('a worker that parks a run', () => {
  it('never parks it for ever when the last settlement comes at the same moment', async () => {
    const held = await fixture.hold(80);
    // One call of the worker's own, one outside: the run goes on working after the answer.
    const answers = held.map((run) => {
      const item = run.asks(2);
      item.calls![1] = { ...item.calls![1]!, status: 'requested', waitsFor: 'client', deadlineMs: 3_600_000 };
      return item;
    });
    await Promise.all(
      held.map(async (run, n) => {
        const [verdict] = await send(fixture.process(n).db, [answers[n]!]);
        run.learn(answers[n]!, verdict!);
      }),
    );
    const ends = await Promise.all(
      held.map(async (run, n) => {
        const park = { ...run.results(1), park: true, parkEvents: [{ type: 'run.waiting_tool' }] };
        const [[verdict], settled] = await Promise.all([
          send(fixture.process(n).db, [park]),
          fixture.process(n + 1).kernel.settle(run.run, callId(1, 1), { status: 'completed', output: 1 }),
        ]);
        return { verdict: verdict!, settled, status: await fixture.status(run.run) };
      }),
    );
    for (const { verdict, settled, status } of ends) {
      expect(settled.ok).toBe(true);
      // Either the settlement came first and the worker went on, or the worker parked and the settlement queued the run.
      const queued = settled.ok && settled.queued;
      expect(verdict).toMatchObject({ ok: true, mode: queued ? 'parked' : 'go' });
      expect(status).toBe(queued ? 'queued' : 'running');
    }
  });
});
