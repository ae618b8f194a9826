import { newId, type StartItem } from '@troupe/server';
import { buildAgent } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { createCommits } from '../../src/kernel/commits.ts';
import type { CommitItem } from '../../src/store/queries/commit.ts';
import { type Held, RaceFixture, send } from './fixture.ts';

let fixture: RaceFixture;
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

/** Runs of many in few threads, held by one worker; two in a batch seldom agree in the order of their threads. */
async function crowd(threads: number, runsEach: number, worker: string): Promise<Held[]> {
  const door = `door ${newId()}`;
  const items: StartItem[] = [];
  for (let t = 0; t < threads; t++) {
    const first = fixture.item({ run: { door } });
    await fixture.process(0).kernel.start(first);
    for (let n = 1; n < runsEach; n++) items.push(fixture.item({ thread: first.thread, run: { door } }));
  }
  await Promise.all(items.map((item) => fixture.process(0).kernel.start(item)));
  return fixture.claim(door, threads * runsEach, worker);
}

function shuffled<Item>(items: Item[], seed: number): Item[] {
  const key = (n: number) => ((n + 1) * 2_654_435_761 * (seed + 1)) % 4_294_967_296;
  return items
    .map((item, n) => ({ item, key: key(n) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

describe('batches of commits', () => {
  it('with overlapping threads go through beside each other, eight in flight, without a deadlock', async () => {
    const workers = [newId(), newId()];
    const crowds = [await crowd(6, 10, workers[0]!), await crowd(6, 10, workers[1]!)];
    // The second half of each worker's runs is in threads of the other's: both processes meet in every thread.
    const commits = fixture.processes.map(({ db }) => createCommits(db, { mostItems: 8, mostInFlight: 4 }));
    const step = async (make: (run: Held) => CommitItem, seed: number) => {
      const all = crowds.flatMap((runs, p) => runs.map((run) => ({ run, commit: commits[p]!.commit })));
      await Promise.all(
        shuffled(all, seed).map(async ({ run, commit }) => {
          const item = make(run);
          const verdict = await commit.submit(item);
          expect(verdict.ok).toBe(true);
          run.learn(item, verdict);
        }),
      );
    };
    for (let round = 0; round < 4; round++) {
      await step((run) => run.asks(2), round);
      await step((run) => run.results(2), round + 10);
    }
    await step((run) => run.finishes(), 99);
    const ended = await fixture.rows<{ n: number }>(
      `select count(*)::int as n from troupe.runs where id = any($1) and status = 'completed' and step = 5`,
      [crowds.flat().map((run) => run.run)],
    );
    expect(ended).toEqual([{ n: 120 }]);
  });

  it('of two workers in the same threads do not deadlock, nor do starts and posts between them', async () => {
    const door = `door ${newId()}`;
    const threads: string[] = [];
    for (let t = 0; t < 6; t++) {
      const first = fixture.item({ run: { door } });
      await fixture.process(0).kernel.start(first);
      threads.push(first.thread);
    }
    const starts = Array.from({ length: 90 }, (_, n) =>
      fixture.item({ thread: threads[n % 6]!, run: { door } }),
    );
    await Promise.all(starts.map((item) => fixture.process(0).kernel.start(item)));
    const halves = [await fixture.claim(door, 48, newId(), 0), await fixture.claim(door, 48, newId(), 1)];
    const commits = fixture.processes.map(({ db }) => createCommits(db, { mostItems: 8, mostInFlight: 4 }));
    const others = Array.from({ length: 60 }, (_, n) => fixture.item({ thread: threads[(n * 5) % 6]! }));
    await Promise.all([
      ...halves.flatMap((runs, p) =>
        shuffled(runs, p).map(async (run) => {
          for (const make of [() => run.asks(1), () => run.results(1), () => run.finishes()]) {
            const item = make();
            const verdict = await commits[p]!.commit.submit(item);
            expect(verdict.ok).toBe(true);
            run.learn(item, verdict);
          }
        }),
      ),
      ...shuffled(others, 7).map((item, n) => fixture.process(n).kernel.start(item)),
    ]);
    expect(await Promise.all(halves.flat().map((run) => fixture.status(run.run)))).toEqual(
      halves.flat().map(() => 'completed'),
    );
  });

  it('of starts that name a parent do not deadlock with the commits of the parent', async () => {
    const parents = await crowd(4, 6, newId());
    const commits = createCommits(fixture.process(0).db, { mostItems: 6, mostInFlight: 4 });
    // A child in a thread of its own, and a message for a parent's thread, in the same batches of starts.
    const starts: StartItem[] = parents.flatMap((parent) => [
      fixture.item({ run: { parent: parent.run } }),
      { project: fixture.ids.project, thread: parent.thread, message: note() },
    ]);
    await Promise.all([
      ...parents.map(async (run) => {
        for (const make of [
          () => run.asks(2),
          () => run.results(2),
          () => run.asks(1),
          () => run.results(1),
        ]) {
          const item = make();
          run.learn(item, await commits.commit.submit(item));
        }
      }),
      ...shuffled(starts, 3).map((item, n) => fixture.process(n).kernel.start(item)),
      ...shuffled(starts, 4).map((item, n) => fixture.process(n + 1).kernel.start(again(item))),
    ]);
  });

  const note = () => ({ id: newId(), role: 'user' as const, content: { text: 'a note' } });
  const again = (item: StartItem): StartItem =>
    item.run ? fixture.item({ run: { parent: item.run.parent! } }) : { ...item, message: note() };
});

describe('a bad item', () => {
  it('harms only itself, not the batch that it is in', async () => {
    const held = await fixture.hold(12);
    const taken = (await fixture.messages(held[0]!.thread))[0]!;
    const [existing] = await fixture.rows<{ id: string }>(
      'select id from troupe.messages where thread_id = $1 and seq = $2',
      [held[0]!.thread, taken.seq],
    );
    const commits = createCommits(fixture.process(0).db);
    const items = held.map((run) => run.finishes());
    // A message id that is taken, a call that is not there, a role that does not exist.
    items[3]!.messages![0]!.id = existing!.id;
    items[5]!.settled = [{ id: 'nobody', status: 'completed', output: 1 }];
    items[8]!.messages![0]!.role = 'nobody' as 'user';
    const verdicts = await Promise.allSettled(items.map((item) => commits.commit.submit(item)));
    const bad = [3, 5, 8];
    for (const [n, verdict] of verdicts.entries()) {
      const status = await fixture.status(held[n]!.run);
      if (bad.includes(n)) {
        expect(verdict.status).toBe('rejected');
        expect(status).toBe('running');
        // Nothing of it was written: the same run goes on with a good commit.
        const [after] = await send(fixture.process(1).db, [held[n]!.finishes()]);
        expect(after).toMatchObject({ ok: true, mode: 'ended' });
      } else {
        expect(verdict).toMatchObject({ status: 'fulfilled', value: { ok: true, mode: 'ended' } });
        expect(status).toBe('completed');
      }
    }
  });

  it('among starts harms only itself', async () => {
    const items = Array.from({ length: 10 }, () => fixture.item());
    items[4]!.run.snapshot = newId();
    items[6]!.thread = newId();
    delete items[6]!.createThread;
    const commits = createCommits(fixture.process(0).db);
    const starts = await Promise.allSettled(items.map((item) => commits.start.submit(item)));
    for (const [n, start] of starts.entries()) {
      if (n === 4) expect(start).toMatchObject({ status: 'rejected', reason: { code: '23503' } });
      else if (n === 6) expect(start).toMatchObject({ value: { ok: false, code: 'thread_not_found' } });
      else expect(start).toMatchObject({ value: { ok: true, run: items[n]!.run.id, duplicate: false } });
    }
  });

  it('that is stale is refused alone', async () => {
    const held = await fixture.hold(8);
    const items = held.map((run) => run.finishes());
    items[2]!.version += 1;
    items[5]!.epoch -= 1;
    const verdicts = await send(fixture.process(0).db, items);
    expect(verdicts.map((verdict) => verdict.ok)).toEqual(held.map((_, n) => n !== 2 && n !== 5));
    const statuses = await Promise.all(held.map((run) => fixture.status(run.run)));
    expect(statuses).toEqual(held.map((_, n) => (n === 2 || n === 5 ? 'running' : 'completed')));
  });
});

describe('one message for several agents', () => {
  it('starts one run for each, sent by two processes at once', async () => {
    const cast = await Promise.all(Array.from({ length: 6 }, () => buildAgent(fixture.db, fixture.ids)));
    for (let trial = 0; trial < 8; trial++) {
      const { thread } = (await fixture.hold(1))[0]!;
      const message = newId();
      const one = (n: number): StartItem =>
        fixture.item({
          thread,
          message,
          run: { entity: cast[n % 6]!.entity, agent: cast[n % 6]!.agent },
        });
      const starts = await Promise.all(
        Array.from({ length: 24 }, (_, n) => fixture.process(n).kernel.start(one(n))),
      );
      expect(starts.filter((start) => start.ok && !start.duplicate)).toHaveLength(6);
      const runs = await fixture.rows<{ n: number; entities: number }>(
        'select count(*)::int as n, count(distinct entity_id)::int as entities from troupe.runs where trigger_message_id = $1',
        [message],
      );
      expect(runs).toEqual([{ n: 6, entities: 6 }]);
    }
  });
});
