import type { WaitsFor } from '@troupe/protocol';
import pg from 'pg';
import { Database, type StartItem, silentLogger } from '../../src/index.ts';
import { wakeForBudget } from '../../src/store/queries/budgets.ts';
import { claim, resync } from '../../src/store/queries/claim.ts';
import { type CommitItem, commit } from '../../src/store/queries/commit.ts';
import { saveDoors } from '../../src/store/queries/doors.ts';
import {
  absorb,
  cancel,
  expire,
  retry,
  type SettleOutcome,
  settle,
} from '../../src/store/queries/outside.ts';
import { post, start } from '../../src/store/queries/start.ts';
import {
  beat,
  disown,
  forgetWorker,
  heldBy,
  lockHolders,
  reap,
  rowlessHolders,
} from '../../src/store/queries/workers.ts';
import { CANCEL_EVENTS, PURSE } from './agents.ts';
import type { Method, Recorded } from './recorder.ts';
import { type PostItem, PROJECT } from './records.ts';

/** A date that the virtual clock counts from. */
const EPOCH_MS = 1_900_000_000_000;

/**
 * The real functions in a real Postgres whose clock stands still until it is set: `now` is looked up by name, and a
 * schema that comes before Postgres's own answers first.
 */
export class Replay {
  readonly #db: Database;
  readonly #admin: pg.Client;
  readonly #locks = new Set<string>();

  private constructor(db: Database, admin: pg.Client) {
    this.#db = db;
    this.#admin = admin;
  }

  static async open(url: string): Promise<Replay> {
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const { pathname } = new URL(url);
    await admin.query(`
      set synchronous_commit = off;
      create schema sim;
      create table sim.clock (at timestamptz);
      insert into sim.clock values (now());
      create function sim.now() returns timestamptz language sql stable as 'select at from sim.clock';
      create function sim.clock_timestamp() returns timestamptz language sql stable as 'select at from sim.clock';
      alter database ${pathname.slice(1)} set search_path = sim, pg_catalog;
      alter database ${pathname.slice(1)} set synchronous_commit = off`);
    const db = new Database({ url, applicationName: 'troupe/replay', logger: silentLogger });
    return new Replay(db, admin);
  }

  get pool(): pg.Pool {
    return this.#db.pool;
  }

  async close(): Promise<void> {
    await this.#db.close();
    await this.#admin.end();
  }

  /** An empty database with the agents and snapshots that the calls speak of. */
  async begin(log: Recorded[]): Promise<void> {
    const admin = this.#admin;
    await admin.query('select pg_advisory_unlock_all()');
    this.#locks.clear();
    // Nothing but a test throws the audit log away; it is empty here.
    await admin.query('alter table troupe.audit_log disable trigger user');
    await admin.query(
      'truncate troupe.projects, troupe.threads, troupe.runs, troupe.run_heads, troupe.messages, troupe.event_batches, troupe.run_steps, troupe.tool_calls, troupe.workers cascade',
    );
    await admin.query(`insert into troupe.projects (id, name) values ($1, 'project')`, [PROJECT]);
    await admin.query(
      `insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount) values ($1, $2, 'project', $2, 'tokens', 0)`,
      [PURSE, PROJECT],
    );
    await saveDoors(this.#db, [{ name: 'plain', cancelEvents: CANCEL_EVENTS }]);
    const runs = log
      .filter(({ method }) => method === 'start' || method === 'post')
      .flatMap(({ args }) => (args[0] as StartItem).run ?? []);
    for (const snapshot of new Set(runs.map((run) => run.snapshot)))
      await admin.query(
        `insert into troupe.compiled_snapshots (id, project_id, checksum, compiled) values ($1::uuid, $2, encode(sha256($1::uuid::text::bytea), 'hex'), '{}')`,
        [snapshot, PROJECT],
      );
    for (const entity of new Set(runs.map((run) => run.entity)))
      await admin.query(`insert into troupe.entities (id, project_id, type) values ($1, $2, 'human')`, [
        entity,
        PROJECT,
      ]);
  }

  /** The same call, at the same time by the database's clock. */
  async answer(call: Recorded): Promise<unknown> {
    await this.#admin.query('update sim.clock set at = to_timestamp($1::float8 / 1000)', [
      EPOCH_MS + call.at,
    ]);
    if (call.method === 'reap' || call.method === 'lockHolders') await this.#hold(call.locks);
    return CALLS[call.method](this.#db, ...call.args);
  }

  async #hold(locks: string[]): Promise<void> {
    for (const incarnation of new Set([...locks, ...this.#locks])) {
      const wanted = locks.includes(incarnation);
      if (wanted === this.#locks.has(incarnation)) continue;
      const change = wanted ? 'pg_advisory_lock' : 'pg_advisory_unlock';
      await this.#admin.query(`select ${change}(troupe.worker_lock($1))`, [incarnation]);
      if (wanted) this.#locks.add(incarnation);
      else this.#locks.delete(incarnation);
    }
  }
}

/** What the functions do that begin a run, a task or a wait for a call, without what they begin. */
async function handOver(
  db: Database,
  { run, worker, epoch }: Fence,
  call: string,
  { waitsFor, deadlineMs }: { waitsFor: WaitsFor; deadlineMs: number },
): Promise<boolean> {
  const { rows } = await db.pool.query<{ held: boolean }>(
    `with run as materialized (select r.id from troupe.runs r where r.id = $1 for no key update),
        held as materialized (select troupe.has_run(run.id, $2, $3) as held from run)
      select held, case when held then troupe.hand_over_call($1, $4, $5, $6) end from held`,
    [run, epoch, worker, call, waitsFor, deadlineMs],
  );
  return rows[0]?.held ?? false;
}

type Fence = { run: string; worker: string; epoch: number };
type Own = { id: string; epoch: number }[];

// biome-ignore lint/suspicious/noExplicitAny: the arguments were recorded from calls that were typed
const CALLS: Record<Method, (db: Database, ...args: any[]) => Promise<unknown>> = {
  start: async (db, item: StartItem) => (await start(db, [item]))[0],
  post: (db, item: PostItem) => post(db, item),
  claim: (db, worker: string, limit: number) => claim(db, worker, limit, ['plain'], {}),
  commit: async (db, item: CommitItem) => (await commit(db, [item]))[0],
  resync: (db, run: string, known: number) => resync(db, run, known),
  handOver: (db, by: Fence, call: string, how: { waitsFor: WaitsFor; deadlineMs: number }) =>
    handOver(db, by, call, how),
  settle: (db, run: string, call: string, outcome: SettleOutcome, by: string, message: string) =>
    settle(db, run, call, outcome, by, message),
  expire: (db, limit: number) => expire(db, limit),
  cancel: (db, run: string, reason: string, by: string) => cancel(db, run, reason, by),
  absorb: (db, target: string, by: Fence) => absorb(db, target, by),
  retry: (db, run: string) => retry(db, run),
  raiseBudget: (db, budget: string) => wakeForBudget(db, budget),
  beat: (db, incarnation: string, count: number) =>
    beat(db, {
      incarnation,
      beat: count,
      host: 'sim',
      pid: 1,
      capacity: 1,
      load: 0,
      draining: false,
      codeTools: [],
    }),
  heldBy: (db, incarnation: string) => heldBy(db, incarnation),
  rowlessHolders: (db) => rowlessHolders(db),
  lockHolders: (db, incarnations: string[]) => lockHolders(db, incarnations),
  reap: (db, incarnation: string, seen: number | null, hung: boolean) => reap(db, incarnation, seen, hung),
  disown: (db, incarnation: string, runs: Own) => disown(db, incarnation, runs),
  forgetWorker: (db, incarnation: string) => forgetWorker(db, incarnation),
  restart: async (db, crashed: boolean) => {
    if (crashed) await db.pool.query('delete from troupe.workers');
  },
};
