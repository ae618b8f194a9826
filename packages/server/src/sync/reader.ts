import type { Collection } from '@troupe/protocol';
import { disconnectingFrame, frame, HEARTBEAT, pulled } from '../stream/index.ts';

/** What one reader may have waiting for him: beyond it he is told to pull instead. */
const MOST_BYTES = 262_144;

export const documentsFrame = (collection: Collection, documents: unknown[], checkpoint: string) =>
  frame('documents', { collection, documents, checkpoint });
const RESYNC = frame('resync', {}, 'retry: 1000\n');

export interface ReaderOptions {
  heartbeatMs: number;
  /** Called with the first thing that is read: a response that nobody takes leaves nothing behind. */
  join(reader: Reader): Promise<void>;
  leave(reader: Reader): void;
  /** Throws where he may read no longer. */
  mayStay(): Promise<void>;
}

/** Somebody who follows collections. First of all he is told to pull; then he gets what changes from the moment on at which he came. */
export class Reader {
  readonly #options: ReaderOptions;
  #frames: Buffer[] = [];
  #bytes = 0;
  #joined = false;
  #leaving = false;
  #done = false;
  #wake: (() => void) | null = null;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  toStream(): ReadableStream<Uint8Array> {
    return pulled({ next: () => this.#next(), isDone: () => this.#done, close: () => this.close() });
  }

  get isClosed(): boolean {
    return this.#done;
  }

  mayStay(): Promise<void> {
    return this.#options.mayStay();
  }

  /** Who reads slowly misses nothing by being told to pull: it is all there. */
  tell(bytes: Buffer): void {
    if (this.#bytes + bytes.length > MOST_BYTES) {
      this.resync();
      return;
    }
    this.#frames.push(bytes);
    this.#bytes += bytes.length;
    this.#wake?.();
  }

  resync(): void {
    this.#frames = [RESYNC];
    this.#bytes = RESYNC.length;
    this.#wake?.();
  }

  /** Says good-bye with the next thing that is sent, and ends. */
  leave(): void {
    this.#leaving = true;
    this.#wake?.();
  }

  close(): void {
    if (this.#joined) this.#options.leave(this);
    this.#joined = false;
    this.#done = true;
    this.#wake?.();
  }

  async #next(): Promise<Buffer | null> {
    if (!this.#joined && !this.#done) {
      this.#joined = true;
      await this.#options.join(this);
      // After that: what is pulled now and what is told from now on have no gap between them.
      return RESYNC;
    }
    if (this.#frames.length === 0 && !this.#leaving && !this.#done) await this.#wait();
    if (this.#leaving) {
      this.#done = true;
      return disconnectingFrame();
    }
    if (this.#done) return null;
    const next = this.#frames.shift();
    if (!next) return HEARTBEAT;
    this.#bytes -= next.length;
    return next;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, this.#options.heartbeatMs);
      const self = this;
      function done() {
        clearTimeout(timer);
        self.#wake = null;
        resolve();
      }
      this.#wake = done;
    });
  }
}
