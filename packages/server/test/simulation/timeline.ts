// Virtual time. Everything that happens is an entry of one queue, taken out in order of time; nothing waits for real.

/** A process: when it stands still its entries pile up, when it is dead they are dropped. */
export interface Process {
  dead: boolean;
  paused: boolean;
  /** What came due while it stood still. */
  backlog: (() => void)[];
}

interface Entry {
  at: number;
  order: number;
  process: Process | null;
  action: () => void;
}

export class Timeline {
  /** Monotonic, in ms. */
  now = 0;
  readonly #heap: Entry[] = [];
  #order = 0;

  /** Without a process it happens whatever becomes of anybody: the database, the network. */
  after(ms: number, process: Process | null, action: () => void): void {
    const heap = this.#heap;
    const entry = { at: this.now + ms, order: this.#order++, process, action };
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (before(heap[parent]!, entry)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = entry;
  }

  /** Takes the next entry; false where there is none before that time. */
  step(until: number): boolean {
    const first = this.#heap[0];
    if (!first || first.at > until) {
      this.now = until;
      return false;
    }
    this.#take();
    this.now = first.at;
    const { process, action } = first;
    if (!process) action();
    else if (!process.dead) {
      if (process.paused) process.backlog.push(action);
      else action();
    }
    return true;
  }

  #take(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (before(last, heap[child]!)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/**
 * A course of events with waits in it, written like an async function: `yield*` where that one has `await`.
 * A promise would run on a queue of its own; this one runs on the timeline alone.
 */
export type Course<Value = void> = Generator<Wait, Value, unknown>;
export type Wait = (resume: (value: unknown) => void, fail: (error: Error) => void) => void;

export function run(course: Course<unknown>): void {
  const go = (next: IteratorResult<Wait, unknown>) => {
    if (!next.done) next.value(resume, fail);
  };
  const resume = (value: unknown) => go(course.next(value));
  const fail = (error: Error) => go(course.throw(error));
  resume(undefined);
}
