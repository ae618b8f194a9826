import type { CancelReason, Json } from '@troupe/protocol';
import { type Logger, newId, TroupeError } from '../base/index.ts';
import * as store from '../store/index.ts';
import { type Commits, createCommits } from './commits.ts';
import type { Door, LivePiece } from './door.ts';
import { type CurrentOf, Joins } from './joins.ts';
import type { Ended } from './loop.ts';
import { runsStarted, toolCalls } from './meters.ts';
import { patiently } from './patiently.ts';
import type { ModelDelta, Models, Tools } from './ports.ts';
import type { Probe } from './probe.ts';
import { type Hints, Signals } from './signals.ts';
import type { Telemetry } from './telemetry.ts';
import { Worker } from './worker.ts';

export interface KernelOptions {
  db: store.Database;
  logger: Logger;
  probe?: Probe;
  mostItems?: number;
  mostInFlight?: number;
  /** For runs that are started here to tell an agent of its tasks; absent: as when it gave them. */
  current?: CurrentOf;
}

export interface WorkOptions {
  doors: Door[];
  models: Models;
  tools: Tools;
  capacity?: number;
  graceMs?: number;
  telemetry?: Telemetry | undefined;
  onDelta?: (run: store.ClaimedRun, step: number, delta: ModelDelta) => void;
}

/** Is told what happens to threads as it happens. Nothing may be concluded from not being told. */
export interface Onlooker {
  /** Something may be new in the thread, put there by this process. */
  onTouched(thread: string): void;
  onDelta(run: store.ClaimedRun, step: number, delta: ModelDelta): void;
  /** A run is about to say something in another thread. `thought` is greater each time that its model is asked. */
  onLive(run: store.ClaimedRun, step: number, thought: number, piece: LivePiece): void;
  /** What these calls of it were about to say there is said, or never will be; null: of all its calls. */
  onSaid(run: store.ClaimedRun, calls: string[] | null): void;
  /** What the run was saying is on disk, or was given up. */
  onSilent(run: store.ClaimedRun): void;
  /** From another process. */
  onHints(hints: Hints): void;
}

const END_POLL_MS = 250;
/** What begins a run that a call waits for. */
const TASK = 'task';

/**
 * What a process can do to runs. Every action is one statement; a process that also works (`work`) takes runs itself,
 * others reach the workers through the rows and a hint.
 */
export class Kernel {
  readonly #db: store.Database;
  readonly #logger: Logger;
  readonly #probe: Probe | undefined;
  readonly #commits: Commits;
  readonly #joins: Joins;
  /** Of a process that does not work; one that does is known by its worker's. */
  readonly #incarnation = newId();
  readonly #ends = new Map<string, Set<(ended: Ended) => void>>();
  #worker: Worker | null = null;
  #signals: Signals | null = null;
  #onlooker: Onlooker | null = null;
  readonly #writtenListeners = new Set<() => void>();

  constructor(options: KernelOptions) {
    this.#db = options.db;
    this.#logger = options.logger;
    this.#probe = options.probe;
    this.#commits = createCommits(options.db, options);
    this.#joins = new Joins(options.db, {
      logger: options.logger,
      current: options.current,
      onSettled: ({ thread, queued, how }) => {
        toolCalls.add(1, how);
        if (queued) this.#hintQueued();
        this.#touched(thread);
      },
      onCanceled: (run, thread) => {
        this.hint({ runs: [run] });
        this.#tellEnd(run, { status: 'canceled', outcome: null, error: null });
        this.#touched(thread);
      },
      onTold: (thread, queued) => {
        if (queued) runsStarted.add(1);
        if (queued) this.#hintQueued();
        this.#touched(thread);
      },
    });
  }

  /** Connects for hints without working: for a process that only serves. */
  async listen(): Promise<void> {
    if (this.#signals || this.#worker) return;
    this.#signals = new Signals(this.#db, {
      logger: this.#logger,
      lockFor: { incarnation: this.#incarnation, isShared: true },
    });
    this.#signals.listen((hints) => this.#hear(hints));
    await this.#signals.connect();
  }

  async work(options: WorkOptions): Promise<Worker> {
    const worker = new Worker({
      ...options,
      db: this.#db,
      commits: this.#commits,
      logger: this.#logger,
      probe: this.#probe,
      onDelta: (run, step, delta) => {
        options.onDelta?.(run, step, delta);
        this.#onlooker?.onDelta(run, step, delta);
      },
      onLive: (run, step, thought, piece) => this.#onlooker?.onLive(run, step, thought, piece),
      onSaid: (run, calls) => this.#onlooker?.onSaid(run, calls),
      onTouched: (run, threads) => {
        this.#onlooker?.onSilent(run);
        this.#touched(run.threadId);
        for (const thread of threads) this.#touched(thread);
      },
      onEnded: (run, ended) => {
        this.#tellEnd(run.id, ended);
        // What ends well has nobody left that it waits for; only a child has somebody who waits for it.
        if (ended.status !== 'completed' || run.triggerType === TASK) this.#joins.soon();
      },
      // That somebody works on a task is told in its chat.
      onTaken: (run) => {
        if (run.triggerType === TASK) this.#joins.soon();
      },
      // A child may have something to say to whoever waits for it.
      onParked: (run) => {
        if (run.triggerType === TASK) this.#joins.soon();
      },
      onJoins: () => this.#joins.soon(),
    });
    worker.signals.listen((hints) => this.#hear(hints));
    await worker.start();
    this.#worker = worker;
    return worker;
  }

  /** There is one at most. */
  setOnlooker(onlooker: Onlooker | null): void {
    this.#onlooker = onlooker;
  }

  /** To the other processes, some milliseconds later and with what else there is to say; may be lost. */
  hint(hints: Hints): void {
    (this.#worker?.signals ?? this.#signals)?.send(hints);
  }

  /** Something is new in the thread that this process wrote outside of a run's own commits. */
  touched(thread: string): void {
    this.#touched(thread);
  }

  /** Called when something may have been written, by this process or another. Often, and not always. */
  onWritten(listener: () => void): () => void {
    this.#writtenListeners.add(listener);
    return () => this.#writtenListeners.delete(listener);
  }

  #touched(thread: string): void {
    this.#onlooker?.onTouched(thread);
    for (const listener of this.#writtenListeners) listener();
  }

  #hear(hints: Hints): void {
    this.#onlooker?.onHints(hints);
    if (!hints.queued && !hints.runs && !hints.threads) return;
    for (const listener of this.#writtenListeners) listener();
  }

  /** Runs were started, queued, or taken from their workers, by a statement that is not one of the actions below. `joins`: something is to be told. */
  changed({
    started = 0,
    queued = false,
    runs = [],
    joins = runs.length > 0,
  }: {
    started?: number;
    queued?: boolean;
    runs?: string[];
    joins?: boolean;
  }): void {
    if (started > 0) runsStarted.add(started);
    if (runs.length > 0) this.hint({ runs });
    if (joins) this.#joins.soon();
    if (queued) this.#hintQueued();
  }

  /** The id under whose advisory lock this process is known to live. */
  get incarnation(): string {
    return this.#worker?.incarnation ?? this.#incarnation;
  }

  get worker(): Worker | null {
    return this.#worker;
  }

  // ---- actions

  /** Stores a message and the run that it starts, as one. */
  async start(item: store.StartItem): Promise<store.Started> {
    const run = item.run?.id;
    // A worker of this process that has a place takes the run as it starts; otherwise it waits in the queue for any.
    const worker = this.#worker;
    const { snapshot, door } = item.run ?? {};
    let fits = !worker || !snapshot || worker.fits(snapshot);
    // Looked at before instead of after the start: its worker needs it anyway.
    fits ??= await worker!.learn(snapshot!).catch(() => false);
    const claim = worker && door && fits ? worker.promise(door) : null;
    let started: store.Started | null = null;
    try {
      if (this.#probe && run) await this.#probe('start', 'before', [run]);
      started = await this.#commits.start.submit(claim ? { ...item, claim } : item);
      if (this.#probe && run) await this.#probe('start', 'after', [run]);
    } finally {
      if (claim) void worker!.bring(started && store.claimedRun(item, started));
    }
    if (started.ok && started.claimed === undefined && started.ready !== false && !started.duplicate) {
      if (fits) this.#hintQueued();
      else this.hint({ queued: true });
    }
    if (started.ok && run && !started.duplicate) runsStarted.add(1);
    if (started.ok) this.#touched(started.thread);
    return started;
  }

  /** Begins a run that a call of another one waits for; the call is settled when it ends. */
  async beginChild(child: store.NewChild): Promise<store.BegunChild> {
    const begun = await patiently(() => store.beginChild(this.#db, child));
    if (!begun.ok) return begun;
    if (!begun.duplicate) runsStarted.add(1);
    this.#hintQueued();
    for (const thread of [begun.parentThread, begun.thread]) this.#touched(thread);
    return begun;
  }

  /** A message to a serial thread: starts a run, or does what the policy says where one is at work. */
  async post(item: Parameters<typeof store.post>[1]): Promise<store.Posted> {
    const posted = await patiently(() => store.post(this.#db, item));
    if (posted.ok && posted.ready) this.#hintQueued();
    const told = posted.ok
      ? [posted.canceled, posted.outcome === 'steered' ? posted.run : null].filter((id) => id != null)
      : [];
    if (told.length > 0) this.hint({ runs: told });
    if (posted.ok && posted.canceled) this.#joins.soon();
    if (posted.ok && (posted.outcome === 'started' || posted.outcome === 'interrupted')) runsStarted.add(1);
    if (posted.ok) this.#touched(posted.thread);
    return posted;
  }

  /** Settles a call that waits outside; the one that settles the last of a step queues the run. */
  async settle(
    run: string,
    call: string,
    outcome: store.SettleOutcome,
    by: string | null = null,
  ): Promise<store.Settled> {
    if (this.#probe) await this.#probe('settle', 'before', [run]);
    const settled = await patiently(() => store.settle(this.#db, run, call, outcome, by, newId()));
    if (this.#probe) await this.#probe('settle', 'after', [run]);
    if (settled.ok && outcome.status !== 'proceed') toolCalls.add(1, outcome.status);
    if (settled.ok && settled.queued) this.#hintQueued();
    if (settled.ok) this.#touched(settled.thread);
    return settled;
  }

  /** Several calls of one run, all of them or none. */
  async settleAll(
    run: string,
    settlements: readonly store.CallSettlement[],
    by: string | null,
  ): Promise<store.SettledAll> {
    if (this.#probe) await this.#probe('settle', 'before', [run]);
    const settled = await patiently(() => store.settleAll(this.#db, run, settlements, by));
    if (this.#probe) await this.#probe('settle', 'after', [run]);
    // Sent again after a lost answer, they were counted before.
    if (settled.ok && settled.repeated === 0)
      for (const { outcome } of settlements)
        if (outcome.status !== 'proceed') toolCalls.add(1, outcome.status);
    if (settled.ok && settled.queued) this.#hintQueued();
    if (settled.ok) this.#touched(settled.thread);
    return settled;
  }

  async cancel(
    run: string,
    reason: CancelReason = 'user',
    by: string | null = null,
  ): Promise<store.Canceled> {
    const canceled = await patiently(() => store.cancel(this.#db, run, reason, by));
    if (canceled.ok) {
      this.#joins.soon();
      this.hint({ runs: [run], queued: true });
      this.#tellEnd(run, { status: 'canceled', outcome: null, error: null });
    }
    if (canceled.ok) this.#touched(canceled.thread);
    return canceled;
  }

  /** One run takes another over, with its trigger and everything it did. */
  async absorb(target: string, by: { run: string; worker: string; epoch: number }): Promise<store.Absorbed> {
    const absorbed = await patiently(() => store.absorb(this.#db, target, by));
    if (absorbed.ok) this.hint({ runs: [target], queued: true });
    if (absorbed.ok) this.#joins.soon();
    if (absorbed.ok) this.#touched(absorbed.thread);
    return absorbed;
  }

  /** Takes a run up again after its last step; without `current`, with the snapshot that it has. */
  async retry(run: string, current: store.RetryWith | null = null): Promise<store.Retried> {
    const retried = await patiently(() => store.retry(this.#db, run, current));
    if (retried.ok && retried.ready) this.#hintQueued();
    if (retried.ok) this.#joins.soon();
    if (retried.ok) this.#touched(retried.thread);
    return retried;
  }

  /** Goes on from any step of a run in a thread of its own, with another snapshot or edited messages where wanted. */
  async fork(
    run: string,
    step: number,
    changes: { snapshot?: string; edits?: { seq: number; content: Json }[] } = {},
    ids: { run: string; thread: string } = { run: newId(), thread: newId() },
  ): Promise<store.Forked> {
    const forked = await patiently(() =>
      store.fork(this.#db, run, step, {
        ...ids,
        snapshot: changes.snapshot ?? null,
        edits: changes.edits ?? [],
      }),
    );
    if (forked.ok) this.#hintQueued();
    if (forked.ok) this.#touched(forked.thread);
    return forked;
  }

  /** A budget was set or deleted: workers look which hold, and runs that lay down to wait for it meanwhile go on. */
  async budgetChanged(budget: string): Promise<void> {
    this.#worker?.standing.changed();
    this.hint({ budgets: true });
    await patiently(() => store.wakeForBudget(this.#db, budget));
    this.#hintQueued();
  }

  /** How a run ended. Told at once by a worker of this process, found by polling where another one did it. */
  async ended(run: string, options: { timeoutMs?: number } = {}): Promise<Ended> {
    const timeoutMs = options.timeoutMs ?? 60_000;
    const began = performance.now();
    let found: Ended | null = null;
    let wake = () => {};
    const listener = (ended: Ended) => {
      found = ended;
      wake();
    };
    const listeners = this.#ends.get(run) ?? new Set();
    this.#ends.set(run, listeners.add(listener));
    let first = !this.#worker?.expects(run); // nobody here will tell of it, so ask at once
    try {
      for (;;) {
        if (!first)
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, END_POLL_MS);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
            if (found) wake();
          });
        first = false;
        found ??= await store.endOf(this.#db, run).catch((error) => {
          if (store.isConnectionError(error)) return null;
          throw error;
        });
        if (found) return found;
        if (performance.now() - began > timeoutMs) {
          throw new TroupeError('run_not_ended', `Run ${run} did not end within ${timeoutMs} ms.`, {
            hint: 'It goes on by itself; ask again later, or look at its events.',
          });
        }
      }
    } finally {
      listeners.delete(listener);
      if (listeners.size === 0) this.#ends.delete(run);
    }
  }

  #tellEnd(run: string, ended: Ended): void {
    for (const listener of this.#ends.get(run) ?? []) listener(ended);
  }

  #hintQueued(): void {
    // A worker in this process that has a place comes first; the others need not be disturbed.
    if (!this.#worker?.wake()) this.hint({ queued: true });
  }

  async close(): Promise<void> {
    await this.#worker?.drain();
    await this.#joins.close();
    await this.#signals?.close();
    this.#commits.close();
  }
}
