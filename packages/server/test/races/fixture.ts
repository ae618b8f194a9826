import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '@troupe/protocol';
import { Database, Kernel, newId, silentLogger } from '@troupe/server';
import { buildStart, KernelFixture, type KernelParts, openKernelParts, PATIENCE_MS } from '@troupe/testing';
import pg from 'pg';
import { expect, inject } from 'vitest';
import { type ClaimedRun, claim } from '../../src/store/queries/claim.ts';
import { type CommitItem, commit, type NewCall } from '../../src/store/queries/commit.ts';

/** Commits as a worker does. */
export const send = commit;

/** One Troupe process without a worker: its own pools, its own group commit. */
export interface Process {
  db: Database;
  kernel: Kernel;
}

type Post = Parameters<Kernel['post']>[0];
type StartOptions = NonNullable<Parameters<typeof buildStart>[3]>;

/**
 * For races: one database, several processes with connections of their own, and workers played by hand, so
 * that a test decides which commit meets which other one.
 */
export class RaceFixture extends KernelFixture {
  readonly processes: Process[];
  /** Of the agent that starts by default. */
  snapshotId = '';

  private constructor(parts: KernelParts, processes: Process[]) {
    super(parts);
    this.processes = processes;
  }

  static async open(postgresUrl: string, count = 2): Promise<RaceFixture> {
    const parts = await openKernelParts({ postgresUrl, work: false });
    const processes = Array.from({ length: count }, (_, n) => {
      const db = new Database({
        url: parts.databaseUrl,
        applicationName: `process ${n}`,
        kernelPoolSize: 8,
        logger: silentLogger,
      });
      return { db, kernel: new Kernel({ db, logger: silentLogger }) };
    });
    const fixture = new RaceFixture(parts, processes);
    fixture.snapshotId = await fixture.snapshot();
    await fixture.warmUp();
    return fixture;
  }

  /** Opens every connection beforehand, so that a race is not decided by who connects first. */
  async warmUp(): Promise<void> {
    for (const { db } of this.processes) {
      await Promise.all(Array.from({ length: 8 }, () => db.kernel.query('select pg_sleep(0.01)')));
    }
  }

  /** The processes in turn: the nth actor of a race. */
  process(n: number): Process {
    return this.processes[n % this.processes.length]!;
  }

  get pool(): pg.Pool {
    return this.db.pool;
  }

  /** Starts runs and has a worker played by hand hold them. */
  async hold(count: number, options: StartOptions = {}): Promise<Held[]> {
    const door = `door ${newId()}`;
    const items = Array.from({ length: count }, () =>
      this.item({ ...options, run: { door, ...options.run } }),
    );
    await Promise.all(items.map((item, n) => this.process(n).kernel.start(item)));
    return this.claim(options.run?.door ?? door, count);
  }

  item(options: StartOptions = {}, text = 'go') {
    return buildStart(this.ids, this.snapshotId, text, options);
  }

  post(thread: string, policy: Post['policy'], options: StartOptions = {}): Post {
    return { ...this.item({ ...options, thread, run: { serial: true, ...options.run } }), policy };
  }

  async claim(door: string, limit = 100, worker: string = newId(), n = 0): Promise<Held[]> {
    const claimed: ClaimedRun[] = [];
    for (;;) {
      const more = await claim(this.process(n).db, worker, Math.min(32, limit - claimed.length), [door], {});
      claimed.push(...more);
      if (more.length === 0 || claimed.length === limit) break;
    }
    return claimed.map((run) => new Held(run, worker));
  }

  /** Runs with one waiting call each (or more), parked. */
  async park(count: number, calls: number, deadlineMs = 3_600_000): Promise<Held[]> {
    const held = await this.hold(count);
    await Promise.all(
      held.map(async (run, n) => {
        const [verdict] = await commit(this.process(n).db, [run.asks(calls, 'client', deadlineMs)]);
        expect(verdict).toMatchObject({ ok: true, mode: 'parked' });
      }),
    );
    return held;
  }

  async status(run: string): Promise<string> {
    return String((await this.row(run)).status);
  }

  async rows<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(text, values)).rows;
  }

  /** Closes everything and returns how many deadlocks Postgres broke. Statistics are complete once all backends have ended. */
  async closeAndCountDeadlocks(): Promise<number> {
    for (const { db, kernel } of this.processes) {
      await kernel.close();
      await db.close();
    }
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    const backends = `select count(*)::int as n from pg_stat_activity where application_name like 'process %'`;
    while ((await client.query<{ n: number }>(backends)).rows[0]!.n > 0);
    const { rows } = await client.query<{ n: number }>(
      'select deadlocks::int as n from pg_stat_database where datname = current_database()',
    );
    await client.end();
    await this.close();
    if (rows[0]!.n > 0) console.error(circles());
    return rows[0]!.n;
  }

  /**
   * Holds the locks of rows until every action waits for one of them, then lets all go at once: each has opened its
   * snapshot before any of the others is done. `waiting` is how many are expected to queue up.
   */
  async behindLock<Answer>(
    lock: { runs?: string[]; threads?: string[] },
    actions: (() => Promise<Answer>)[],
    waiting = actions.length,
  ): Promise<Answer[]> {
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select from troupe.runs where id = any($1) order by id for update', [
        lock.runs ?? [],
      ]);
      await client.query('select from troupe.run_heads where run_id = any($1) order by run_id for update', [
        lock.runs ?? [],
      ]);
      await client.query('select from troupe.threads where id = any($1) order by id for update', [
        lock.threads ?? [],
      ]);
      const blocked = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'process %'`;
      const until = async (count: number) => {
        const began = performance.now();
        while ((await client.query<{ n: number }>(blocked)).rows[0]!.n < count) {
          // A transaction otherwise keeps the activity that it saw first, without the names of connections made since.
          await client.query('select pg_stat_clear_snapshot()');
          if (performance.now() - began > PATIENCE_MS) throw new Error(`never ${count} waiting for the lock`);
        }
      };
      const begun: Promise<Answer>[] = [];
      for (const action of actions) {
        begun.push(action());
        begun.at(-1)!.catch(() => {});
        // Where each waits by itself they stand in line as they are given, so that it is known who comes first.
        if (waiting === actions.length) await until(begun.length);
      }
      await until(waiting);
      const answers = Promise.all(begun);
      answers.catch(() => {});
      await client.query('commit');
      return await answers;
    } finally {
      await client.end();
    }
  }
}

/** All actions in the same turn of the event loop, each preceded by so many turns of waiting. */
export function atOnce<Answer>(actions: (() => Promise<Answer>)[], turns: number[] = []): Promise<Answer[]> {
  return Promise.all(
    actions.map(async (action, n) => {
      for (let turn = turns[n] ?? 0; turn > 0; turn--) await new Promise(setImmediate);
      return action();
    }),
  );
}

/** A run as the worker that holds it knows it; makes the commits that a worker would send. */
export class Held {
  readonly run: string;
  readonly thread: string;
  readonly claimed: ClaimedRun;
  readonly worker: string;
  step: number;
  version: number;
  known: number;
  steers: number;

  constructor(claimed: ClaimedRun, worker: string) {
    this.claimed = claimed;
    this.run = claimed.id;
    this.thread = claimed.threadId;
    this.worker = worker;
    this.step = claimed.step;
    this.version = claimed.version;
    this.known = claimed.lastSeq;
    this.steers = claimed.steers;
  }

  get fence() {
    return {
      run: this.run,
      worker: this.worker,
      epoch: this.claimed.epoch,
      version: this.version,
      thread: this.thread,
      known: this.known,
      steers: this.steers,
    };
  }

  get by() {
    return { run: this.run, worker: this.worker, epoch: this.claimed.epoch };
  }

  #step(): Pick<CommitItem, 'step' | 'stepRow'> {
    const now = Date.now();
    return {
      step: this.step + 1,
      stepRow: {
        provider: 'scripted',
        model: 'by hand',
        attempt: 1,
        startedAt: now,
        firstTokenAt: now,
        finishedAt: now,
        inputTokens: 1,
        outputTokens: 1,
        cost: 0,
        finishReason: 'stop',
      },
    };
  }

  /** The answer that ends the run. */
  finishes(text: string = `answer of ${this.run}`): CommitItem {
    return {
      ...this.fence,
      ...this.#step(),
      messages: [{ id: newId(), role: 'assistant', step: this.step + 1, content: { text } }],
      events: [{ type: 'message.created', message: 0 }],
      target: 'completed',
      outcome: { text },
      targetEvents: [{ type: 'run.completed' }],
      goEvents: [{ type: 'step.started', step: this.step + 2 }],
    };
  }

  /** An answer with calls, for somebody outside (then the run waits) or for this worker. */
  asks(calls: number, whom: 'client' | 'worker' = 'worker', deadlineMs = 3_600_000): CommitItem {
    const step = this.step + 1;
    const ids = Array.from({ length: calls }, (_, n) => callId(step, n));
    const outside = { status: 'requested', waitsFor: 'client', deadlineMs } as const;
    return {
      ...this.fence,
      ...this.#step(),
      messages: ids.map((id) => ({
        id: newId(),
        role: 'tool_call',
        callId: id,
        step,
        content: { id, name: 'tool', arguments: {} },
      })),
      events: ids.map((id, message) => ({ type: 'tool.started', message, data: { id } })),
      calls: ids.map((id): NewCall => {
        const base = { id, tool: 'tool', args: {}, effect: 'once' } as const;
        return whom === 'client' ? { ...base, ...outside } : { ...base, status: 'running' };
      }),
      ...(whom === 'client' ? { park: true, parkEvents: [{ type: 'run.waiting_tool' }] } : {}),
    };
  }

  /** The results of this worker's own calls of the current step. */
  results(calls: number, output: Json = 'done'): CommitItem {
    const ids = Array.from({ length: calls }, (_, n) => callId(this.step, n));
    return {
      ...this.fence,
      settled: ids.map((id) => ({ id, status: 'completed', output })),
      messages: ids.map((id) => ({
        id: newId(),
        role: 'tool_result',
        callId: id,
        step: this.step,
        content: { result: output, error: null },
      })),
      events: ids.map((id, message) => ({ type: 'tool.completed', message, data: { id } })),
      goEvents: [{ type: 'step.started', step: this.step + 1 }],
    };
  }

  /** Takes over what a commit answered. */
  learn(item: CommitItem, verdict: Awaited<ReturnType<typeof commit>>[number]): void {
    if (!verdict.ok) return;
    this.version = verdict.version;
    this.steers = verdict.steers ?? this.steers;
    this.known = verdict.seq + (item.messages?.length ?? 0);
    this.step = item.step ?? this.step;
  }
}

export function callId(step: number, n: number): string {
  return `call_${step}_${n}`;
}

/** What Postgres wrote about circles of locks: who waited for whom, with which statement. It is gone with the test run. */
function circles(): string {
  const log = readFileSync(join(inject('homesDirectory'), 'postgres', 'postgres.log'), 'utf8');
  return log
    .split(/^(?=.*deadlock detected)/m)
    .slice(1)
    .map((text) => text.slice(0, 4_000))
    .join('\n\n');
}
