import type { AgentSnapshot } from '@troupe/protocol';
import { decide } from '../../src/kernel/decide.ts';
import { doneBefore, lostVerdict } from '../../src/kernel/fence.ts';
import { buildManner, buildSnapshot, type Manner } from './agents.ts';
import { EffectLog } from './effects.ts';
import { Faults, type Odds } from './faults.ts';
import { Invariants, Violation } from './invariants.ts';
import { ModelStore } from './model-store.ts';
import { buildWeather, CALM, Network } from './network.ts';
import { Outside } from './outside.ts';
import { Random } from './random.ts';
import { isOver } from './records.ts';
import { type Hints, SimWorker } from './sim-worker.ts';
import { type Process, Timeline } from './timeline.ts';

/** The code under test. Mutants replace a rule or the store, to show that the simulation would notice. */
export interface Rules {
  decide: typeof decide;
  doneBefore: typeof doneBefore;
  lostVerdict: typeof lostVerdict;
  /** Whether a worker may begin an effect, given what its liveness says. */
  trusts(fresh: boolean): boolean;
  Store: typeof ModelStore;
}

export const RULES: Rules = { decide, doneBefore, lostVerdict, trusts: (fresh) => fresh, Store: ModelStore };

/** How likely something befalls a process at which call, and what: there are many claims, and some moments are worse than others. */
const STRIKES: Record<string, { times: number; odds: Partial<Odds> }> = {
  claim: { times: 0.1, odds: {} },
  commit: { times: 1, odds: {} },
  'commit:begins': { times: 3, odds: { pause: 10 } },
  'commit:busy': { times: 3, odds: { drain: 10 } },
};

/** After the faults have stopped, everything must come to an end within so long. */
const QUIET_MS = 300_000;

/** One seed: a few workers, threads and people, some seconds of trouble, then calm until every run has ended. */
export class Simulation {
  readonly random: Random;
  readonly timeline = new Timeline();
  readonly rules: Rules;
  readonly store: ModelStore;
  readonly network: Network;
  readonly effects: EffectLog;
  readonly invariants: Invariants;
  readonly snapshots = new Map<string, AgentSnapshot>();
  readonly manner: Manner;
  readonly outside: Outside;
  readonly faults = new Faults(this);
  readonly workers: SimWorker[] = [];
  readonly counts = new Map<string, number>();
  readonly trace: string[] = [];
  /** When Postgres was last started. */
  postgresSince = Number.NEGATIVE_INFINITY;
  /** How far the database's clock is off. */
  clockOff = 0;
  over = false;
  #ids = 0;
  readonly #tracing: boolean;

  constructor(seed: number, rules: Rules, tracing: boolean) {
    this.random = new Random(seed);
    this.rules = rules;
    this.#tracing = tracing;
    // In whole milliseconds, which every database keeps exactly.
    this.store = new rules.Store(() => Math.floor(this.timeline.now) + this.clockOff, this.newId);
    this.effects = new EffectLog(this.store);
    this.invariants = new Invariants(this.store, this.effects);
    this.network = new Network(this.timeline, this.random, this.count, this.afterCall);
    for (let i = this.random.int(1, 2); i > 0; i--)
      this.snapshots.set(this.newId(), buildSnapshot(this.random));
    this.manner = buildManner(this.random);
    this.outside = new Outside(this);
  }

  play(): void {
    for (let i = this.random.int(1, 4); i > 0; i--) this.addWorker();
    const trouble = this.random.between(3_000, 15_000);
    this.network.weather = buildWeather(this.random);
    this.outside.begin(trouble);
    this.faults.begin(trouble);
    while (this.timeline.step(trouble));

    this.note(() => 'calm');
    this.network.weather = CALM;
    this.faults.end();
    const until = this.timeline.now + QUIET_MS;
    // To ask after every entry whether all is quiet would take longer than the entry.
    for (let i = 1; (i % 16 !== 0 || !this.#quiet()) && this.timeline.step(until); i++);
    this.over = true;
    this.invariants.atEnd();
  }

  #quiet(): boolean {
    for (const run of this.store.runs.values()) if (!isOver(run.status)) return false;
    return true;
  }

  addWorker(): SimWorker {
    const worker = new SimWorker(this, `w${this.workers.length}`, this.newId());
    this.workers.push(worker);
    worker.start();
    return worker;
  }

  /** Tells every worker, unless the notice is lost. */
  hint(hints: Hints): void {
    for (const worker of this.workers) {
      if (worker.dead || this.random.chance(this.network.weather.deaf)) continue;
      this.timeline.after(this.random.between(0.5, 10), worker, () => worker.hear(hints));
    }
  }

  readonly afterCall = (name: string, process: Process | null): number => {
    this.invariants.afterCall();
    const { struck, heckled } = this.network.weather;
    if (name.startsWith('commit') && this.random.chance(heckled)) this.outside.heckle();
    const strike = STRIKES[name];
    if (!strike || !(process instanceof SimWorker) || !this.random.chance(struck * strike.times)) return 0;
    // Where a process stands still, the answer may come when it has just woken up.
    const stillMs = this.faults.strike(process, strike.odds);
    return stillMs > 0 && this.random.chance(0.5) ? stillMs + this.random.between(0, 100) : 0;
  };

  readonly newId = (): string => `00000000-0000-7000-8000-${(++this.#ids).toString(16).padStart(12, '0')}`;

  short(id: string): string {
    return id.slice(-3);
  }

  readonly count = (what: string): void => {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  };

  note(line: () => string): void {
    if (this.#tracing) this.trace.push(`${this.timeline.now.toFixed(1).padStart(8)} ${line()}`);
  }

  must(condition: boolean, what: string): void {
    if (!condition) throw new Violation(what);
  }
}
