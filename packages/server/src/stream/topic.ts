import { type Logger, messageOf } from '../base/index.ts';
import { type Database, eventsAfter, lastEvents } from '../store/index.ts';
import type { LogName } from './envelope.ts';
import { eventFrame, type Frame } from './frame.ts';
import type { Live } from './live.ts';
import type { Reader } from './reader.ts';

/**
 * What readers that keep up share; bounded, so that ten thousand watched threads stay affordable. Many readers of one
 * thread do not all keep up equally, and whoever falls behind the tail reads from the database: so each adds to it.
 */
const TAIL_EVENTS = 128;
const TAIL_BYTES = 65_536;
const TAIL_BYTES_EACH = 1_024;
const PAGE = 100;
const MOST_REMEMBERED = 32;
const MOST_SAID = 256;

export const RUN_ENDS = new Set(['run.completed', 'run.failed', 'run.canceled', 'run.absorbed']);
const RUN_BEGINS = new Set(['run.queued', 'run.started', 'run.resumed']);

/**
 * One thread that is being read: its end is read once for all readers. Sequences have no gaps and become visible in
 * their order, so whoever asks for everything after the last one he has misses nothing and gets nothing twice.
 */
export class Topic {
  readonly thread: string;
  readonly session: string | null;
  readonly space: string | null;
  readonly readers = new Set<Reader>();
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #live: Live;
  readonly #onLeft: (topic: Topic) => void;
  /** Pages of the past that are being read, and how far the log had come when that began. */
  readonly #pages = new Map<number, { frames: Promise<Frame[]>; last: number }>();
  /** By run, the last step whose answer is on disk: what still comes of it from elsewhere comes late. */
  readonly #silent = new Map<string, number>();
  /** The last messages and calls of runs that are in the log. */
  readonly #said = new Set<string>();
  #tail: Frame[] = [];
  #tailBytes = 0;
  /** Everything after this and up to `last` is in the tail. */
  #floor: number;
  #last: number;
  #reading = false;
  #again = false;
  #gone = false;
  /** When all of what is being written was asked for. */
  askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    log: LogName & { lastSequence: number },
    parts: { db: Database; logger: Logger; live: Live; onLeft: (topic: Topic) => void },
  ) {
    this.thread = log.thread;
    this.session = log.session;
    this.space = log.space;
    this.#db = parts.db;
    this.#logger = parts.logger;
    this.#live = parts.live;
    this.#onLeft = parts.onLeft;
    this.#floor = Math.max(0, log.lastSequence - TAIL_EVENTS);
    this.#last = this.#floor;
    this.refresh();
  }

  /** The thread was deleted. */
  get gone(): boolean {
    return this.#gone;
  }

  /** The last sequence that was read. */
  get last(): number {
    return this.#last;
  }

  /** More may have been written than was read: what is being said now may belong behind it. */
  get behind(): boolean {
    return this.#reading;
  }

  /** Reads what is new, once, however often it is called meanwhile. */
  refresh(): void {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    void this.#read();
  }

  async #read(): Promise<void> {
    try {
      while (this.#again && !this.#gone) {
        this.#again = false;
        const found = await eventsAfter(this.#db, this.thread, this.#last, PAGE);
        if (found.length === PAGE) this.#again = true;
        for (const stored of found) this.#append(eventFrame(stored, this));
        if (found.length > 0) this.wake();
        if (found.some(({ type }) => type === 'space.member.left')) this.#onLeft(this);
      }
    } catch (error) {
      // The next look, a second later at most, reads it.
      this.#logger.debug({ thread: this.thread, error: messageOf(error) }, 'events could not be read');
    } finally {
      this.#reading = false;
      // What is being written was held back meanwhile; where nothing is, a thousand readers need not be disturbed.
      for (const _ of this.#live.of(this.thread)) {
        this.wake();
        break;
      }
    }
  }

  #append(frame: Frame): void {
    this.#hush(frame);
    this.#tail.push(frame);
    this.#tailBytes += frame.bytes.length;
    this.#last = frame.seq;
    const events = TAIL_EVENTS + this.readers.size;
    const bytes = TAIL_BYTES + TAIL_BYTES_EACH * this.readers.size;
    while (this.#tail.length > events || (this.#tailBytes > bytes && this.#tail.length > 1)) {
      const first = this.#tail.shift()!;
      this.#tailBytes -= first.bytes.length;
      this.#floor = first.seq;
    }
  }

  /** What an event stores or gives up is no longer being written. */
  #hush({ type, runId, step, streamId, callId }: Frame): void {
    if (runId === null) return;
    if (streamId !== null || callId !== null) {
      this.#live.stored(this.thread, ({ run, stream, call }) =>
        streamId !== null ? stream === streamId : run === runId && call === callId,
      );
      this.#said.add(streamId ?? `${runId} ${callId}`);
      if (this.#said.size > MOST_SAID) this.#said.delete(this.#said.values().next().value!);
    }
    if (RUN_BEGINS.has(type)) this.#silent.delete(runId);
    const upTo = RUN_ENDS.has(type)
      ? Number.POSITIVE_INFINITY
      : type === 'step.generated' || type === 'step.error'
        ? (step ?? 0)
        : null;
    if (upTo === null) return;
    this.#live.end(this.thread, runId, upTo);
    if (type === 'step.error') return; // the same step is tried again
    this.#silent.delete(runId);
    this.#silent.set(runId, upTo);
    if (this.#silent.size > MOST_REMEMBERED) this.#silent.delete(this.#silent.keys().next().value!);
  }

  /** Whether an answer, or what a call was about to say here, is on disk already. */
  isSilent({
    run,
    step,
    stream,
    call,
  }: {
    run: string;
    step: number;
    stream?: string;
    call?: string;
  }): boolean {
    if (stream !== undefined && (this.#said.has(stream) || this.#said.has(`${run} ${call}`))) return true;
    return step <= (this.#silent.get(run) ?? 0);
  }

  /** Some of what comes after; empty where nothing does yet. What is older than the tail is read for whoever is there. */
  async after(cursor: number): Promise<{ frames: Frame[]; upTo: number }> {
    if (cursor >= this.#floor) {
      const at = this.#tail.findLastIndex((frame) => frame.seq <= cursor) + 1;
      return { frames: this.#tail.slice(at), upTo: Math.max(cursor, this.#last) };
    }
    const number = Math.floor(cursor / PAGE);
    const end = Math.min(this.#floor, (number + 1) * PAGE);
    const frames = (await this.#page(number, end)).filter((frame) => frame.seq > cursor);
    // Nothing: what was there has been purged, or deleted with the thread; then what is left of it here is not told, for
    // it would follow upon a gap.
    if (frames.length === 0 && !(await lastEvents(this.#db, [this.thread])).has(this.thread)) {
      this.end();
      return { frames, upTo: cursor };
    }
    return { frames, upTo: frames.at(-1)?.seq ?? end };
  }

  /** One read for all who need the page, unless it began before `end` was there to be seen. */
  async #page(number: number, end: number): Promise<Frame[]> {
    const known = this.#pages.get(number);
    if (known && known.last >= end) return known.frames;
    const found = eventsAfter(this.#db, this.thread, number * PAGE, PAGE);
    const frames = found.then((stored) => stored.map((one) => eventFrame(one, this)));
    const page = { frames, last: this.#last };
    this.#pages.set(number, page);
    try {
      return await frames;
    } finally {
      if (this.#pages.get(number) === page) this.#pages.delete(number);
    }
  }

  /** Everybody goes: there is nothing to read any more. */
  end(): void {
    this.#gone = true;
    this.wake();
  }

  wake(): void {
    for (const reader of this.readers) reader.wake();
  }
}
