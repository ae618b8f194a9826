import type { ChangedCollection } from '@troupe/protocol';
import { type Logger, messageOf, Refusal, RetryableError } from '../base/index.ts';
import { type Database, lookForWatchers, syncHorizon } from '../store/index.ts';
import { frame } from '../stream/index.ts';
import { Reader } from './reader.ts';

export interface WatchersOptions {
  db: Database;
  logger: Logger;
  /** Something was written, here or, while somebody watches, elsewhere: look soon. */
  hear?: ((listener: () => void, isWanted: () => boolean) => void) | undefined;
  heartbeatMs: number;
}

const LOOK_MS = 1_000;
/** Nobody is told more often than this, however much happens. */
const SOON_MS = 300;
const DOOR_MS = 5_000;

interface Watcher {
  project: string;
  collections: ReadonlySet<ChangedCollection>;
}

/** Everybody who wants to know which lists of a project have changed. One statement looks for all of them, and only while there are any. */
export class Watchers {
  readonly #options: WatchersOptions;
  readonly #watchers = new Map<Reader, Watcher>();
  /** What the marks of lists without transactions were. */
  readonly #marks = new Map<string, string>();
  readonly #lookTimer: NodeJS.Timeout;
  readonly #doorTimer: NodeJS.Timeout;
  #soonTimer: NodeJS.Timeout | undefined;
  #seen: number | null = null;
  #generation: string | null = null;
  #looking = false;
  #closing = false;

  constructor(options: WatchersOptions) {
    this.#options = options;
    this.#lookTimer = setInterval(() => void this.#look(), LOOK_MS).unref();
    this.#doorTimer = setInterval(() => void this.#checkDoor(), DOOR_MS).unref();
    options.hear?.(
      () => this.#lookSoon(),
      () => this.#watchers.size > 0,
    );
  }

  get readers(): number {
    return this.#watchers.size;
  }

  open(watcher: Watcher, { mayStay }: { mayStay: () => Promise<void> }): ReadableStream<Uint8Array> {
    if (this.#closing)
      throw new RetryableError('stopping', 'The server is stopping.', { retryAfterMs: 1_000 });
    const reader = new Reader({
      heartbeatMs: this.#options.heartbeatMs,
      mayStay,
      join: (joining) => this.#join(joining, watcher),
      leave: (leaving) => this.#leave(leaving),
    });
    return reader.toStream();
  }

  async #join(reader: Reader, watcher: Watcher): Promise<void> {
    const { below, generation } = await syncHorizon(this.#options.db);
    // Who has left again must leave nothing from which the next look would begin, however much later that is.
    if (reader.isClosed) return;
    this.#generation ??= generation;
    this.#seen ??= below;
    this.#watchers.set(reader, watcher);
    if (this.#closing) reader.leave();
  }

  #leave(reader: Reader): void {
    this.#watchers.delete(reader);
    if (this.#watchers.size > 0) return;
    this.#seen = null;
    this.#generation = null;
    this.#marks.clear();
  }

  #lookSoon(): void {
    if (this.#watchers.size > 0 && !this.#closing)
      this.#soonTimer ??= setTimeout(() => {
        this.#soonTimer = undefined;
        void this.#look();
      }, SOON_MS);
  }

  async #look(): Promise<void> {
    if (this.#watchers.size === 0 || this.#seen === null || this.#closing || this.#looking) return;
    this.#looking = true;
    try {
      const projects = [...new Set([...this.#watchers.values()].map(({ project }) => project))];
      const seen = this.#seen;
      const looked = await lookForWatchers(this.#options.db, seen, projects);
      // The last one has left meanwhile, or another one is the first: where that began is where the next look does.
      if (this.#seen !== seen) return;
      // Another database answers by now; or whoever came meanwhile is of a project that was not looked at.
      const isOther = looked.generation !== this.#generation || looked.below < seen;
      for (const [reader, { project }] of this.#watchers)
        if (isOther || !projects.includes(project)) reader.resync();
      this.#generation = looked.generation;
      this.#seen = looked.below;
      for (const { project, collection, ids, mark } of looked.changes) {
        if (mark !== null && !this.#isNew(`${collection} ${project}`, mark)) continue;
        const told = frame('changed', { collection, ...(ids ? { ids } : {}) });
        for (const [reader, watcher] of this.#watchers)
          if (watcher.project === project && watcher.collections.has(collection)) reader.tell(told);
      }
    } catch (error) {
      this.#options.logger.debug({ error: messageOf(error) }, 'what has changed could not be read');
    } finally {
      this.#looking = false;
    }
  }

  #isNew(list: string, mark: string): boolean {
    const before = this.#marks.get(list);
    this.#marks.set(list, mark);
    return before !== mark;
  }

  async #checkDoor(): Promise<void> {
    for (const reader of this.#watchers.keys()) {
      await reader.mayStay().catch((error: unknown) => {
        if (error instanceof Refusal) reader.leave();
      });
    }
  }

  /** Tells everybody to come back later; whoever does not hear it is let go by `close`. */
  farewell(): void {
    this.#closing = true;
    clearInterval(this.#lookTimer);
    clearInterval(this.#doorTimer);
    clearTimeout(this.#soonTimer);
    for (const reader of this.#watchers.keys()) reader.leave();
  }

  close(): void {
    for (const reader of this.#watchers.keys()) reader.close();
  }
}
