import { AMNESTY_MS, isDead, Trust, Watch } from '../../src/kernel/trust.ts';
import { ConnectionLost } from './network.ts';
import type { SimWorker } from './sim-worker.ts';
import type { Simulation } from './simulation.ts';
import { type Course, run } from './timeline.ts';

const BEAT_MS = 200;
const ROWLESS_EVERY = 5;

/** kernel/liveness.ts in virtual time: the same trust, the same watch, the same order of calls. */
export class SimLiveness {
  readonly #simulation: Simulation;
  readonly #worker: SimWorker;
  readonly #trust: Trust;
  readonly #watch = new Watch();
  #count = 0;
  #waiters: (() => void)[] = [];
  #failing = false;
  #stopped = false;

  constructor(simulation: Simulation, worker: SimWorker) {
    this.#simulation = simulation;
    this.#worker = worker;
    this.#trust = new Trust(simulation.timeline.now);
  }

  *start(): Course {
    const uptime = this.#simulation.timeline.now - this.#simulation.postgresSince;
    this.#watch.judgeFrom(this.#simulation.timeline.now + Math.max(0, AMNESTY_MS - uptime));
    yield* this.#beat();
    run(this.#beatOn());
  }

  *#beatOn(): Course {
    while (!this.#stopped) {
      yield* this.#worker.sleep(BEAT_MS);
      if (!this.#stopped) yield* this.#beat();
    }
  }

  fresh(): boolean {
    return this.#simulation.rules.trusts(this.#trust.fresh(this.#simulation.timeline.now));
  }

  *confirmed(): Course {
    while (!this.fresh() && !this.#stopped)
      yield (resume) => void this.#waiters.push(() => resume(undefined));
  }

  amnesty(): void {
    this.#watch.amnesty(this.#simulation.timeline.now);
  }

  *#beat(): Course {
    const sentAt = this.#simulation.timeline.now;
    const { store } = this.#simulation;
    const { incarnation } = this.#worker;
    const count = ++this.#count;
    try {
      const others = yield* this.#worker.ask('beat', () => store.beat(incarnation, count));
      this.#acknowledged(sentAt);
      if (this.#failing) {
        this.#failing = false;
        this.amnesty();
      }
      yield* this.#observe(others);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      this.#failing = true;
    }
  }

  #acknowledged(sentAt: number): void {
    if (this.#trust.stoodStill(sentAt) > AMNESTY_MS) this.amnesty();
    const stop = this.#trust.acknowledged(sentAt);
    if (stop !== null) {
      this.#simulation.count('verify');
      run(this.#verify(stop));
    } else if (!this.#trust.doubtful) this.#wakeWaiters();
  }

  *#verify(stop: number): Course {
    try {
      yield* this.#worker.checkHeld();
      this.#trust.verified(stop, true);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      this.#trust.verified(stop, false);
      this.#simulation.count('verify:failed');
    }
    this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  *#observe(others: { incarnation: string; beat: number }[]): Course {
    const { store, timeline } = this.#simulation;
    const { now } = timeline;
    const present = new Set<string>();
    const look = (incarnation: string, count: number | null) => {
      present.add(incarnation);
      this.#watch.look(incarnation, count, now);
    };
    for (const other of others) look(other.incarnation, other.beat);
    if (this.#count % ROWLESS_EVERY === 0) {
      for (const incarnation of yield* this.#worker.ask('rowless', () => store.rowlessHolders()))
        if (incarnation !== this.#worker.incarnation) look(incarnation, null);
      this.#watch.keep(present);
    }
    const silent = this.#watch.silent(now);
    if (silent.length === 0) return;
    const incarnations = silent.map(({ incarnation }) => incarnation);
    const holders = yield* this.#worker.ask('locks', () => store.lockHolders(incarnations));
    for (const one of silent) {
      const hung = holders.has(one.incarnation);
      if (isDead(one, hung)) yield* this.#reap(one.incarnation, one.beat, hung);
    }
  }

  *#reap(incarnation: string, beat: number | null, hung: boolean): Course {
    const count = yield* this.#worker.ask('reap', () => this.#simulation.store.reap(incarnation, beat, hung));
    this.#watch.forget(incarnation);
    if (count === null) return;
    this.#simulation.note(
      () =>
        `${this.#worker.name} reaped ${this.#simulation.short(incarnation)} (${count} runs${hung ? ', hung' : ''})`,
    );
    this.#simulation.count(hung ? 'reaped:hung' : 'reaped:gone');
    if (count > 0) {
      this.#worker.wake();
      this.#simulation.hint({ queued: true });
    }
  }

  *stop(): Course {
    this.#stopped = true;
    this.#wakeWaiters();
    const { incarnation } = this.#worker;
    try {
      yield* this.#worker.ask('forget', () => this.#simulation.store.forgetWorker(incarnation));
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }
}
