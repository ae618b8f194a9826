import type { Connected } from '@troupe/protocol';
import { messageOf } from '../base/index.ts';
import { isConnectionError } from '../store/index.ts';
import { connectedFrame, disconnectingFrame, HEARTBEAT, lastFrame } from './frame.ts';
import type { Live, LiveText } from './live.ts';
import { pulled } from './pulled.ts';
import { RUN_ENDS, type Topic } from './topic.ts';

/** What is taken in one go: with what the socket holds, all that a reader who does not read can cost. */
const MOST_BYTES = 65_536;
const AGAIN_MS = 250;
const MOST_PASSING = 100;

/** What a reader is told last, and the last event that it takes account of. */
export interface LastFrame {
  type: string;
  data: object;
  upTo: number;
}

export interface ReaderOptions {
  connected: Connected;
  after: number;
  wants(type: string, run: string | null): boolean;
  live: Live;
  heartbeatMs: number;
  join(reader: Reader): Topic;
  leave(reader: Reader): void;
  onFailure(message: string): void;
  mayStay?: () => Promise<void>;
  /** Asked whenever he has read everything and a run has ended in it: the last that he is told, or null where there is more to come. */
  last?: () => Promise<LastFrame | null>;
  /** It had ended by where he begins. */
  hasEnd?: boolean;
}

/**
 * One reader, who is at a place of his own in the log. Nothing is pushed to him: the socket asks for more when it has
 * room, and gets what is new from where he is. So one who reads slowly costs no memory and misses no event; of what is
 * being written he gets fewer and larger pieces.
 */
export class Reader {
  readonly #options: ReaderOptions;
  #topic: Topic | null = null;
  #cursor: number;
  /** How much of each text he has. */
  #heard = new Map<LiveText, number>();
  readonly #passing = new Map<string, Buffer>();
  #woken = false;
  #wake: (() => void) | null = null;
  #leaving = false;
  /** He has read that a run ended. */
  #ended = false;
  #done = false;
  #sentAt = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#cursor = options.after;
    this.#ended = options.hasEnd ?? false;
  }

  toStream(): ReadableStream<Uint8Array> {
    return pulled({ next: () => this.#next(), isDone: () => this.#done, close: () => this.close() });
  }

  async mayStay(): Promise<void> {
    await this.#options.mayStay?.();
  }

  /** Something that is said once and kept nowhere. Of the same key only the last counts, for one who reads slowly. */
  pass(key: string, type: string, bytes: Buffer): void {
    if (!this.#options.wants(type, null)) return;
    this.#passing.delete(key);
    this.#passing.set(key, bytes);
    if (this.#passing.size > MOST_PASSING) this.#passing.delete(this.#passing.keys().next().value!);
    this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Says good-bye with the next thing that is sent, and ends. */
  leave(): void {
    this.#leaving = true;
    this.wake();
  }

  close(): void {
    if (this.#topic) this.#options.leave(this);
    this.#topic = null;
    this.#done = true;
    this.wake();
  }

  async #next(): Promise<Uint8Array | null> {
    if (!this.#topic && !this.#done) {
      // Not before somebody reads: a response that nobody takes must leave nothing behind.
      this.#topic = this.#options.join(this);
      return this.#sent(connectedFrame(this.#options.connected));
    }
    for (;;) {
      this.#woken = false;
      const topic = this.#topic;
      if (!topic || this.#done || topic.gone) return null;
      if (this.#leaving) {
        this.#done = true;
        return disconnectingFrame();
      }
      try {
        const bytes =
          (await this.#events(topic)) ?? (await this.#last()) ?? this.#passed() ?? this.#live(topic);
        if (bytes) return this.#sent(bytes);
      } catch (error) {
        if (!isConnectionError(error)) {
          this.#options.onFailure(messageOf(error));
          return null;
        }
        await this.#wait(AGAIN_MS, true);
        continue;
      }
      const quietFor = performance.now() - this.#sentAt;
      if (quietFor >= this.#options.heartbeatMs) return this.#sent(HEARTBEAT);
      await this.#wait(this.#options.heartbeatMs - quietFor);
    }
  }

  #sent(bytes: Buffer): Buffer {
    this.#sentAt = performance.now();
    return bytes;
  }

  /** Null where he is at the end. What he does not want is passed over. */
  async #events(topic: Topic): Promise<Buffer | null> {
    for (;;) {
      const { frames, upTo } = await topic.after(this.#cursor);
      const taken: Buffer[] = [];
      let size = 0;
      for (const frame of frames) {
        if (size > 0 && size + frame.bytes.length > MOST_BYTES) return Buffer.concat(taken);
        this.#cursor = frame.seq;
        if (!this.#options.wants(frame.type, frame.runId)) continue;
        if (RUN_ENDS.has(frame.type)) this.#ended = true;
        taken.push(frame.bytes);
        size += frame.bytes.length;
      }
      const moved = upTo > this.#cursor || frames.length > 0;
      this.#cursor = Math.max(this.#cursor, upTo);
      if (taken.length > 0) return taken.length === 1 ? taken[0]! : Buffer.concat(taken);
      if (!moved || this.#done || this.#leaving) return null;
    }
  }

  async #last(): Promise<Buffer | null> {
    if (!this.#ended || !this.#options.last) return null;
    const last = await this.#options.last();
    // Events that he has not read yet are older than what would be said last.
    if (last && last.upTo > this.#cursor) {
      this.#topic?.refresh();
      return null;
    }
    this.#ended = false;
    if (last === null) return null;
    this.#done = true;
    return lastFrame(last);
  }

  #passed(): Buffer | null {
    if (this.#passing.size === 0) return null;
    const bytes = Buffer.concat([...this.#passing.values()]);
    this.#passing.clear();
    return bytes;
  }

  #live(topic: Topic): Buffer | null {
    if (topic.behind || this.#cursor < topic.last) return null;
    const heard = new Map<LiveText, number>();
    const taken: Buffer[] = [];
    for (const text of this.#options.live.of(topic.thread)) {
      if (!this.#options.wants(text.about.type, text.about.run)) continue;
      const from = this.#heard.get(text) ?? 0;
      heard.set(text, text.text.length);
      if (from < text.text.length || !this.#heard.has(text)) taken.push(text.frameFrom(from));
    }
    this.#heard = heard;
    if (taken.length === 0) return null;
    return taken.length === 1 ? taken[0]! : Buffer.concat(taken);
  }

  /** `through`: whatever happens meanwhile, unless it is over. */
  async #wait(ms: number, through = false): Promise<void> {
    if (this.#woken && !through) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        if (through && !this.#done && !this.#leaving) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}
