import { carryOut, type Stage } from './faults.ts';
import type { FaultKind, Planned } from './schedule.ts';

/** A fault as it happened. */
export interface Happened {
  kind: FaultKind;
  beganAt: number;
  endedAt: number | null;
  notes: string[];
  error: string | null;
  /** Of a worker that was killed or stopped: the runs that it had. */
  heldRuns: string[];
}

/** Carries out a schedule. Faults may overlap; two of one kind of thing do not. */
export class Nemesis {
  readonly happened: Happened[] = [];
  readonly #stage: Stage;
  readonly #busy = new Map<string, Promise<void>>();
  readonly #log: (line: string) => void;

  constructor(stage: Stage, log: (line: string) => void) {
    this.#stage = stage;
    this.#log = log;
  }

  /** Resolves when every fault of the schedule is over. */
  async play(planned: readonly Planned[]): Promise<void> {
    const began = performance.now();
    for (const fault of planned) {
      const left = fault.atMs - (performance.now() - began);
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
      const group = fault.kind.split('.')[0]!;
      // All that ends Postgres counts as one group: it must be up before the next.
      const lane = /^(postgres|backend|backends|connections)$/.test(group) ? 'postgres' : group;
      const before = this.#busy.get(lane) ?? Promise.resolve();
      this.#busy.set(
        lane,
        before.then(() => this.#one(fault)),
      );
    }
    await Promise.all(this.#busy.values());
  }

  async #one(fault: Planned): Promise<void> {
    const happened: Happened = {
      kind: fault.kind,
      beganAt: Date.now(),
      endedAt: null,
      notes: [],
      error: null,
      heldRuns: /^work\.(kill|stop)$/.test(fault.kind) ? await this.#runsOf(fault.target) : [],
    };
    happened.beganAt = Date.now();
    this.happened.push(happened);
    try {
      await carryOut(fault, this.#stage, (text) => happened.notes.push(text));
    } catch (error) {
      happened.error = String(error);
    }
    happened.endedAt = Date.now();
    this.#log(
      `fault ${fault.kind} ${happened.notes.join(' ')} ${happened.endedAt - happened.beganAt} ms ${happened.error ?? ''}`,
    );
  }

  async #runsOf(target: number): Promise<string[]> {
    const { fleet } = this.#stage;
    const workers = fleet.role('work');
    const { pid } = workers[target % workers.length]!;
    const read = fleet.postgres.withClient((client) =>
      client.query<{ run_id: string }>(
        `select h.run_id from troupe.run_heads h join troupe.workers w on w.incarnation = h.worker_id where w.pid = $1`,
        [pid],
      ),
    );
    return read.then(
      ({ rows }) => rows.map((row) => row.run_id),
      () => [],
    );
  }
}
