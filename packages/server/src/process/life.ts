import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, messageOf } from '../base/index.ts';
import type { Phase } from '../http/index.ts';

/** In this order things are closed. What works is drained while HTTP still answers and readers still follow, and Postgres outlives them all. */
const STAGES = ['work', 'stream', 'http', 'database', 'postgres'] as const;
type Stage = (typeof STAGES)[number];

/** All of Troupe is drained within this; Postgres has its own time after it. */
const DRAIN_MS = 10_000;
/** What is closed late in the drain still gets this. */
const LEAST_MS = 500;

interface Opened {
  stage: Stage;
  close(withinMs: number): Promise<void>;
}

/** Thrown where something is opened after the process was told to stop. */
export class Stopped extends Error {}

/** What a process has open. It can be told to stop at any moment, also in the middle of its start. */
export class Life {
  readonly #logger: Logger;
  readonly #opened: Opened[] = [];
  #phase: Phase = 'starting';
  #stopping: Promise<void> | null = null;
  #isWaiting = false;
  readonly #stopped = new AbortController();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get phase(): Phase {
    return this.#isWaiting && this.#phase === 'starting' ? 'waiting' : this.#phase;
  }

  /** Aborted when the process is told to stop. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** The start cannot go on before the database answers, or can again. */
  waiting(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
  }

  /** Opens a part. It is closed by `stop`, even where that comes while it is still being opened. */
  async open<Part>(
    stage: Stage,
    opening: () => Promise<Part>,
    close: (part: Part, withinMs: number) => Promise<void>,
  ): Promise<Part> {
    if (this.#stopping) throw new Stopped();
    const promise = opening();
    this.#opened.push({
      stage,
      close: async (withinMs) => {
        const outcome = await promise.then(
          (part) => ({ part }),
          () => null,
        );
        if (outcome) await close(outcome.part, withinMs);
      },
    });
    const part = await promise;
    if (this.#stopping) throw new Stopped();
    return part;
  }

  ready(): void {
    if (this.#phase === 'starting') this.#phase = 'ready';
  }

  stop(): Promise<void> {
    this.#phase = 'draining';
    this.#stopped.abort(new Stopped());
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const deadline = performance.now() + DRAIN_MS;
    for (const stage of STAGES) {
      const parts = this.#opened.filter((opened) => opened.stage === stage);
      const withinMs = Math.max(LEAST_MS, deadline - performance.now());
      await Promise.all(parts.map((part) => this.#close(part, withinMs)));
    }
  }

  async #close(part: Opened, withinMs: number): Promise<void> {
    const timer = new AbortController();
    const closing = part.close(withinMs).catch((error: unknown) => {
      this.#logger.warn({ stage: part.stage, error: messageOf(error) }, 'could not be closed in order');
    });
    const patience = delay(withinMs + LEAST_MS, undefined, { signal: timer.signal }).catch(() => {});
    // Postgres is stopped as it stops: a forced end would only mean recovery at the next start.
    await (part.stage === 'postgres' ? closing : Promise.race([closing, patience]));
    timer.abort();
  }
}
