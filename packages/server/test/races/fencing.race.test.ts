import { newId } from '@troupe/server';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { CommitItem } from '../../src/store/queries/commit.ts';
import { cancel } from '../../src/store/queries/outside.ts';
import { reap } from '../../src/store/queries/workers.ts';
import { type Held, RaceFixture, send } from './fixture.ts';

let fixture: RaceFixture;
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

/** Everything that is on disk about a run and its thread. */
async function picture(held: Held) {
  const [counters] = await fixture.rows(
    `select t.last_message_seq, t.last_event_seq, t.active_run_id,
      (select count(*)::int from troupe.messages m where m.thread_id = t.id) as messages,
      (select count(*)::int from troupe.events e where e.thread_id = t.id) as events,
      (select count(*)::int from troupe.run_steps s where s.run_id = $2) as steps
     from troupe.threads t where t.id = $1`,
    [held.thread, held.run],
  );
  return { counters, row: await fixture.row(held.run), calls: await fixture.calls(held.run) };
}

type Commit = (held: Held) => CommitItem;
const COMMITS: [string, Commit][] = [
  ['an answer with calls', (held) => held.asks(2)],
  ['an answer that ends the run', (held) => held.finishes()],
  ['an answer that waits', (held) => held.asks(1, 'client')],
  ['a commit without messages', (held) => ({ ...held.fence, events: [{ type: 'step.error' }] })],
  ['a retry', (held) => ({ ...held.fence, target: 'queued', delayMs: 60_000, attempt: 1 })],
  [
    'a failure',
    (held) => ({
      ...held.fence,
      close: true,
      target: 'failed',
      error: { code: 'x', message: 'x' },
      targetEvents: [{ type: 'run.failed' }],
    }),
  ],
];

const FENCES: [string, (item: CommitItem) => Partial<CommitItem>][] = [
  ['an older epoch', ({ epoch }) => ({ epoch: epoch - 1 })],
  ['a later epoch', ({ epoch }) => ({ epoch: epoch + 1 })],
  ['an older version', ({ version }) => ({ version: version - 1 })],
  ['a later version', ({ version }) => ({ version: version + 1 })],
  ['another worker', () => ({ worker: newId() })],
];

describe.each(COMMITS)('%s', (_what, commit) => {
  it.each(FENCES)('with %s is refused with what is true, and changes nothing', async (_fence, spoil) => {
    const [held] = await fixture.hold(1);
    const before = await picture(held!);
    const good = commit(held!);
    const item = { ...good, ...spoil(good) };
    const [verdict] = await send(fixture.process(0).db, [item]);
    expect(verdict).toMatchObject({
      ok: false,
      status: 'running',
      epoch: held!.claimed.epoch,
      version: held!.version,
      worker: held!.worker,
    });
    expect(await picture(held!)).toEqual(before);
  });

  it('sent twice is done once: the second is refused with the next version', async () => {
    const [held] = await fixture.hold(1);
    const item = commit(held!);
    const [first] = await send(fixture.process(0).db, [item]);
    expect(first).toMatchObject({ ok: true, version: item.version + 1 });
    const after = await picture(held!);
    const [second] = await send(fixture.process(1).db, [item]);
    expect(second).toMatchObject({ ok: false, epoch: item.epoch, version: item.version + 1 });
    expect(await picture(held!)).toEqual(after);
  });

  it('sent by two connections at once is done once', async () => {
    const [held] = await fixture.hold(1);
    const item = commit(held!);
    const verdicts = await fixture.behindLock({ runs: [held!.run] }, [
      () => send(fixture.process(0).db, [item]),
      () => send(fixture.process(1).db, [item]),
    ]);
    expect(verdicts.flat().filter((verdict) => verdict.ok)).toHaveLength(1);
    expect(verdicts.flat().find((verdict) => !verdict.ok)).toMatchObject({ version: item.version + 1 });
  });

  it('of a worker whose run was taken away is refused, and the run goes on untouched', async () => {
    const [held] = await fixture.hold(1);
    const item = commit(held!);
    await fixture.rows(`insert into troupe.workers (incarnation, host, pid, beat) values ($1, 'h', 1, 1)`, [
      held!.worker,
    ]);
    expect(await reap(fixture.process(0).db, held!.worker, 1, false)).toBe(1);
    expect((await send(fixture.process(0).db, [item]))[0]).toMatchObject({ ok: false, status: 'queued' });
    const [next] = await fixture.claim(held!.claimed.door, 1);
    const before = await picture(next!);
    expect((await send(fixture.process(0).db, [item]))[0]).toMatchObject({
      ok: false,
      status: 'running',
      epoch: held!.claimed.epoch + 1,
      worker: next!.worker,
    });
    expect(await picture(next!)).toEqual(before);
    expect((await send(fixture.process(0).db, [next!.finishes()]))[0]).toMatchObject({ ok: true });
  });

  it('of a canceled run is refused', async () => {
    const [held] = await fixture.hold(1);
    const item = commit(held!);
    await cancel(fixture.process(0).db, held!.run, 'user', null);
    const before = await picture(held!);
    expect((await send(fixture.process(1).db, [item]))[0]).toMatchObject({ ok: false, status: 'canceled' });
    expect(await picture(held!)).toEqual(before);
  });
});

it('a commit of a run that is not there is refused', async () => {
  const [held] = await fixture.hold(1);
  const item = { ...held!.finishes(), run: newId() };
  expect((await send(fixture.process(0).db, [item]))[0]).toMatchObject({ ok: false, status: 'missing' });
});

it('a result of a call that is no longer open is refused as a whole', async () => {
  const [held] = await fixture.hold(1);
  const answer = held!.asks(1);
  held!.learn(answer, (await send(fixture.process(0).db, [answer]))[0]!);
  const result = held!.results(1);
  held!.learn(result, (await send(fixture.process(0).db, [result]))[0]!);
  const before = await picture(held!);
  // Right fence, wrong call: impossible for a worker, so nothing of it may be written.
  await expect(send(fixture.process(0).db, [held!.results(1)])).rejects.toThrow('not open');
  expect(await picture(held!)).toEqual(before);
});

it('a stale absorber takes nothing over', async () => {
  const [target, absorber] = await fixture.hold(2);
  for (const by of [
    { ...absorber!.by, epoch: absorber!.by.epoch + 1 },
    { ...absorber!.by, worker: newId() },
    { ...absorber!.by, run: newId() },
  ]) {
    expect(await fixture.process(0).kernel.absorb(target!.run, by)).toEqual({
      ok: false,
      code: 'absorber_lost',
    });
  }
  expect(await fixture.status(target!.run)).toBe('running');
});

it('a run that is held again by the same worker refuses what that worker knew before', async () => {
  const door = `door ${newId()}`;
  const worker = newId();
  const item = fixture.item({ run: { door } });
  await fixture.process(0).kernel.start(item);
  const [before] = await fixture.claim(door, 1, worker);
  const [released] = await send(fixture.process(0).db, [{ ...before!.fence, target: 'queued' }]);
  expect(released).toMatchObject({ ok: true, mode: 'released' });
  const [after] = await fixture.claim(door, 1, worker);
  expect((await send(fixture.process(0).db, [before!.finishes()]))[0]).toMatchObject({ ok: false });
  expect((await send(fixture.process(0).db, [after!.finishes()]))[0]).toMatchObject({ ok: true });
});
