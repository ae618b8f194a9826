import type { Collection } from '@troupe/protocol';
import { pulled } from '../stream/index.ts';

/** What one reader may have waiting for him: beyond it he is told to pull instead. */
const MOST_BYTES = 262_144;

const encode = (event: string, data: unknown, head = '') =>
  Buffer.from(`${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

export const documentsFrame = (collection: Collection, documents: unknown[], checkpoint: string) =>
  encode('documents', { collection, documents, checkpoint });
const RESYNC = encode('resync', {}, 'retry: 1000\n');
const HEARTBEAT = Buffer.from(': heartbeat\n\n');

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
  tell(frame: Buffer): void {
    if (this.#bytes + frame.length > MOST_BYTES) {
      this.resync();
      return;
    }
    this.#frames.push(frame);
    this.#bytes += frame.length;
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
      const retryMs = Math.round(500 + Math.random() * 2_500);
      return encode('disconnecting', { retryMs }, `retry: ${retryMs}\n`);
    }
    if (this.#done) return null;
    const frame = this.#frames.shift();
    if (!frame) return HEARTBEAT;
    this.#bytes -= frame.length;
    return frame;
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
