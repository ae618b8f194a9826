import { newId } from '@troupe/server';
import { oftenOf } from '@troupe/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { fork, retry, settle } from '../../src/store/queries/outside.ts';
import { reap } from '../../src/store/queries/workers.ts';
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

/** A serial thread with a run at work and so many waiting behind it. */
async function busyThread(waiting: number): Promise<{ active: Held; next: string[] }> {
  const [active] = await fixture.hold(1, serial);
  const next: string[] = [];
  for (let n = 0; n < waiting; n++) {
    const item = fixture.item({ thread: active!.thread, run: { serial: true, door: active!.claimed.door } });
    await fixture.process(n).kernel.start(item);
    next.push(item.run.id);
  }
  return { active: active!, next };
}

const endsOf = async (run: string) =>
  (
    await fixture.rows<{ type: string }>(
      `select type from troupe.events where run_id = $1 and type in ('run.completed', 'run.failed', 'run.canceled', 'run.absorbed')`,
      [run],
    )
  ).map((row) => row.type);

describe('a run', () => {
  it('ends once, when it is canceled by two and completed at the same moment', async () => {
    const held = await fixture.hold(100);
    const ends = await Promise.all(
      held.map(async (run, n) => {
        const [[verdict], ...canceled] = await Promise.all([
          send(fixture.process(n).db, [run.finishes()]),
          fixture.process(n).kernel.cancel(run.run),
          fixture.process(n + 1).kernel.cancel(run.run),
        ]);
        return { run, completed: verdict!.ok, canceled: canceled.filter((each) => each.ok).length };
      }),
    );
    for (const { run, completed, canceled } of ends) {
      expect(Number(completed) + canceled).toBe(1);
      expect(await endsOf(run.run)).toEqual([completed ? 'run.completed' : 'run.canceled']);
      const said = (await fixture.messages(run.thread)).filter((message) => message.role === 'assistant');
      expect(said).toHaveLength(completed ? 1 : 0);
    }
  });

  it('ends once, where the commit and the cancellations waited for its lock', async () => {
    const winners = new Set<string>();
    for (let trial = 0; trial < oftenOf(16); trial++) {
      const [run] = await fixture.hold(1);
      const actions: (() => Promise<boolean>)[] = [
        async () => (await send(fixture.process(0).db, [run!.finishes()]))[0]!.ok,
        async () => (await fixture.process(1).kernel.cancel(run!.run)).ok,
        async () => (await fixture.process(0).kernel.cancel(run!.run, 'timeout')).ok,
      ];
      const rotated = actions.map((_, n) => actions[(n + trial) % 3]!);
      const done = await fixture.behindLock({ runs: [run!.run] }, rotated);
      expect(done.filter(Boolean)).toHaveLength(1);
      winners.add(await fixture.status(run!.run));
    }
    expect(winners).toEqual(new Set(['completed', 'canceled']));
  });

  it('of a dead worker is either taken back or committed by it, never both', async () => {
    for (let trial = 0; trial < oftenOf(30); trial++) {
      const door = `door ${newId()}`;
      const worker = newId();
      const starts = Array.from({ length: 4 }, () => fixture.item({ run: { door } }));
      await Promise.all(starts.map((item) => fixture.process(0).kernel.start(item)));
      const held = await fixture.claim(door, 4, worker);
      await fixture.rows(`insert into troupe.workers (incarnation, host, pid, beat) values ($1, 'h', 1, 7)`, [
        worker,
      ]);
      const [reaped, again, ...verdicts] = await atOnce<unknown>(
        [
          () => reap(fixture.process(0).db, worker, 7, false),
          () => reap(fixture.process(1).db, worker, 7, false),
          ...held.map((run, n) => async () => (await send(fixture.process(n).db, [run.finishes()]))[0]!.ok),
        ],
        [trial % 3, trial % 3, 0, 1, 2, 3],
      );
      const completed = verdicts.filter(Boolean).length;
      // One of the two observers does it; the other is told that nobody is there any more.
      expect([reaped, again].filter((count) => count !== null)).toEqual([4 - completed]);
      const rows = await fixture.rows<{ status: string; takeovers: number }>(
        'select status, takeovers from troupe.runs where id = any($1)',
        [held.map((run) => run.run)],
      );
      expect(rows.filter((row) => row.status === 'queued' && row.takeovers === 1)).toHaveLength(
        4 - completed,
      );
      expect(rows.filter((row) => row.status === 'completed')).toHaveLength(completed);
    }
  });

  it('is taken back together with many others, beside batches of commits that it is in', async () => {
    for (let trial = 0; trial < oftenOf(15); trial++) {
      const door = `door ${newId()}`;
      const worker = newId();
      const items = Array.from({ length: 24 }, () => fixture.item({ run: { door } }));
      await Promise.all(items.map((item) => fixture.process(0).kernel.start(item)));
      const held = await fixture.claim(door, 24, worker);
      await fixture.rows(`insert into troupe.workers (incarnation, host, pid, beat) values ($1, 'h', 1, 7)`, [
        worker,
      ]);
      const batch = (n: number) => held.filter((_, k) => k % 2 === n).map((run) => run.asks(1));
      const [reaped, ...verdicts] = await atOnce<unknown>(
        [
          () => reap(fixture.process(0).db, worker, 7, false),
          () => send(fixture.process(0).db, batch(0)),
          () => send(fixture.process(1).db, batch(1)),
        ],
        [trial % 3, 0, trial % 2],
      );
      // What was committed before stays; taken back is everything, since nothing of it had ended.
      expect(reaped).toBe(24);
      const steps = (verdicts as { ok: boolean }[][]).flat().filter((verdict) => verdict.ok).length;
      const next = await fixture.claim(door, 24);
      expect(next.reduce((sum, run) => sum + run.step, 0)).toBe(steps);
    }
  });

  it('of a lane is claimed only while the lane has room, by eight claimers at once', async () => {
    for (let trial = 0; trial < oftenOf(15); trial++) {
      const door = `door ${newId()}`;
      const lane = { door, lane: door, laneLimit: 3 };
      const items = Array.from({ length: 10 }, () => fixture.item({ run: lane }));
      await Promise.all(items.map((item, n) => fixture.process(n).kernel.start(item)));
      const claimers = () =>
        atOnce(Array.from({ length: 8 }, (_, n) => () => fixture.claim(door, 10, newId(), n)));
      const held = (await claimers()).flat();
      expect(held).toHaveLength(3);
      await send(fixture.process(0).db, [held[0]!.finishes()]);
      await send(fixture.process(1).db, [held[1]!.asks(1, 'client')]);
      expect((await claimers()).flat()).toHaveLength(2);
    }
  });

  it('is claimed by one worker, whoever asks', async () => {
    const door = `door ${newId()}`;
    const items = Array.from({ length: 200 }, () => fixture.item({ run: { door } }));
    await Promise.all(items.map((item, n) => fixture.process(n).kernel.start(item)));
    const claimed = await atOnce(
      Array.from({ length: 8 }, (_, n) => () => fixture.claim(door, 200, newId(), n)),
    );
    const runs = claimed.flat().map((held) => held.run);
    expect(new Set(runs).size).toBe(runs.length);
    expect(runs.sort()).toEqual(items.map((item) => item.run.id).sort());
  });
});

describe('a serial thread', () => {
  type Move = 'finish' | 'cancel active' | 'cancel next' | 'cancel last' | 'start';

  it('is never blocked, whatever ends at once', async () => {
    const moves = fc.uniqueArray(
      fc.record({
        move: fc.constantFrom<Move>('finish', 'cancel active', 'cancel next', 'cancel last', 'start'),
        turns: fc.nat(3),
      }),
      { minLength: 3, maxLength: 5, selector: ({ move }) => move },
    );
    await fc.assert(
      fc.asyncProperty(moves, fc.integer({ min: 1, max: 3 }), async (actors, waiting) => {
        const { active, next } = await busyThread(waiting);
        const started: string[] = [];
        const act = async (move: Move, n: number): Promise<unknown> => {
          const { kernel, db } = fixture.process(n);
          if (move === 'finish') return send(db, [active.finishes()]);
          if (move === 'start') {
            const item = fixture.item({ thread: active.thread, ...serial });
            started.push(item.run.id);
            return kernel.start(item);
          }
          const target = {
            'cancel active': active.run,
            'cancel next': next[0]!,
            'cancel last': next.at(-1)!,
          };
          return kernel.cancel(target[move]);
        };
        await atOnce(
          actors.map(
            ({ move }, n) =>
              () =>
                act(move, n),
          ),
          actors.map(({ turns }) => turns),
        );
        await notBlocked(active.thread);
      }),
      { numRuns: oftenOf(80) },
    );
  });

  it('lets the next but one in when the next is canceled behind the same lock as the end', async () => {
    for (let trial = 0; trial < oftenOf(20); trial++) {
      const { active, next } = await busyThread(2);
      const finish = () => send(fixture.process(0).db, [active.finishes()]);
      const cancel = () => fixture.process(1).kernel.cancel(next[0]!);
      await fixture.behindLock<unknown>(
        { threads: [active.thread] },
        trial % 2 === 0 ? [finish, cancel] : [cancel, finish],
      );
      expect(await fixture.row(next[1]!)).toMatchObject({ status: 'queued', ready: true });
      await notBlocked(active.thread);
    }
  });

  // Each of these looks at a waiting run under a lock and leaves it as it is. The end of the run before it must
  // not pass it over for that.
  const lookers: [string, (run: string, other: Held) => Promise<unknown>][] = [
    [
      'a settlement of a call that it does not have',
      (run) =>
        settle(fixture.process(1).db, run, 'nobody', { status: 'completed', output: 1 }, null, newId()),
    ],
    ['a retry that is refused', (run) => retry(fixture.process(1).db, run)],
    [
      'a fork',
      (run) =>
        fork(fixture.process(1).db, run, 0, { thread: newId(), run: newId(), snapshot: null, edits: [] }),
    ],
    [
      'an absorption by a run that was lost',
      (run, other) => fixture.process(1).kernel.absorb(run, { ...other.by, epoch: other.by.epoch + 1 }),
    ],
    [
      'a run of its own that it starts',
      (run) => fixture.process(1).kernel.start(fixture.item({ run: { parent: run } })),
    ],
  ];

  it.each(lookers)('is not blocked by %s', async (_what, look) => {
    const other = (await fixture.hold(1))[0]!;
    for (let trial = 0; trial < oftenOf(40); trial++) {
      const { active, next } = await busyThread(1);
      await atOnce<unknown>(
        [
          () => send(fixture.process(0).db, [active.finishes()]),
          ...Array.from({ length: 4 }, () => () => look(next[0]!, other)),
        ],
        [0, 0, 1, 1, 2],
      );
      await notBlocked(active.thread);
    }
  });

  it('is not blocked by a commit of a worker that has lost the run long since', async () => {
    for (let trial = 0; trial < oftenOf(40); trial++) {
      // The run was canceled and is to be tried again: it waits behind the one that was let in meanwhile.
      const { active: zombie } = await busyThread(1);
      await fixture.process(0).kernel.cancel(zombie.run);
      await fixture.process(0).kernel.retry(zombie.run);
      const [next] = await fixture.claim(zombie.claimed.door, 1);
      await atOnce<unknown>(
        [
          () => send(fixture.process(0).db, [next!.finishes()]),
          ...Array.from({ length: 4 }, () => () => send(fixture.process(1).db, [zombie.finishes()])),
        ],
        [0, 0, 1, 1, 2],
      );
      await notBlocked(zombie.thread);
    }
  });

  async function notBlocked(thread: string): Promise<void> {
    const open = await fixture.rows<{ id: string; ready: boolean; active: boolean }>(
      `select r.id, r.ready, t.active_run_id = r.id as active from troupe.runs r join troupe.threads t on t.id = r.thread_id
        where t.id = $1 and r.status not in ('completed', 'failed', 'canceled') order by r.trigger_seq`,
      [thread],
    );
    if (open.length === 0) return;
    expect(open.filter((run) => run.ready)).toHaveLength(1);
    expect(open.filter((run) => run.active)).toHaveLength(1);
    expect(open.find((run) => run.ready)).toMatchObject({ active: true });
  }
});
