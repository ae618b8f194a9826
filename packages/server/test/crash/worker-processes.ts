import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Job, Numbered, Order, Report } from './orders.ts';

export interface Death {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const program = join(import.meta.dirname, 'worker-process.ts');
const living = new Set<ChildProcess>();
const idle: WorkerProcess[] = [];
process.on('exit', endAll);

/** The far side of worker-process.ts. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (answer: unknown) => void>();
  #orders = 0;
  /** Of the job at hand. */
  incarnation = '';
  job: Job | null = null;
  /** Where the signal came that it sent to itself. */
  struck: (Report & { type: 'struck' }) | null = null;
  /** Resolves when it is dead and everything that it said has arrived. */
  readonly died: Promise<Death>;
  readonly ready: Promise<void>;

  constructor() {
    const child = fork(program, { execArgv: [] });
    this.#child = child;
    living.add(child);
    this.ready = new Promise((resolve) => {
      child.on('message', (report: Report) => {
        if (report.type === 'ready') resolve();
        else if (report.type === 'struck') this.struck = report;
        else this.#answers.get(report.n)?.(report.answer);
      });
    });
    const silent = new Promise<void>((resolve) => child.once('disconnect', resolve));
    const exit = new Promise<Death>((resolve) =>
      child.once('exit', (code, signal) => resolve({ code, signal })),
    );
    this.died = Promise.all([exit, silent]).then(([death]) => {
      living.delete(child);
      return death;
    });
  }

  /** Never answered by a process that dies of it. */
  order(order: Order): Promise<unknown> {
    const n = ++this.#orders;
    return new Promise((resolve) => {
      this.#answers.set(n, resolve);
      this.#child.send({ n, order } satisfies Numbered);
    });
  }

  async work(job: Job): Promise<void> {
    await Promise.race([this.ready, this.died]);
    if (!this.alive) throw new Error('The worker process ended before it had anything to do.');
    this.job = job;
    const working = this.order({ type: 'work', job }) as Promise<string>;
    this.incarnation = await Promise.race([working, this.died.then(() => '')]);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  get alive(): boolean {
    return living.has(this.#child);
  }
}

/** A process without a job: one that has rested, or a new one. */
export function enlist(): WorkerProcess {
  return idle.pop() ?? new WorkerProcess();
}

/** Ends its job. What is held or was meant to die is killed, anybody else can be used again. */
export async function dismiss(worker: WorkerProcess): Promise<void> {
  if (!worker.alive) return;
  if (worker.job === null) idle.push(worker);
  else if (worker.job.hold || worker.job.strike || worker.job.stops) {
    worker.signal('SIGKILL');
    await worker.died;
  } else {
    await worker.order({ type: 'rest' });
    worker.job = null;
    idle.push(worker);
  }
}

export function endAll(): void {
  idle.length = 0;
  for (const child of living) child.kill('SIGKILL');
}
