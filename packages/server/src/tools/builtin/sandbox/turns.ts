import { TroupeError } from '../../../base/index.ts';

interface Queue {
  busy: number;
  waiting: (() => void)[];
}

interface Limits {
  atOnce: number;
  /** Of those, by one project: others always find a place. */
  perProject: number;
  /** How long one waits: shorter than the tool may take, so that it can still be said that nothing ran. */
  waitMs: number;
}

/** So many at once; the others wait for their turn, project by project, or until they are no longer wanted. */
export class Turns {
  readonly #limits: Limits;
  #busy = 0;
  /** In the order in which they are served next. */
  readonly #queues = new Map<string, Queue>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  async take<Result>(project: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(project, signal);
    try {
      return await work();
    } finally {
      this.#busy--;
      this.#queue(project).busy--;
      this.#serve();
      this.#tidy(project);
    }
  }

  async #turn(project: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { waiting } = this.#queue(project);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (why: unknown) => {
      const place = waiting.indexOf(resolve);
      if (place < 0) return;
      waiting.splice(place, 1);
      this.#tidy(project);
      reject(why);
    };
    const onAbort = () => giveUp(signal.reason);
    waiting.push(resolve);
    this.#serve();
    const timer = setTimeout(() => giveUp(busy(this.#limits.waitMs)), this.#limits.waitMs);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Gives every free place to the project whose last turn is the longest ago. */
  #serve(): void {
    for (const [project, queue] of [...this.#queues]) {
      if (this.#busy >= this.#limits.atOnce) return;
      if (queue.busy >= this.#limits.perProject) continue;
      const next = queue.waiting.shift();
      if (!next) continue;
      this.#busy++;
      queue.busy++;
      this.#queues.delete(project);
      this.#queues.set(project, queue);
      next();
    }
  }

  #queue(project: string): Queue {
    const known = this.#queues.get(project);
    if (known) return known;
    const queue: Queue = { busy: 0, waiting: [] };
    this.#queues.set(project, queue);
    return queue;
  }

  #tidy(project: string): void {
    const queue = this.#queues.get(project);
    if (queue && queue.busy === 0 && queue.waiting.length === 0) this.#queues.delete(project);
  }
}

function busy(waitMs: number): TroupeError {
  return new TroupeError(
    'sandbox_busy',
    `The sandbox had no place for ${Math.round(waitMs / 1_000)} s. The code did not run and no file was changed. Try again later.`,
  );
}
