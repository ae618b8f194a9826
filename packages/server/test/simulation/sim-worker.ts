import type { StartItem } from '../../src/index.ts';
import type { ClaimedRun } from '../../src/store/queries/claim.ts';
import { claimedRun, type Started } from '../../src/store/queries/start.ts';
import { ConnectionLost } from './network.ts';
import { SimLiveness } from './sim-liveness.ts';
import { SimLoop } from './sim-loop.ts';
import type { Simulation } from './simulation.ts';
import { type Course, type Process, run } from './timeline.ts';

const POLL_MS = 250;
const CHECK_HELD_MS = 1_000;
const STRANGER_MS = 900;
const SWEEP_MS = 500;
const GRACE_MS = 3_000;

export interface Hints {
  queued?: true;
  runs?: string[];
}

/** kernel/worker.ts in virtual time. It can die, stand still and wake up with what it knew, lose its lock, and drain. */
export class SimWorker implements Process {
  readonly name: string;
  readonly incarnation: string;
  readonly liveness: SimLiveness;
  readonly #simulation: Simulation;
  readonly #capacity: number;
  readonly #loops = new Map<string, SimLoop>();
  /** How far its own clock is off; it must not matter. */
  clockOff = 0;
  started = false;
  dead = false;
  paused = false;
  backlog: (() => void)[] = [];
  #strangers = new Map<string, { epoch: number; since: number }>();
  #promised = 0;
  #claiming = false;
  #hinted = false;
  #missed = false;
  #poll = 0;
  draining = false;
  #stopped = false;

  constructor(simulation: Simulation, name: string, incarnation: string) {
    this.#simulation = simulation;
    this.name = name;
    this.incarnation = incarnation;
    this.#capacity = simulation.random.int(1, 4);
    this.liveness = new SimLiveness(simulation, this);
  }

  /** What it believes to hold. */
  get holds(): { id: string; epoch: number }[] {
    return [...this.#loops.values()].map(({ run: { id, epoch } }) => ({ id, epoch }));
  }

  sleep(ms: number): Course<unknown> {
    return wait((resume) => this.#simulation.timeline.after(ms, this, () => resume(undefined)));
  }

  ask<Answer>(name: string, call: () => Answer): Course<Answer> {
    return this.#simulation.network.ask(this, name, call);
  }

  wallClock(): number {
    return this.#simulation.timeline.now + this.clockOff;
  }

  start(): void {
    run(this.#start());
  }

  *#start(): Course {
    this.#simulation.store.locks.add(this.incarnation);
    yield* this.liveness.start();
    this.started = true;
    run(this.#sweep());
    run(this.#checkOn());
    this.wake();
  }

  // ---- taking runs

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
    return this.draining ? 0 : this.#capacity - this.#loops.size - this.#promised;
  }

  hear(hints: Hints): void {
    if (!this.started) return;
    if (hints.queued) this.wake();
    if (hints.runs?.some((id) => this.#loops.has(id))) run(this.#checkQuietly());
  }

  #claimSoon(): void {
    if (this.#claiming || this.#stopped || this.#free() <= 0) return;
    this.#poll += 1;
    this.#claiming = true;
    run(this.#claimThenPoll());
  }

  *#claimThenPoll(): Course {
    try {
      yield* this.#claim();
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      yield* this.sleep(100);
    }
    this.#claiming = false;
    if (this.#stopped) return;
    if (this.#hinted && this.#free() > 0) this.#claimSoon();
    else {
      const poll = ++this.#poll;
      this.#simulation.timeline.after(POLL_MS, this, () => {
        if (poll === this.#poll) this.wake();
      });
    }
  }

  *#claim(): Course {
    const { store, invariants } = this.#simulation;
    this.#hinted = false;
    this.#missed = false;
    const limit = this.#free();
    if (limit <= 0) return;
    const runs = yield* this.ask('claim', (): ClaimedRun[] => {
      const claimed = store.claim(this.incarnation, limit);
      invariants.claimed(this.incarnation, claimed);
      for (const one of claimed)
        this.#simulation.note(() => `  ${this.name} claims ${this.#simulation.short(one.id)} e${one.epoch}`);
      return claimed;
    });
    if (runs.length === limit) {
      this.#hinted = true;
      this.#missed = true;
    }
    for (const one of runs) this.#take(one);
  }

  /** As Kernel.start does in a process that also works: where there is a place, the run is taken as it starts. */
  *begin(item: StartItem): Course<Started> {
    const { store, invariants } = this.#simulation;
    const promised = !this.#missed && this.#free() > 0;
    if (promised) this.#promised++;
    const whole = promised ? { ...item, claim: { worker: this.incarnation, events: [] } } : item;
    for (;;) {
      try {
        const started = yield* this.ask('start', () => {
          const answer = store.start(whole);
          if (answer.ok && answer.claimed)
            invariants.claimed(this.incarnation, [{ id: item.run!.id, epoch: 1 }]);
          return answer;
        });
        if (promised) this.#bring(claimedRun(item, started));
        return started;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        yield* this.sleep(20);
      }
    }
  }

  #bring(run: ClaimedRun | null): void {
    if (run) {
      this.#simulation.count('started:taken');
      this.#take(run);
    }
    this.#promised--;
    if (this.#missed) this.wake();
  }

  #take(claimed: ClaimedRun): void {
    const loop = new SimLoop(this.#simulation, this, claimed);
    this.#loops.get(claimed.id)?.dispatch({ type: 'lost' });
    this.#loops.set(claimed.id, loop);
    loop.start();
    if (this.draining) loop.dispatch({ type: 'drain' });
  }

  left(run: string, how: string, promoted: boolean): void {
    this.#loops.delete(run);
    if (how === 'released' || this.#missed || promoted) this.wake();
  }

  // ---- which runs are its own

  *#checkOn(): Course {
    while (!this.#stopped) {
      yield* this.sleep(CHECK_HELD_MS);
      if (!this.#stopped) run(this.#checkQuietly());
    }
  }

  *#checkQuietly(): Course {
    try {
      yield* this.checkHeld();
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }

  *checkHeld(): Course {
    const { store } = this.#simulation;
    const before = new Set(this.#loops.values());
    const claimingBefore = this.#claiming;
    const rows = yield* this.ask('heldBy', () => store.heldBy(this.incarnation));
    const held = new Map(rows.map((row) => [row.id, row.epoch]));
    for (const loop of before) {
      if (loop.gone || held.get(loop.run.id) === loop.run.epoch) continue;
      if (loop.committing) loop.doubted = true;
      else loop.dispatch({ type: 'lost' });
    }
    const { now } = this.#simulation.timeline;
    const strangers = new Map<string, { epoch: number; since: number }>();
    for (const [id, epoch] of held) {
      if (this.#loops.get(id)?.run.epoch === epoch) continue;
      const known = this.#strangers.get(id);
      if (known?.epoch === epoch) strangers.set(id, known);
      else if (!claimingBefore && !this.#claiming) strangers.set(id, { epoch, since: now });
    }
    const lost = [...strangers]
      .filter(([, { since }]) => now - since >= STRANGER_MS)
      .map(([id, { epoch }]) => ({ id, epoch }));
    this.#strangers = strangers;
    if (lost.length > 0) {
      this.#simulation.count('disown');
      yield* this.ask('disown', () => store.disown(this.incarnation, lost));
      this.wake();
    }
  }

  *#sweep(): Course {
    const { random, store } = this.#simulation;
    yield* this.sleep(SWEEP_MS * (0.5 + random.next()));
    while (!this.#stopped) {
      try {
        const swept = yield* this.ask('expire', () => store.expire(100));
        if (swept.expired) this.#simulation.count('expired');
        if (swept.canceled) this.#simulation.count('expired:run');
        if (swept.queued) this.wake();
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
      }
      yield* this.sleep(SWEEP_MS * (0.8 + random.next() * 0.4));
    }
  }

  // ---- what becomes of it

  /** Takes nothing new, commits what is under way, gives the rest back, and is no more. */
  *drain(): Course {
    if (this.draining) return;
    this.draining = true;
    this.#poll += 1;
    yield* this.#waitFor(() => !this.#claiming, 1_000);
    for (const loop of [...this.#loops.values()]) loop.dispatch({ type: 'drain' });
    yield* this.#waitFor(
      () => this.#loops.size + this.#promised === 0,
      this.#simulation.random.pick([0, 50, GRACE_MS]),
    );
    for (const loop of [...this.#loops.values()]) loop.dispatch({ type: 'let_go' });
    yield* this.#waitFor(() => this.#loops.size + this.#promised === 0, 1_000);
    this.#stopped = true;
    yield* this.liveness.stop();
    this.#simulation.hint({ queued: true });
    this.die(0);
  }

  *#waitFor(condition: () => boolean, ms: number): Course {
    const until = this.#simulation.timeline.now + ms;
    while (!condition() && this.#simulation.timeline.now < until) yield* this.sleep(10);
  }

  /** The process is gone; its connection is noticed to be at once, or (the machine is gone) much later. */
  die(lockLingersMs: number): void {
    this.dead = true;
    this.backlog = [];
    this.#simulation.timeline.after(lockLingersMs, null, () =>
      this.#simulation.store.locks.delete(this.incarnation),
    );
  }

  /** What came due meanwhile happens now, in whatever order. */
  resume(): void {
    if (!this.paused || this.dead) return;
    this.paused = false;
    const backlog = this.#simulation.random.shuffle(this.backlog);
    this.backlog = [];
    for (const action of backlog) if (!this.dead) action();
  }

  /** The connection that holds the lock and hears notices is cut; it comes back by itself. */
  cutLock(reconnectMs: number): void {
    this.#simulation.store.locks.delete(this.incarnation);
    this.#simulation.timeline.after(reconnectMs, this, () => this.#reconnect());
  }

  #reconnect(): void {
    if (this.#simulation.network.down) {
      this.#simulation.timeline.after(200, this, () => this.#reconnect());
      return;
    }
    this.#simulation.store.locks.add(this.incarnation);
    this.liveness.amnesty();
    this.hear({ queued: true });
  }
}

function* wait<Value>(how: (resume: (value: unknown) => void) => void): Course<Value> {
  return (yield how) as Value;
}
