import { setTimeout as delay } from 'node:timers/promises';
import type { AgentSnapshot, RunError } from '@troupe/protocol';
import { type Logger, messageOf, newId } from '../base/index.ts';
import {
  type ClaimedRun,
  claim,
  type Database,
  disown,
  heldBy,
  isConnectionError,
  isContention,
  isDiskFull,
  type Resync,
  resync,
  saveDoors,
} from '../store/index.ts';
import { Budgets } from './budget.ts';
import { codeToolsOf } from './code-tools.ts';
import type { Commits } from './commits.ts';
import type { Door } from './door.ts';
import { DoorTools } from './door-tools.ts';
import { Liveness } from './liveness.ts';
import { type Ended, type GoneHow, type LoopDependencies, RunLoop } from './loop.ts';
import { claimErrors, runsClaimed, runsEnded } from './meters.ts';
import type { ModelDelta, Models, Tools } from './ports.ts';
import type { Probe } from './probe.ts';
import { type Hints, Signals } from './signals.ts';
import { Snapshots } from './snapshots.ts';
import { StandingBudgets } from './standing-budgets.ts';
import { Sweeper } from './sweeper.ts';
import type { Telemetry } from './telemetry.ts';

export interface WorkerOptions {
  db: Database;
  commits: Commits;
  doors: Door[];
  models: Models;
  tools: Tools;
  /** How many runs at once. */
  capacity?: number;
  /** How long a stopping worker waits for what is under way. */
  graceMs?: number;
  logger: Logger;
  probe?: Probe | undefined;
  onDelta?: ((run: ClaimedRun, step: number, delta: ModelDelta) => void) | undefined;
  /** A run was taken, something of it is on disk, or it left. */
  onTouched?: ((run: ClaimedRun, threads: string[]) => void) | undefined;
  onLive?: LoopDependencies['onLive'];
  onSaid?: LoopDependencies['onSaid'];
  telemetry?: Telemetry | undefined;
  onTaken?: (run: ClaimedRun) => void;
  /** A run left this worker for good. */
  onEnded?: (run: ClaimedRun, ended: Ended) => void;
  /** It waits for somebody outside, and this worker has let go of it. */
  onParked?: (run: ClaimedRun) => void;
  /** Children, or calls that waited for them, have ended. */
  onJoins?: () => void;
}

const POLL_MS = 250;
const MOST_PER_CLAIM = 32;
const CHECK_HELD_MS = 1_000;
/** The pause after a failed claim, doubled with each further failure. */
const CLAIM_PAUSE_MS = 100;
const MAX_CLAIM_PAUSE_MS = 2_000;
const CLAIM_FAILED =
  'The messages and tool calls of this run could not be loaded. Start a new session, or fork one from an earlier run. The database reported:';
const STRANGER_MS = 900;

/** Takes runs from the queue and works on them, as many at once as it has places for. */
export class Worker {
  readonly incarnation = newId();
  readonly signals: Signals;
  readonly #options: WorkerOptions;
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #capacity: number;
  /** Runs that need others are for other workers. */
  readonly #codeTools: readonly string[];
  readonly #doors: Record<string, Door>;
  readonly #startEvents: Record<string, string[]>;
  readonly #loops = new Map<string, RunLoop>();
  readonly #liveness: Liveness;
  readonly #snapshots: Snapshots;
  readonly #doorTools = new DoorTools();
  readonly #budgets: Budgets;
  readonly standing: StandingBudgets;
  readonly #sweeper: Sweeper;
  readonly #dependencies: LoopDependencies;
  /** Runs that the database says are held here and nobody works on, and since when. */
  #strangers = new Map<string, { epoch: number; since: number }>();
  #claiming: Promise<void> | null = null;
  /** In a row. */
  #failedClaims = 0;
  #hinted = false;
  #pollTimer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  /** Places that runs are about to take which start here. */
  #promised = 0;
  /** A hint came while there was no place. */
  #missed = false;
  #draining = false;
  #stopped = false;
  #onIdle: (() => void) | null = null;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#db = options.db;
    this.#logger = options.logger;
    this.#capacity = options.capacity ?? 100;
    this.#codeTools = options.tools.code ?? [];
    this.#doors = Object.fromEntries(options.doors.map((door) => [door.name, door]));
    this.#startEvents = Object.fromEntries(options.doors.map((door) => [door.name, door.startEvents ?? []]));
    this.#snapshots = new Snapshots(this.#db);
    this.#budgets = new Budgets(this.#db, this.incarnation);
    this.standing = new StandingBudgets(this.#db);
    this.#liveness = new Liveness(this.#db, {
      incarnation: this.incarnation,
      logger: this.#logger,
      load: () => ({
        capacity: this.#capacity,
        load: this.#loops.size,
        draining: this.#draining,
        codeTools: this.#codeTools,
      }),
      onReaped: () => {
        this.wake();
        this.signals.send({ queued: true });
      },
      verify: async () => {
        await this.#budgets.verify();
        await this.#checkHeld();
      },
      ...(options.probe ? { onReap: (when: 'before' | 'after') => options.probe!('reap', when, []) } : {}),
    });
    this.signals = new Signals(this.#db, {
      logger: this.#logger,
      lockFor: { incarnation: this.incarnation, isShared: false },
      onReconnect: () => this.#liveness.amnesty(),
    });
    this.#sweeper = new Sweeper(this.#db, {
      logger: this.#logger,
      probe: options.probe,
      codeTools: this.#codeTools,
      telemetry: options.telemetry,
      onQueued: () => this.wake(),
      onJoins: () => options.onJoins?.(),
    });
    this.#dependencies = {
      incarnation: this.incarnation,
      doors: this.#doors,
      models: options.models,
      tools: options.tools,
      budgets: this.#budgets,
      standing: this.standing,
      commit: (item) => options.commits.commit.submit(item),
      resync: (run, known) => this.#resync(run, known),
      lease: this.#liveness,
      probe: options.probe,
      onDelta: options.onDelta,
      onCommitted: options.onTouched,
      onLive: options.onLive,
      onSaid: options.onSaid,
      telemetry: options.telemetry,
      logger: this.#logger,
    };
  }

  async start(): Promise<void> {
    await saveDoors(
      this.#db,
      Object.values(this.#doors).map(({ name, cancelEvents = [] }) => ({ name, cancelEvents })),
    );
    await this.signals.connect();
    await this.#liveness.start();
    this.signals.listen((hints) => this.#hear(hints));
    await this.standing.start();
    this.#sweeper.start();
    this.#checkTimer = setInterval(() => void this.#checkHeld().catch(() => {}), CHECK_HELD_MS);
    this.wake();
  }

  get load(): number {
    return this.#loops.size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Something may be due. Answers whether this worker has a place for it. */
  wake(): boolean {
    if (this.#free() <= 0) {
      this.#missed = true;
      return false;
    }
    this.#hinted = true;
    this.#claimSoon();
    return true;
  }

  #free(): number {
    return this.#draining ? 0 : this.#capacity - this.#loops.size - this.#promised;
  }

  /**
   * A place for a run that is about to start, unless others wait for one already. Null where there is none; otherwise
   * the run must be brought or the place given back.
   */
  promise(door: string): { worker: string; events: string[] } | null {
    if (this.#missed || this.#free() <= 0 || !Object.hasOwn(this.#doors, door)) return null;
    this.#promised++;
    return { worker: this.incarnation, events: this.#startEvents[door]! };
  }

  /**
   * Whether this worker has all code tools that a run with this snapshot needs; null where it does not know the snapshot yet
   * and has to look (`learn`).
   */
  fits(snapshot: string): boolean | null {
    const known = this.#snapshots.known(snapshot);
    return known ? this.#hasCodeOf(known) : null;
  }

  /** Reads a snapshot, which is kept. One that is not there fails the run, whoever takes it. */
  async learn(snapshot: string): Promise<boolean> {
    const read = (await this.#snapshots.load([snapshot])).get(snapshot);
    return !read || this.#hasCodeOf(read);
  }

  #hasCodeOf(snapshot: Parameters<typeof codeToolsOf>[0]): boolean {
    return codeToolsOf(snapshot).every((name) => this.#codeTools.includes(name));
  }

  /** Whether this worker has the run, or may be about to. */
  expects(run: string): boolean {
    return this.#promised > 0 || this.#loops.has(run);
  }

  /** Brings the run that the place was promised to; null gives the place back. */
  async bring(run: ClaimedRun | null): Promise<void> {
    try {
      if (!run) return;
      runsClaimed.add(1, 'start');
      const snapshots = await this.#snapshots.load([run.snapshotId]);
      this.#takeOrFail(run, snapshots.get(run.snapshotId));
    } catch (error) {
      // It is held here and nobody works on it: the next look finds it and gives it back.
      this.#logger.debug(
        { run: run?.id, error: messageOf(error) },
        'a run that started here could not be taken',
      );
    } finally {
      this.#promised--;
      if (this.#loops.size + this.#promised === 0) this.#onIdle?.();
      if (this.#missed) this.wake();
    }
  }

  #hear(hints: Hints): void {
    if (hints.budgets) this.standing.changed();
    if (hints.queued) this.wake();
    if (hints.runs?.some((run) => this.#loops.has(run))) void this.#checkHeld().catch(() => {});
  }

  #claimSoon(): void {
    if (this.#claiming || this.#stopped || this.#free() <= 0) return;
    clearTimeout(this.#pollTimer);
    this.#claiming = this.#claim()
      .then(
        () => {
          this.#failedClaims = 0;
        },
        (error) => this.#claimFailed(error),
      )
      .then(() => {
        this.#claiming = null;
        if (this.#stopped) return;
        // Places may have been promised meanwhile: then the poll goes on, or nobody would look again.
        if (this.#hinted && this.#free() > 0) this.#claimSoon();
        else this.#pollTimer = setTimeout(() => this.wake(), POLL_MS);
      });
  }

  /** Counts and logs an error of the claim statement, and waits before the next one. */
  async #claimFailed(error: unknown): Promise<void> {
    const kind = isConnectionError(error) ? 'connection' : isContention(error) ? 'contention' : 'statement';
    claimErrors.add(1, kind);
    // A lost connection is logged by the heartbeat, and contention passes.
    this.#logger[kind === 'statement' ? 'error' : 'debug']({ error: messageOf(error) }, 'claim failed');
    await delay(Math.min(CLAIM_PAUSE_MS * 2 ** this.#failedClaims++, MAX_CLAIM_PAUSE_MS));
  }

  async #claim(): Promise<void> {
    const { probe } = this.#options;
    this.#hinted = false;
    this.#missed = false;
    const limit = Math.min(this.#free(), MOST_PER_CLAIM);
    if (limit <= 0) return;
    if (probe) await probe('claim', 'before', []);
    const runs = await claim(
      this.#db,
      this.incarnation,
      limit,
      Object.keys(this.#doors),
      this.#startEvents,
      this.#codeTools,
    );
    if (probe && runs.length > 0)
      await probe(
        'claim',
        'after',
        runs.map((run) => run.id),
      );
    if (runs.length === limit || runs.some(({ more }) => more)) {
      this.#hinted = true;
      this.#missed = true;
    }
    if (runs.length === 0) return;
    runsClaimed.add(runs.length, 'queue');
    const snapshots = await this.#snapshots.load(runs.map((run) => run.snapshotId));
    for (const run of runs) this.#takeOrFail(run, snapshots.get(run.snapshotId));
  }

  /** A run that this worker cannot work on fails with a reason. Otherwise it would be claimed again and again. */
  #takeOrFail(run: ClaimedRun, snapshot: AgentSnapshot | undefined): void {
    const { unclaimable } = run;
    if (unclaimable) {
      claimErrors.add(1, 'run');
      this.#logger.error({ run: run.id, error: unclaimable }, 'a run could not be claimed');
      // The next check of the runs that this worker holds returns it to the queue.
      if (!isContention(unclaimable) && !isDiskFull(unclaimable)) {
        const reason = `${unclaimable.message} (${unclaimable.code})`;
        void this.#fail(run, { code: 'claim_failed', message: `${CLAIM_FAILED} ${reason}.` });
      }
    } else if (!snapshot) {
      this.#logger.error(
        { run: run.id, snapshot: run.snapshotId },
        'a run names a snapshot that is not there',
      );
      const message = 'What this run was to execute is no longer there.';
      void this.#fail(run, { code: 'snapshot_missing', message });
    } else {
      try {
        this.#take(run, snapshot);
      } catch (error) {
        claimErrors.add(1, 'run');
        this.#logger.error({ run: run.id, error: messageOf(error) }, 'a run could not be taken');
        this.#loops.delete(run.id);
        void this.#fail(run, { code: 'claim_failed', message: `${CLAIM_FAILED} ${messageOf(error)}` });
      }
    }
  }

  async #fail(run: ClaimedRun, error: RunError): Promise<void> {
    const item = {
      ...{ run: run.id, worker: this.incarnation, epoch: run.epoch, version: run.version },
      ...{ thread: run.threadId, known: run.lastSeq, steers: run.steers },
      ...{ close: true, target: 'failed' as const, error },
      targetEvents: [...(this.#doors[run.door]?.failEvents ?? []), 'run.failed'].map((type) => ({
        type,
        data: { code: error.code, message: error.message },
      })),
    };
    // If the commit fails, the next check of the runs that this worker holds returns the run to the queue.
    const verdict = await this.#options.commits.commit.submit(item).catch(() => null);
    if (!verdict?.ok) return;
    runsEnded.add(1, 'failed');
    this.#options.onEnded?.(run, { status: 'failed', outcome: null, error });
    this.#options.onTouched?.(run, []);
    if (verdict.promoted) this.wake();
  }

  #take(run: ClaimedRun, snapshot: AgentSnapshot): void {
    const door = this.#doors[run.door]!;
    const loop = new RunLoop(
      run,
      this.#doorTools.with(door, snapshot),
      door,
      this.#dependencies,
      (how, ended, promoted) => {
        this.#gone(run, how, ended, promoted || door.hasFollowers?.(run) === true);
        if (door.live) this.#options.onSaid?.(run, null);
        this.#options.onTouched?.(run, loop.threads);
      },
    );
    // What is claimed here again was taken away before, even if nobody has noticed yet.
    this.#loops.get(run.id)?.dispatch({ type: 'lost' });
    this.#loops.set(run.id, loop);
    this.#options.onTouched?.(run, loop.threads);
    this.#options.onTaken?.(run);
    loop.start();
    if (this.#draining) loop.dispatch({ type: 'drain' });
  }

  /** A commit is sent until it is answered; so is the question what became of it. */
  async #resync(run: string, known: number): Promise<Resync> {
    for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
      try {
        return await resync(this.#db, run, known);
      } catch (error) {
        if (this.#stopped || !isConnectionError(error)) throw error;
        await delay(pause);
      }
    }
  }

  #gone(run: ClaimedRun, how: GoneHow, ended: Ended | null, promoted: boolean): void {
    this.#loops.delete(run.id);
    if (ended) {
      runsEnded.add(1, ended.status);
      // Of others, which end in many places, the sweeper tells.
      if (ended.status === 'completed') this.#options.telemetry?.ended([run.id]);
      this.#options.onEnded?.(run, ended);
    }
    if (how === 'parked') this.#options.onParked?.(run);
    if (this.#loops.size + this.#promised === 0) this.#onIdle?.();
    if (how === 'released' || this.#missed || promoted) this.wake();
  }

  /**
   * Compares what the database says this worker holds with what it works on. A run that was taken away stops at once
   * instead of at its next commit; a run that was claimed but whose claim was never answered goes back.
   */
  async #checkHeld(): Promise<void> {
    const before = new Set(this.#loops.values());
    const claimingBefore = this.#claiming !== null;
    const held = new Map((await heldBy(this.#db, this.incarnation)).map((row) => [row.id, row.epoch]));
    for (const loop of before) {
      if (loop.gone || held.get(loop.run.id) === loop.run.epoch) continue;
      // A commit under way may be what ended it here; if not, its answer is older than this one.
      if (loop.committing) loop.doubted = true;
      else loop.dispatch({ type: 'lost' });
    }
    const now = performance.now();
    const strangers = new Map<string, { epoch: number; since: number }>();
    for (const [id, epoch] of held) {
      if (this.#loops.get(id)?.run.epoch === epoch) continue;
      const known = this.#strangers.get(id);
      if (known?.epoch === epoch) strangers.set(id, known);
      else if (!claimingBefore && this.#claiming === null) strangers.set(id, { epoch, since: now });
    }
    // For a while, so that a claim or a start whose answer is on its way is not mistaken for a lost one.
    const lost = [...strangers]
      .filter(([, { since }]) => now - since >= STRANGER_MS)
      .map(([id, { epoch }]) => ({ id, epoch }));
    this.#strangers = strangers;
    if (lost.length > 0) {
      await disown(this.#db, this.incarnation, lost);
      this.wake();
    }
  }

  /** Takes nothing new, commits what is under way, gives the rest back. */
  async drain(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    clearTimeout(this.#pollTimer);
    const graceMs = this.#options.graceMs ?? 8_000;
    await Promise.race([this.#claiming, delay(1_000)]);
    for (const loop of this.#loops.values()) loop.dispatch({ type: 'drain' });
    await this.#idleWithin(graceMs);
    for (const loop of [...this.#loops.values()]) loop.dispatch({ type: 'let_go' });
    await this.#idleWithin(1_000);
    this.#stopped = true;
    this.#sweeper.stop();
    clearInterval(this.#checkTimer);
    this.standing.stop();
    await Promise.race([this.#budgets.close().catch(() => {}), delay(500)]);
    await Promise.race([this.#liveness.stop(), delay(500)]);
    this.signals.send({ queued: true });
    await Promise.race([this.signals.close(), delay(500)]);
  }

  async #idleWithin(ms: number): Promise<void> {
    if (this.#loops.size + this.#promised === 0) return;
    const controller = new AbortController();
    await Promise.race([
      new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      }),
      delay(ms, undefined, { signal: controller.signal }).catch(() => {}),
    ]);
    controller.abort();
    this.#onIdle = null;
  }
}
