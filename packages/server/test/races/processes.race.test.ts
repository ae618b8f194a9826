import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { newId } from '@troupe/server';
import { oftenOf, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Posted, Started } from '../../src/store/queries/start.ts';
import { work } from './echo.ts';
import { RaceFixture } from './fixture.ts';
import type { Order } from './second-process.ts';

let fixture: RaceFixture;
let child: ChildProcess;
const answers = new Map<number, (message: { answer?: unknown; error?: string }) => void>();
let lastId = 0;

beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 1);
  const script = fileURLToPath(new URL('second-process.ts', import.meta.url));
  child = fork(script, [fixture.databaseUrl], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  child.on('message', (message: { id: number; answer?: unknown; error?: string }) =>
    answers.get(message.id)?.(message),
  );
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

type Asked<O> = O extends unknown ? Omit<O, 'id'> : never;

/** Has the other process do something; what it does begins at once, not when this is awaited. */
function theOther<Answer>(order: Asked<Order>): Promise<Answer> {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    answers.set(id, ({ answer, error }) => (error ? reject(new Error(error)) : resolve(answer as Answer)));
    child.send({ ...order, id });
  });
}

const here = () => fixture.process(0).kernel;
const serial = { run: { serial: true } };

describe('two processes', () => {
  it('that start the same message forty times make one run', async () => {
    for (let trial = 0; trial < oftenOf(12); trial++) {
      const { thread } = (await fixture.hold(1))[0]!;
      const message = newId();
      const items = () => Array.from({ length: 20 }, () => fixture.item({ thread, message }));
      const there = theOther<Started[]>({ do: 'start', items: items() });
      const starts = [...(await Promise.all(items().map((item) => here().start(item)))), ...(await there)];
      expect(starts.filter((start) => start.ok && !start.duplicate)).toHaveLength(1);
      expect(new Set(starts.map((start) => start.ok && start.run)).size).toBe(1);
      const [count] = await fixture.rows<{ runs: number; messages: number }>(
        `select (select count(*)::int from troupe.runs where trigger_message_id = $1) as runs,
          (select count(*)::int from troupe.messages where id = $1) as messages`,
        [message],
      );
      expect(count).toEqual({ runs: 1, messages: 1 });
    }
  });

  it('do not wait for whoever takes a run where they start it again', async () => {
    const first = fixture.item();
    await here().start(first);
    const taker = await fixture.pool.connect();
    try {
      // As `claim` does: the run first, and its thread behind it, which a start has from the beginning on.
      await taker.query('begin');
      const backend = await taker.query<{ pid: number }>('select pg_backend_pid() as pid');
      await taker.query(`update troupe.runs set run_at = run_at - interval '1 second' where id = $1`, [
        first.run.id,
      ]);
      const again = here().start(fixture.item({ thread: first.thread, message: first.message.id }));
      let settled = false;
      const ended = again.finally(() => {
        settled = true;
      });
      const waits = until('it has ended or waits for the taker', async () => {
        const { rows } = await fixture.pool.query(
          'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
          [backend.rows[0]!.pid],
        );
        return settled || rows.length > 0;
      }).then(() => 'it waits');
      expect(await Promise.race([ended, waits])).toMatchObject({
        ...{ ok: true, run: first.run.id, duplicate: true },
      });
      await taker.query('select from troupe.threads where id = $1 for update', [first.thread]);
    } finally {
      await taker.query('rollback');
      taker.release();
    }
  });

  it('that post the same message with every policy let it count once', async () => {
    for (let trial = 0; trial < oftenOf(12); trial++) {
      const [busy] = await fixture.hold(1, serial);
      const message = newId();
      const policy = (['queue', 'steer', 'interrupt'] as const)[trial % 3]!;
      const items = () => Array.from({ length: 6 }, () => fixture.post(busy!.thread, policy, { message }));
      const there = theOther<Posted[]>({ do: 'post', items: items() });
      const posts = [...(await Promise.all(items().map((item) => here().post(item)))), ...(await there)];
      expect(posts.filter((post) => post.ok && post.outcome !== 'duplicate')).toHaveLength(1);
      expect(posts.filter((post) => !post.ok)).toEqual([]);
    }
  });
});

describe('two processes that work', () => {
  beforeAll(async () => {
    await Promise.all([work(here()), theOther({ do: 'work' })]);
  });

  it('and start the same message answer it once', async () => {
    for (let trial = 0; trial < oftenOf(10); trial++) {
      const first = fixture.item({ run: { serial: true } });
      await here().start(first);
      await here().ended(first.run.id);
      const message = newId();
      // A run may be taken in the same breath as it starts: then the one that is answered is the one that was taken.
      const items = () =>
        Array.from({ length: 8 }, () => fixture.item({ thread: first.thread, message, ...serial }));
      const there = theOther<Started[]>({ do: 'start', items: items() });
      const starts = [...(await Promise.all(items().map((item) => here().start(item)))), ...(await there)];
      expect(starts.filter((start) => start.ok && !start.duplicate)).toHaveLength(1);
      const [run, ...others] = new Set(starts.map((start) => (start.ok ? start.run! : '')));
      expect(others).toEqual([]);
      expect(await here().ended(run!)).toMatchObject({ status: 'completed' });
      const said = (await fixture.messages(first.thread)).filter(({ role }) => role === 'assistant');
      expect(said).toHaveLength(2);
      expect(await fixture.row(run!)).toMatchObject({ takeovers: 0, step: 1 });
    }
  });

  it('and get messages for the same threads answer each exactly once, in order', async () => {
    const threads = await Promise.all(
      Array.from({ length: 15 }, async () => {
        const item = fixture.item(serial, 'first');
        await here().start(item);
        return item.thread;
      }),
    );
    const posts = threads.flatMap((thread) =>
      Array.from({ length: 6 }, (_, n) => ({
        ...fixture.item({ thread, ...serial }, `message ${n}`),
        policy: 'queue' as const,
      })),
    );
    const half = posts.length / 2;
    const there = theOther<Posted[]>({ do: 'post', items: posts.slice(half) });
    await Promise.all([...posts.slice(0, half).map((item) => here().post(item)), there]);
    // Every message starts its run; a few are canceled by the other process while they are worked on.
    const doomed = posts.filter((_, n) => n % 9 === 0).map((item) => item.run.id);
    await theOther({ do: 'cancel', runs: doomed });
    const open = () =>
      fixture.rows<{ id: string }>(
        `select id from troupe.runs where thread_id = any($1) and status not in ('completed', 'canceled')`,
        [threads],
      );
    await until('all messages answered', async () => (await open()).length === 0);

    const rows = await fixture.rows<{
      id: string;
      status: string;
      trigger_seq: number;
      answers: number;
      began: Date;
    }>(
      `select r.id, r.status, r.trigger_seq, r.thread_id, r.started_at as began,
        (select count(*)::int from troupe.messages m where m.thread_id = r.thread_id and m.run_id = r.id and m.role = 'assistant') as answers
       from troupe.runs r where r.thread_id = any($1) order by r.thread_id, r.trigger_seq`,
      [threads],
    );
    expect(rows).toHaveLength(15 * 7);
    for (const row of rows) {
      if (row.status === 'completed') expect(row.answers).toBe(1);
      else expect([doomed.includes(row.id), row.answers]).toEqual([true, 0]);
    }
    // One at a time per thread: no run began before the one before it had ended.
    const overlaps = await fixture.rows(
      `select a.id from troupe.runs a join troupe.runs b on b.thread_id = a.thread_id and b.trigger_seq > a.trigger_seq
        where a.thread_id = any($1) and b.started_at < coalesce(a.completed_at, a.canceled_at) and a.started_at is not null and b.started_at is not null`,
      [threads],
    );
    expect(overlaps).toEqual([]);
    const workers = await fixture.rows(
      'select distinct s.worker_id from troupe.run_steps s join troupe.runs r on r.id = s.run_id where r.thread_id = any($1)',
      [threads],
    );
    expect(workers.length).toBe(2);
  });
});
