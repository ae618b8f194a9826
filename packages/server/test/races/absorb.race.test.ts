import { oftenOf } from '@troupe/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Absorbed } from '../../src/store/queries/outside.ts';
import type { Started } from '../../src/store/queries/start.ts';
import { atOnce, callId, type Held, RaceFixture, send } from './fixture.ts';

let fixture: RaceFixture;
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

const absorb = (target: Held, by: Held, n: number) => fixture.process(n).kernel.absorb(target.run, by.by);
const absorbedBy = async (run: Held) => (await fixture.row(run.run)).absorbed_by;
const code = (answer: Absorbed) => (answer.ok ? 'ok' : answer.code);

describe('two runs that absorb', () => {
  it('a third at once: the first wins, the other is told who did', async () => {
    for (let trial = 0; trial < oftenOf(40); trial++) {
      const [target, a, b] = await fixture.hold(3);
      const answers = await atOnce(
        [() => absorb(target!, a!, 0), () => absorb(target!, b!, 1), () => absorb(target!, a!, 1)],
        [trial % 3, (trial >> 1) % 3, 1],
      );
      const winner = (await absorbedBy(target!)) === a!.run ? a! : b!;
      // The winner may ask again and gets the same; the other gets its name.
      expect(code(answers[0]!)).toBe(winner === a ? 'ok' : 'already_absorbed');
      expect(code(answers[2]!)).toBe(winner === a ? 'ok' : 'already_absorbed');
      expect(code(answers[1]!)).toBe(winner === b ? 'ok' : 'already_absorbed');
      for (const answer of answers) if (!answer.ok) expect(answer.by).toBe(winner.run);
    }
  });

  it('each other at once: exactly one wins, and nobody sees a deadlock', async () => {
    for (let trial = 0; trial < oftenOf(60); trial++) {
      const [a, b] = await fixture.hold(2);
      const answers = await atOnce(
        [() => absorb(b!, a!, 0), () => absorb(a!, b!, 1)],
        [trial % 2, (trial >> 1) % 2],
      );
      expect(answers.map(code).sort()).toEqual(['absorber_lost', 'ok']);
      const statuses = [await fixture.status(a!.run), await fixture.status(b!.run)];
      expect(statuses).toEqual(answers[0]!.ok ? ['running', 'canceled'] : ['canceled', 'running']);
    }
  });

  it('each other in a ring of five: at least one is left, and each absorbed one has one absorber', async () => {
    for (let trial = 0; trial < oftenOf(20); trial++) {
      const ring = await fixture.hold(5);
      const answers = await atOnce(ring.map((run, n) => () => absorb(ring[(n + 1) % 5]!, run, n)));
      const statuses = await Promise.all(ring.map((run) => fixture.status(run.run)));
      expect(statuses).toContain('running');
      for (const [n, answer] of answers.entries()) {
        const target = (n + 1) % 5;
        expect(statuses[target]).toBe(answer.ok ? 'canceled' : 'running');
        if (answer.ok) expect(await absorbedBy(ring[target]!)).toBe(ring[n]!.run);
      }
    }
  });
});

describe('absorbing a run', () => {
  type Rival = 'finish' | 'answer' | 'cancel' | 'message' | 'settle';

  it('against its own worker, a canceler, a settler and a message: one end, and nothing it did is missing', async () => {
    const rivals = fc.uniqueArray(
      fc.record({
        rival: fc.constantFrom<Rival>('finish', 'answer', 'cancel', 'message', 'settle'),
        turns: fc.nat(3),
      }),
      { minLength: 2, maxLength: 5, selector: ({ rival }) => rival },
    );
    await fc.assert(
      fc.asyncProperty(rivals, fc.boolean(), fc.nat(3), async (actors, waiting, turns) => {
        const [absorber] = await fixture.hold(1);
        const [target] = await fixture.hold(1, { run: { serial: true } });
        const first = waiting ? target!.asks(2, 'client') : target!.asks(1);
        target!.learn(first, (await send(fixture.process(0).db, [first]))[0]!);
        const act = async (rival: Rival, n: number): Promise<boolean> => {
          const { db, kernel } = fixture.process(n);
          if (rival === 'cancel') return (await kernel.cancel(target!.run)).ok;
          if (rival === 'message') {
            const started: Started = await kernel.start(
              fixture.item({ thread: target!.thread, run: { serial: true } }),
            );
            return started.ok;
          }
          if (rival === 'settle')
            return (await kernel.settle(target!.run, callId(1, 0), { status: 'completed', output: 1 })).ok;
          const item = rival === 'finish' ? { ...target!.finishes(), close: true } : target!.asks(1);
          return (await send(db, [item]))[0]!.ok;
        };
        let absorbed: Absorbed | undefined;
        const done = await atOnce<unknown>(
          [
            async () => {
              absorbed = await absorb(target!, absorber!, 1);
            },
            ...actors.map(
              ({ rival }, n) =>
                () =>
                  act(rival, n),
            ),
          ],
          [turns, ...actors.map((actor) => actor.turns)],
        );
        const won = (rival: Rival) =>
          actors.some((actor, n) => actor.rival === rival && done[n + 1] === true);

        const row = await fixture.row(target!.run);
        expect(Number(absorbed!.ok) + Number(won('finish')) + Number(won('cancel'))).toBe(1);
        expect(row.status).toBe(won('finish') ? 'completed' : 'canceled');
        if (!absorbed!.ok) return;
        expect(row.cancel_reason).toBe('absorbed');
        const ledger = await fixture.calls(target!.run);
        expect(absorbed!.actions.map((call) => [call.id, call.status])).toEqual(
          ledger.map((call) => [call.call_id, call.status]),
        );
        await fixture.checkInvariants();
      }),
      { numRuns: oftenOf(60) },
    );
  });
});
