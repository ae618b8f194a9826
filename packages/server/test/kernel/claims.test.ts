import { createModels, newId, silentLogger } from '@troupe/server';
import { buildStart, codeTools, type KernelFixture, openKernel, plainDoor, until } from '@troupe/testing';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { claimErrors } from '../../src/kernel/meters.ts';
import { claim } from '../../src/store/queries/claim.ts';
import { start } from '../../src/store/queries/start.ts';

/** As stored these take a hundredth of it. In a JSON array, 33 are more than Postgres allows. */
const LARGE = 8_000_000;
const TOO_MANY = 33;

let fixture: KernelFixture;
let snapshot: string;
let logged: { level: string; run?: string }[];
beforeEach(async () => {
  logged = [];
  const log = (level: string) => (fields: { run?: string }) =>
    logged.push({ level, ...(fields.run ? { run: fields.run } : {}) });
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    work: false,
    script: () => ({ text: 'Done.' }),
    kernel: { logger: { ...silentLogger, error: log('error') } },
  });
  snapshot = await fixture.snapshot();
});
afterEach(async () => {
  await fixture.checkInvariants();
  await fixture.close();
});

const countOf = (kind: string) =>
  claimErrors.family().samples.find(({ labels }) => labels?.kind === kind)?.value ?? 0;

const work = () =>
  fixture.kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: fixture.scripted.provider }),
    tools: codeTools({}),
  });

/** Posts messages to a serial thread; all but the first run wait for their turn. */
async function post(agent: string, count: number, thread?: string) {
  const runs: string[] = [];
  for (let n = 0; n < count; n++) {
    const item = buildStart(fixture.ids, agent, `message ${n}`, {
      ...(thread ? { thread } : {}),
      run: { serial: true },
    });
    thread = item.thread;
    await fixture.kernel.start(item);
    runs.push(item.run.id);
  }
  return { thread: thread!, runs };
}

const enlarge = (thread: string, after: number, bytes = LARGE) =>
  fixture.db.pool.query(
    `update troupe.messages set content = jsonb_build_object('text', repeat('x', $3)) where thread_id = $1 and seq > $2`,
    [thread, after, bytes],
  );

/** Appends messages to a thread as those of a run. */
async function append(thread: string, run: string | null, count: number, bytes = LARGE) {
  await fixture.db.pool.query(
    `select troupe.append($1, $2, (select jsonb_agg(jsonb_build_object('role', 'assistant', 'step', 1,
      'content', jsonb_build_object('text', ''))) from generate_series(1, $3::int)), null)`,
    [thread, run, count],
  );
  await fixture.db.pool.query(
    `update troupe.messages set content = jsonb_build_object('text', repeat('x', $2)) where thread_id = $1 and role = 'assistant'`,
    [thread, bytes],
  );
}

describe('a queue of messages that are larger together than Postgres allows', () => {
  it('stops neither its own run nor those of other threads', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const agent = await fixture.scriptedAgent(async () => {
      asked.resolve();
      await answer.promise;
      return { text: 'Done.' };
    });
    const { thread, runs } = await post(agent, TOO_MANY + 1);
    await enlarge(thread, 1);
    const other = await fixture.start(snapshot);
    await work();
    expect(await fixture.kernel.ended(other.run)).toMatchObject({ status: 'completed' });
    await asked.promise;
    expect(fixture.scripted.requests.at(-1)!.messages).toHaveLength(1);

    // The commit of the run meets messages that were queued since it was claimed; some of them are not to be answered.
    const later = await post(agent, TOO_MANY, thread);
    await enlarge(thread, 1 + TOO_MANY);
    for (const run of [...runs.slice(1), ...later.runs]) await fixture.kernel.cancel(run);
    answer.resolve();
    expect(await fixture.kernel.ended(runs[0]!)).toMatchObject({ status: 'completed' });
    expect(logged).toEqual([]);
  });
});

describe('a run that cannot be loaded', () => {
  it('fails alone, with a reason, and the runs that are due with it are worked on', async () => {
    const poisoned = await post(snapshot, 2);
    const [poison, next] = poisoned.runs as [string, string];
    await append(poisoned.thread, poison, TOO_MANY + 1);
    const others = await Promise.all(Array.from({ length: 4 }, () => fixture.start(snapshot)));
    const before = countOf('run');
    await work();
    expect(await fixture.kernel.ended(poison)).toMatchObject({
      status: 'failed',
      error: { code: 'claim_failed', message: expect.stringContaining('jsonb array elements') },
    });
    for (const { run } of others) {
      expect(await fixture.kernel.ended(run)).toMatchObject({ status: 'completed' });
    }
    // Its messages are those of another run for the next one, which goes on without the oldest.
    expect(await fixture.kernel.ended(next)).toMatchObject({ status: 'completed' });
    expect((await fixture.events(poisoned.thread)).map(({ type }) => type)).toContain('run.failed');
    expect(logged).toEqual([{ level: 'error', run: poison }]);
    expect(countOf('run') - before).toBe(1);
  });

  it('is tried again later, if not even its row can be changed', async () => {
    const { run: poison } = await fixture.start(snapshot);
    const other = await fixture.start(snapshot);
    await fixture.db.pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before update of worker_id on troupe.runs for each row when (new.id = '${poison}') execute function refuse()`,
    );
    await work();
    expect(await fixture.kernel.ended(other.run)).toMatchObject({ status: 'completed' });
    expect(await fixture.row(poison)).toMatchObject({ status: 'queued' });
    const next = await fixture.start(snapshot);
    expect(await fixture.kernel.ended(next.run)).toMatchObject({ status: 'completed' });
    const { rows } = await fixture.db.pool.query(
      'select run_at > now() as later from troupe.runs where id = $1',
      [poison],
    );
    expect(rows).toEqual([{ later: true }]);
  });

  it('is logged as an error and counted, if the statement fails for all runs', async () => {
    await fixture.db.pool.query(
      `alter function troupe.claim(uuid, integer, text[], jsonb, text[]) rename to hidden_claim`,
    );
    const before = countOf('statement');
    await work();
    await until('the error is logged', async () => logged.length > 0);
    expect(countOf('statement')).toBeGreaterThan(before);
    await fixture.db.pool.query(
      `alter function troupe.hidden_claim(uuid, integer, text[], jsonb, text[]) rename to claim`,
    );
    const { run } = await fixture.start(snapshot);
    expect(await fixture.kernel.ended(run)).toMatchObject({ status: 'completed' });
  });
});

describe('what a claim loads', () => {
  const claimed = async (limit: number) => claim(fixture.db, newId(), limit, ['plain'], {});
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

  it('is bounded for each run, whatever Postgres makes of the messages', async () => {
    const { thread, runs } = await post(snapshot, 1);
    await append(thread, newId(), 40);
    const [run] = await claimed(1);
    expect(run!.id).toBe(runs[0]);
    expect(bytes(run!.messages)).toBeLessThan(25 * 1024 * 1024);
    // The trigger and the newest of the others.
    expect(run!.messages.map(({ seq }) => seq)).toEqual([1, 39, 40, 41]);
  });

  it('is bounded for all runs of a statement, and the rest is due at once', async () => {
    for (let n = 0; n < 5; n++) {
      const { thread } = await post(snapshot, 1);
      await append(thread, newId(), 2);
    }
    const seen = new Set<string>();
    const sizes: number[] = [];
    for (let statements = 0; statements < 5 && seen.size < 5; statements++) {
      const runs = await claimed(32);
      sizes.push(bytes(runs));
      for (const { id } of runs) seen.add(id);
      if (seen.size < 5) expect(runs.some(({ more }) => more)).toBe(true);
    }
    expect(seen.size).toBe(5);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(64 * 1024 * 1024);
  });

  it('costs the same with 10 and with 2,000 messages that wait', async () => {
    const cost = async (count: number) => {
      const { thread } = await post(snapshot, 1);
      const items = Array.from({ length: count }, (_, n) =>
        buildStart(fixture.ids, snapshot, `message ${n}`, { thread, run: { serial: true } }),
      );
      await start(fixture.db, items);
      await fixture.db.pool.query('vacuum analyze troupe.runs, troupe.messages, troupe.threads');
      const client = await fixture.db.pool.connect();
      try {
        const read = async () => {
          await client.query('begin');
          const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
            `explain (analyze, buffers, format json) select troupe.claim('${newId()}', 1, '{plain}', '{}')`,
          );
          const claimed = await client.query<{ run: { messages: object[] } }>(
            `select r.thread_id = $1 as own, troupe.tail(r.thread_id, r.id, r.trigger_seq, r.history_limit) as messages
            from troupe.runs r where r.status = 'running'`,
            [thread],
          );
          await client.query('rollback');
          const plan = rows[0]!['QUERY PLAN'][0].Plan;
          return {
            buffers: plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!,
            claimed: claimed.rows as unknown[],
          };
        };
        // Once, so that the plans are made.
        await read();
        const { buffers, claimed } = await read();
        expect(claimed).toMatchObject([{ own: true, messages: [{ seq: 1 }] }]);
        await fixture.db.pool.query(
          `select troupe.cancel(id, 'user', null) from troupe.runs where thread_id = $1 and not ready`,
          [thread],
        );
        await fixture.db.pool.query(
          `select troupe.cancel(id, 'user', null) from troupe.runs where thread_id = $1 and status = 'queued'`,
          [thread],
        );
        return buffers;
      } finally {
        client.release();
      }
    };
    const [few, many] = [await cost(10), await cost(2_000)];
    // A deeper index; a single page for each message would be 2,000.
    expect(many).toBeLessThan(few + 40);
  });
});
