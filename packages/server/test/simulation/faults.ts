import type { SimWorker } from './sim-worker.ts';
import type { Simulation } from './simulation.ts';
import { run } from './timeline.ts';

const ODDS = { kill: 3, pause: 4, cut: 2, drain: 2, jump: 1 };
export type Odds = typeof ODDS;

/** What goes wrong with machines: processes die, stand still and are drained, connections and Postgres break, clocks jump. */
export class Faults {
  readonly #simulation: Simulation;
  #ended = false;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  begin(until: number): void {
    const { random } = this.#simulation;
    const often = random.pick([0, 1, 3, 8]);
    for (let i = 0; i < often; i++) {
      this.#simulation.timeline.after(random.between(0, until), null, () => {
        if (!this.#ended) this.#happen();
      });
    }
  }

  #happen(): void {
    const { random } = this.#simulation;
    const candidates = this.#simulation.workers.filter((worker) => !worker.dead);
    if (random.chance(0.06)) this.#restart();
    else if (candidates.length > 0) this.strike(random.pick(candidates));
  }

  /** Answers for how long the process stands still. */
  strike(worker: SimWorker, odds: Partial<Odds> = {}): number {
    const { random } = this.#simulation;
    const fault = random.weighted({ ...ODDS, ...odds });
    this.#simulation.note(() => `FAULT ${fault} ${worker.name}`);
    this.#simulation.count(`fault:${fault}`);
    switch (fault) {
      case 'kill':
        worker.die(random.pick([0, 20, 6_000]));
        this.#replace();
        break;
      case 'pause':
        return this.#pause(worker);
      case 'cut':
        worker.cutLock(random.pick([30, 500, 2_500]));
        // What cuts one connection often makes the process stumble, too.
        return random.chance(0.3) ? this.#pause(worker) : 0;
      case 'drain':
        this.#simulation.timeline.after(0, worker, () => run(worker.drain()));
        this.#replace();
        break;
      case 'jump':
        this.#jump(worker);
        break;
    }
    return 0;
  }

  #replace(): void {
    const { random, timeline } = this.#simulation;
    if (random.chance(0.8))
      timeline.after(random.between(5, 3_000), null, () => void this.#simulation.addWorker());
  }

  /** The process stands still, then goes on with what it knew. */
  #pause(worker: SimWorker): number {
    const { random, timeline } = this.#simulation;
    const [least, most] = random.pick([
      [10, 700],
      [700, 3_000],
      [3_000, 7_000],
    ] as const);
    const ms = random.between(least, most);
    const resume = () => {
      this.#simulation.note(() => `${worker.name} goes on`);
      worker.resume();
    };
    worker.paused = true;
    if (random.chance(0.4)) this.#resumeWhenRobbed(worker, resume);
    else timeline.after(ms, null, resume);
    return ms;
  }

  /** It wakes at the worst moment: when another has just taken over what it holds. */
  #resumeWhenRobbed(worker: SimWorker, resume: () => void): void {
    const { random, store, timeline } = this.#simulation;
    const look = () => {
      const robbed = worker.holds.some(({ id, epoch }) => store.runs.get(id)!.epoch > epoch);
      if (robbed || this.#ended) timeline.after(random.between(0, 1_000), null, resume);
      else timeline.after(50, null, look);
    };
    look();
  }

  #jump(worker: SimWorker): void {
    const { random } = this.#simulation;
    worker.clockOff += random.between(-3_600_000, 3_600_000);
    if (random.chance(0.5)) this.#simulation.clockOff += random.int(-8_000, 8_000);
  }

  /** Postgres is away for a while. All locks are free; after a crash the heartbeats are gone as well. */
  #restart(): void {
    const { random, timeline, store, network, workers } = this.#simulation;
    if (network.down) return;
    this.#simulation.note(() => 'FAULT restart of Postgres');
    this.#simulation.count('fault:restart');
    network.down = true;
    store.restart(random.chance(0.5));
    timeline.after(random.between(10, 2_000), null, () => {
      network.down = false;
      this.#simulation.postgresSince = timeline.now;
    });
    for (const worker of workers) if (!worker.dead) worker.cutLock(random.between(20, 600));
  }

  /** No more of it: who stands still goes on, and somebody is there to do the work. */
  end(): void {
    this.#ended = true;
    for (const worker of this.#simulation.workers) worker.resume();
    if (!this.#simulation.workers.some((worker) => !worker.dead && !worker.draining))
      this.#simulation.addWorker();
  }
}
