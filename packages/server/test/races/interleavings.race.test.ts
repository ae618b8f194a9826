import { newId } from '@troupe/server';
import { oftenOf } from '@troupe/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Commits, createCommits } from '../../src/kernel/commits.ts';
import type { CommitItem } from '../../src/store/queries/commit.ts';
import { expire } from '../../src/store/queries/outside.ts';
import { reap } from '../../src/store/queries/workers.ts';
import { type Held, RaceFixture } from './fixture.ts';

// Everything that can happen to runs, at random, from eight connections of two processes at once. Afterwards nothing
// that must always hold is broken, and every run can still be brought to its end.

const KINDS = [
  'settle',
  'expire',
  'cancel',
  'absorb',
  'post',
  'start',
  'advance',
  'claim',
  'reap',
  'retry',
  'fork',
];
const POLICIES = ['queue', 'steer', 'interrupt', 'reject'] as const;

const move = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constant('advance') },
    { weight: 2, arbitrary: fc.constant('claim') },
    { weight: 6, arbitrary: fc.constantFrom(...KINDS) },
  ),
  a: fc.nat(1_000),
  b: fc.nat(1_000),
  turns: fc.nat(2),
});
const actors = fc.array(fc.array(move, { minLength: 1, maxLength: 5 }), { minLength: 4, maxLength: 8 });
type Move = { kind: string; a: number; b: number; turns: number };

let fixture: RaceFixture;
let commits: Commits[];
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
  commits = fixture.processes.map(({ db }) => createCommits(db, { mostItems: 4, mostInFlight: 4 }));
});
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

/** A few threads with runs in every state, and those who work on them. */
class Scenario {
  readonly door = `door ${newId()}`;
  readonly workers = [newId(), newId(), newId()];
  readonly threads: string[] = [];
  readonly runs: string[] = [];
  /** What each worker believes to hold; some of it is no longer true, as it should be. */
  readonly held = new Map<string, { held: Held; open: number }>();

  async set(): Promise<void> {
    for (const serial of [true, true, false]) {
      const item = fixture.item({ run: { door: this.door, serial } });
      await fixture.process(0).kernel.start(item);
      this.threads.push(item.thread);
      this.runs.push(item.run.id);
    }
    await this.claim(0, 2);
    for (const { held } of [...this.held.values()].slice(0, 1))
      await this.commit(held, held.asks(2, 'client', 0));
    for (const worker of this.workers) {
      await fixture.rows(`insert into troupe.workers (incarnation, host, pid, beat) values ($1, 'h', 1, 1)`, [
        worker,
      ]);
    }
  }

  pick = <Item>(items: Item[], n: number): Item => items[n % items.length]!;

  async play({ kind, a, b, turns }: Move, lane: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    const { kernel, db } = fixture.process(lane);
    const run = this.pick(this.runs, a);
    switch (kind) {
      case 'settle': {
        const [call] = await fixture.calls(run);
        const outcome = b % 2 ? { status: 'completed' as const, output: b } : { status: 'proceed' as const };
        await kernel.settle(run, String(call?.call_id ?? 'nobody'), outcome);
        return;
      }
      case 'expire':
        await expire(db, 10);
        return;
      case 'cancel':
        await kernel.cancel(run);
        return;
      case 'absorb': {
        const by = this.held.get(this.pick(this.runs, b));
        if (by) await kernel.absorb(run, by.held.by);
        return;
      }
      case 'post': {
        const item = fixture.post(this.pick(this.threads.slice(0, 2), a), this.pick([...POLICIES], b), {
          run: { door: this.door },
        });
        const posted = await kernel.post(item);
        if (posted.ok && posted.outcome !== 'steered') this.runs.push(item.run.id);
        return;
      }
      case 'start': {
        const item = fixture.item({
          thread: this.pick(this.threads, a),
          run: { door: this.door, serial: a % 3 !== 2, parent: this.pick(this.runs, b) },
        });
        await kernel.start(item);
        this.runs.push(item.run.id);
        return;
      }
      case 'advance':
        await this.advance(run, b, lane);
        return;
      case 'claim':
        await this.claim(lane, 1 + (b % 3));
        return;
      case 'reap':
        await reap(db, this.pick(this.workers, a), 1, false);
        return;
      case 'retry':
        await kernel.retry(run);
        return;
      case 'fork':
        await kernel.fork(run, 0, {}, { run: newId(), thread: newId() });
        return;
    }
  }

  async claim(lane: number, most: number): Promise<void> {
    for (const held of await fixture.claim(this.door, most, this.pick(this.workers, lane), lane)) {
      // A call that was under way with another worker is in doubt; these workers simply count on from there.
      this.held.set(held.run, {
        held,
        open: held.claimed.calls.filter((call) => call.status === 'running').length,
      });
    }
  }

  async advance(run: string, b: number, lane: number): Promise<void> {
    const known = this.held.get(run);
    if (!known) return;
    const { held } = known;
    if (known.open > 0) {
      const item = held.results(known.open);
      if (await this.commit(held, item, lane)) known.open = 0;
    } else if (b % 3 === 0) {
      if (await this.commit(held, held.asks(1), lane)) known.open = 1;
    } else
      await this.commit(
        held,
        b % 3 === 1 ? held.asks(2, 'client', b % 2 ? 0 : 60_000) : held.finishes(),
        lane,
      );
  }

  async commit(held: Held, item: CommitItem, lane = 0): Promise<boolean> {
    const verdict = await this.pick(commits, lane).commit.submit(item);
    held.learn(item, verdict);
    if (!verdict.ok || verdict.mode !== 'go') this.held.delete(held.run);
    return verdict.ok && verdict.mode === 'go';
  }

  /** Brings everything to its end as an ordinary system would; answers what could not be. */
  async finish(): Promise<string[]> {
    const open = () =>
      fixture.rows<{ id: string; status: string; ready: boolean }>(
        `select id, status, ready from troupe.runs where door = $1 and status not in ('completed', 'failed', 'canceled')`,
        [this.door],
      );
    for (const worker of this.workers) {
      const known = await fixture.rows('select from troupe.workers where incarnation = $1', [worker]);
      await reap(fixture.process(0).db, worker, known.length > 0 ? 1 : null, false);
    }
    for (let round = 0; round < 100; round++) {
      const left = await open();
      if (left.length === 0) return [];
      // Nobody can settle what has come to its deadline: the sweep does.
      await expire(fixture.process(0).db, 100);
      for (const { id, status } of left) {
        if (status !== 'waiting_tool') continue;
        for (const call of await fixture.calls(id)) {
          if (call.waits_for) await fixture.process(0).kernel.settle(id, String(call.call_id), DONE);
        }
      }
      const taken = await fixture.claim(this.door, 50);
      for (const held of taken) await this.commit(held, { ...held.finishes(), close: true });
      if (taken.length === 0 && !left.some(({ status }) => status === 'waiting_tool')) break;
    }
    return (await open()).map(({ id, status, ready }) => `${id} is ${status}, ready: ${ready}`);
  }
}
const DONE = { status: 'completed', output: 'done' } as const;

it('nothing that must hold is broken, and nothing is left behind', async () => {
  await fc.assert(
    fc.asyncProperty(actors, async (lanes) => {
      const scenario = new Scenario();
      await scenario.set();
      await Promise.all(
        lanes.map(async (moves, lane) => {
          for (const each of moves) await scenario.play(each, lane);
        }),
      );
      await fixture.checkInvariants();
      expect(await scenario.finish()).toEqual([]);
      await fixture.checkInvariants();
    }),
    { numRuns: oftenOf(60), endOnFailure: true },
  );
});
