import type { AgentSnapshotInput, Json } from '@troupe/protocol';
import type { StartItem } from '@troupe/server';
import { buildStart, KernelFixture, openKernelParts, until, violations } from '@troupe/testing';
import { expect, vi } from 'vitest';
import { createEffects, effectProblems } from './effects.ts';
import type { Job } from './orders.ts';
import { dismiss, enlist, type WorkerProcess } from './worker-processes.ts';

vi.setConfig({ maxConcurrency: 3 });

/** A database with one agent, worker processes at will, and a test that stands outside. */
export class CrashFixture extends KernelFixture implements AsyncDisposable {
  readonly #workers: WorkerProcess[] = [];

  static async open(postgresUrl: string): Promise<CrashFixture> {
    const fixture = new CrashFixture(await openKernelParts({ postgresUrl, work: false }));
    await fixture.kernel.listen();
    await createEffects(fixture.db.pool);
    return fixture;
  }

  /** A process that has not begun to work yet. */
  enlist(): WorkerProcess {
    const worker = enlist();
    this.#workers.push(worker);
    return worker;
  }

  async worker(job: Omit<Job, 'url'> = {}, worker: WorkerProcess = this.enlist()): Promise<WorkerProcess> {
    await worker.work({ url: this.databaseUrl, ...job });
    return worker;
  }

  item(snapshot: string, text: string, run: Parameters<typeof buildStart>[3] = {}) {
    return buildStart(this.ids, snapshot, text, run);
  }

  async startAgent(agent: Partial<AgentSnapshotInput>, text: string, door?: string): Promise<string> {
    return (await this.startAgents(agent, text, 1, door))[0]!;
  }

  /** The same agent with the same words. */
  async startAgents(
    agent: Partial<AgentSnapshotInput>,
    text: string,
    count: number,
    door?: string,
  ): Promise<string[]> {
    const snapshot = await this.snapshot(agent);
    const items = Array.from({ length: count }, () =>
      this.item(snapshot, text, door ? { run: { door } } : {}),
    );
    await Promise.all(items.map((item: StartItem) => this.kernel.start(item)));
    return items.map((item) => item.run.id);
  }

  async query<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.db.pool.query(text, values)).rows as Row[];
  }

  async count(text: string, values: unknown[] = []): Promise<number> {
    return (await this.query<{ n: number }>(`select count(*)::int as n from ${text}`, values))[0]!.n;
  }

  /** Effects that have begun. */
  effects(where: string, values: unknown[] = []): Promise<number> {
    return this.count(`effects where ${where}`, values);
  }

  /** Does what people and clients are asked to do, if anything waits. Answers with how many runs have not ended. */
  async attend(outside: (fixture: CrashFixture) => Promise<unknown>): Promise<number> {
    const [runs] = await this.query<{ open: number; waiting: number }>(
      `select count(*) filter (where status not in ('completed', 'failed', 'canceled'))::int as open,
        count(*) filter (where status = 'waiting_tool')::int as waiting from troupe.runs`,
    );
    if (runs!.waiting > 0) await outside(this);
    return runs!.open;
  }

  /** Until every run has ended. */
  async finish(
    outside: (fixture: CrashFixture) => Promise<unknown> = settleAll,
  ): Promise<Record<string, string>> {
    await until('all runs have ended', async () => (await this.attend(outside)) === 0);
    const rows = await this.query<{ id: string; status: string }>('select id, status from troupe.runs');
    return Object.fromEntries(rows.map((row) => [row.id, row.status]));
  }

  /** How long after `since` the runs were taken again by another worker, in milliseconds. */
  async takenAgain(runs: string[], since: number): Promise<number[]> {
    const rows = await this.query<{ ms: number }>(
      `select (extract(epoch from min(e.created_at)) * 1000 - $2)::float8 as ms from troupe.events e
        where e.run_id = any($1) and e.type = 'run.resumed' group by e.run_id`,
      [runs, since],
    );
    return rows.map((row) => row.ms);
  }

  /** Runs that a worker holds. */
  async heldBy(worker: WorkerProcess): Promise<string[]> {
    const held = await this.query<{ id: string }>(
      `select id from troupe.runs where status = 'running' and worker_id = $1`,
      [worker.incarnation],
    );
    return held.map((row) => row.id);
  }

  /** Everything on record about a run, to see whether it stays as it is. */
  async record(run: string): Promise<Json> {
    const rows = await this.query<{ record: Json }>(
      `select jsonb_build_object('run', to_jsonb(r), 'head', to_jsonb(h), 'thread', to_jsonb(t),
        'calls', (select jsonb_agg(to_jsonb(c) order by c.step, c.position) from troupe.tool_calls c where c.run_id = r.id),
        'steps', (select jsonb_agg(to_jsonb(s) order by s.step) from troupe.run_steps s where s.run_id = r.id),
        'messages', (select jsonb_agg(to_jsonb(m) order by m.seq) from troupe.messages m where m.thread_id = t.id),
        'events', (select jsonb_agg(to_jsonb(e) order by e.seq) from troupe.events e where e.thread_id = t.id)) as record
      from troupe.runs r join troupe.run_heads h on h.run_id = r.id join troupe.threads t on t.id = r.thread_id where r.id = $1`,
      [run],
    );
    return rows[0]!.record;
  }

  /** What must be true whatever happened. */
  async check(): Promise<void> {
    const { pool } = this.db;
    expect([...(await violations(pool)), ...(await effectProblems(pool))]).toEqual([]);
  }

  /** Ends a worker's job before the fixture is closed. */
  dismiss(worker: WorkerProcess): Promise<void> {
    this.#workers.splice(this.#workers.indexOf(worker), 1);
    return dismiss(worker);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map(dismiss));
    await this.close();
  }
}

/** Clients answer whatever a waiting run asks them; `runs`: these alone. */
export async function settleAll(fixture: CrashFixture, runs: string[] | null = null): Promise<void> {
  const waiting = await fixture.query<{ run_id: string; call_id: string }>(
    `select c.run_id, c.call_id from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
      where c.waits_for = 'client' and r.status = 'waiting_tool' and ($1::uuid[] is null or r.id = any($1))`,
    [runs],
  );
  for (const { run_id, call_id } of waiting)
    await fixture.kernel.settle(run_id, call_id, { status: 'completed', output: 'yes' }, 'client');
}

/** A person approves whatever waits for it. */
export async function approveAll(fixture: CrashFixture): Promise<void> {
  const waiting = await fixture.query<{ run_id: string; call_id: string }>(
    `select run_id, call_id from troupe.tool_calls where waits_for = 'approval'`,
  );
  for (const { run_id, call_id } of waiting)
    await fixture.kernel.settle(run_id, call_id, { status: 'proceed' }, 'ann');
}
