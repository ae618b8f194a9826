import type { Json, Typing } from '@troupe/protocol';
import { type Logger, messageOf, Refusal, RetryableError } from '../base/index.ts';
import { type Database, lastEvents, type ThreadLog } from '../store/index.ts';
import { connectedTo } from './envelope.ts';
import { typeFilter } from './filter.ts';
import { TYPING, typingFrame } from './frame.ts';
import type { ElsewherePiece, Hints, Line, Speaker, SpokenDelta } from './line.ts';
import { isPiece, Live, type LiveText } from './live.ts';
import { isPassing } from './passing.ts';
import { type LastFrame, Reader } from './reader.ts';
import { Topic } from './topic.ts';

export interface StreamOptions {
  db: Database;
  logger: Logger;
  line: Line;
  heartbeatMs?: number;
}

const LOOK_MS = 1_000;
/** Whose key is revoked or whose token is out of date has to go after this. */
const DOOR_MS = 5_000;
/** A thread that nobody has said for this long to be read elsewhere is not. */
const WATCHED_MS = 3_500;
/** What is being written goes to other processes this often. */
const TELL_MS = 20;
const ASK_MS = 300;
const FAREWELL_MS = 500;
/** Instead of a thread: whichever it is. */
const ANY = '*';

/**
 * Everybody who reads a thread as it is written, in one process, and what this process has to tell readers in others.
 *
 * A process that has readers says so once a second; only then do others send hints and deltas for those threads. So
 * nobody pays for what nobody reads, and a notice that is lost is made up for within a second.
 */
export class Stream {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #line: Line;
  readonly #heartbeatMs: number;
  readonly #live = new Live();
  readonly #topics = new Map<string, Topic>();
  readonly #readers = new Map<Reader, Topic>();
  /** Threads that are read in other processes, and until when that is believed. */
  readonly #elsewhere = new Map<string, number>();
  /** What other processes have yet to be told. */
  readonly #untold = new Set<LiveText>();
  readonly #lookTimer: NodeJS.Timeout;
  readonly #doorTimer: NodeJS.Timeout;
  readonly #listeners = new Map<() => void, () => boolean>();
  #tellTimer: NodeJS.Timeout | undefined;
  #looking = false;
  #closing = false;

  constructor({ db, logger, line, heartbeatMs = 15_000 }: StreamOptions) {
    this.#db = db;
    this.#logger = logger;
    this.#line = line;
    this.#heartbeatMs = heartbeatMs;
    this.#lookTimer = setInterval(() => void this.#look(), LOOK_MS);
    this.#doorTimer = setInterval(() => void this.#checkDoor(), DOOR_MS);
    line.setOnlooker({
      onTouched: (thread) => this.#touched(thread),
      onDelta: (run, step, delta) => this.#spoken(run, step, delta),
      onLive: (run, step, thought, piece) => this.#spokenElsewhere(run, step, thought, piece),
      onSaid: (run, calls) => this.#live.said(run.id, calls),
      onSilent: (run) => this.#silent(run),
      onHints: (hints) => this.#hear(hints),
    });
  }

  /** How many read here. */
  get readers(): number {
    return this.#readers.size;
  }

  /** The log after a sequence, then as it grows, as server-sent events. */
  open(
    log: ThreadLog,
    options: {
      after: number;
      types?: string | undefined;
      /** Only what is of this run. */
      run?: string | undefined;
      /** What is told when the run has ended, and then the stream ends; null where the run goes on. Left out: it goes on for ever. */
      last?: () => Promise<LastFrame | null>;
      /** Throws a `Refusal` once the reader may read no longer. */
      mayStay?: () => Promise<void>;
    },
  ): ReadableStream<Uint8Array> {
    if (this.#closing)
      throw new RetryableError('stopping', 'The server is stopping.', { retryAfterMs: 1_000 });
    const wantsType = typeFilter(options.types);
    const reader = new Reader({
      connected: connectedTo(log),
      after: options.after,
      wants: (type, run) => (options.run === undefined || run === options.run) && wantsType(type),
      live: this.#live,
      heartbeatMs: this.#heartbeatMs,
      join: (joining) => this.#join(joining, log),
      leave: (leaving) => this.#leave(leaving),
      onFailure: (error) => this.#logger.error({ thread: log.thread, error }, 'a stream of events failed'),
      ...(options.mayStay ? { mayStay: options.mayStay } : {}),
      ...(options.last ? { last: options.last } : {}),
      // He has the end already: it will not come again.
      hasEnd: options.after >= log.lastSequence && log.runs.every(({ id }) => id !== options.run),
    });
    return reader.toStream();
  }

  #join(reader: Reader, log: ThreadLog): Topic {
    let topic = this.#topics.get(log.thread);
    if (!topic) {
      topic = new Topic(log, {
        db: this.#db,
        logger: this.#logger,
        live: this.#live,
        // Whoever was removed must not go on reading until it is asked for the next time.
        onLeft: ({ readers }) => void this.#checkDoor([...readers]),
      });
      this.#topics.set(log.thread, topic);
      topic.askedAt = performance.now();
      this.#line.hint({ watch: [log.thread], whole: [log.thread] });
    }
    topic.readers.add(reader);
    this.#readers.set(reader, topic);
    if (this.#closing) reader.leave();
    return topic;
  }

  #leave(reader: Reader): void {
    const topic = this.#readers.get(reader);
    if (!topic) return;
    this.#readers.delete(reader);
    topic.readers.delete(reader);
    if (topic.readers.size > 0) return;
    this.#topics.delete(topic.thread);
    this.#live.leave(topic.thread);
  }

  // ---- what happens in this process

  /** Told whenever something was written here; and while it is wanted, when it is said to have been elsewhere. */
  hear(listener: () => void, isWanted: () => boolean): void {
    this.#listeners.set(listener, isWanted);
  }

  #touched(thread: string): void {
    for (const listener of this.#listeners.keys()) listener();
    if (this.#elsewhere.has(ANY)) this.#line.hint({ threads: [ANY] });
    this.#topics.get(thread)?.refresh();
    if (this.#elsewhere.has(thread)) this.#line.hint({ threads: [thread] });
  }

  #spoken(run: Speaker, step: number, delta: SpokenDelta): void {
    // Models come from anywhere.
    if (typeof delta?.text !== 'string' || delta.text === '') return;
    for (const text of this.#live.write(run, step, delta)) this.#written(text);
  }

  #spokenElsewhere(run: Speaker, step: number, thought: number, piece: ElsewherePiece): void {
    if (piece.text !== '') this.#written(this.#live.writeElsewhere(run, step, thought, piece));
  }

  #written(text: LiveText): void {
    const { thread } = text.about;
    this.#topics.get(thread)?.wake();
    if (!this.#elsewhere.has(thread)) return;
    this.#untold.add(text);
    this.#tellTimer ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  /** Tells everybody who reads the thread, here and elsewhere, that somebody is typing or has stopped. */
  pass(thread: string, typing: Typing): void {
    this.#passHere(thread, typing);
    if (this.#elsewhere.has(thread)) this.#line.hint({ live: [{ thread, passing: TYPING, data: typing }] });
  }

  #passHere(thread: string, typing: Typing): void {
    const topic = this.#topics.get(thread);
    if (!topic) return;
    const bytes = typingFrame(typing);
    for (const reader of topic.readers) reader.pass(typing.entityId, TYPING, bytes);
  }

  #silent(run: Speaker): void {
    this.#live.end(run.threadId, run.id);
  }

  #tell(): void {
    this.#tellTimer = undefined;
    const live: Json[] = [];
    for (const text of this.#untold) {
      // What was stored meanwhile is read from there.
      if (!this.#isLive(text)) continue;
      for (const piece of text.pieces(text.told)) live.push({ ...piece });
      text.told = text.text.length;
    }
    this.#untold.clear();
    if (live.length > 0) this.#line.hint({ live });
  }

  #isLive(text: LiveText): boolean {
    for (const live of this.#live.of(text.about.thread)) if (live === text) return true;
    return false;
  }

  // ---- what other processes say

  #hear(hints: Hints): void {
    const until = performance.now() + WATCHED_MS;
    for (const thread of hints.watch ?? []) {
      this.#elsewhere.set(thread, until);
      this.#sayWhere(thread);
    }
    for (const thread of hints.whole ?? []) this.#sayAll(thread);
    for (const thread of hints.threads ?? []) {
      if (thread === ANY) for (const listener of this.#listeners.keys()) listener();
      else this.#topics.get(thread)?.refresh();
    }
    for (const piece of hints.live ?? []) {
      if (isPiece(piece)) this.#hearPiece(piece);
      else if (isPassing(piece)) this.#passHere(piece.thread, piece.data);
    }
  }

  #hearPiece(piece: Parameters<Live['hear']>[0]): void {
    const topic = this.#topics.get(piece.thread);
    if (!topic || topic.isSilent(piece)) return;
    if (this.#live.hear(piece)) {
      topic.wake();
      return;
    }
    const now = performance.now();
    if (now - topic.askedAt < ASK_MS) return;
    topic.askedAt = now;
    this.#line.hint({ whole: [piece.thread] });
  }

  /** An empty piece at the end of each text: whoever lacks something before it notices. */
  #sayWhere(thread: string): void {
    const live: Json[] = [];
    for (const text of this.#live.of(thread))
      if (text.own && text.told > 0) live.push({ ...text.about, offset: text.told, text: '' });
    if (live.length > 0) this.#line.hint({ live });
  }

  #sayAll(thread: string): void {
    const live: Json[] = [];
    for (const text of this.#live.of(thread)) {
      if (!text.own) continue;
      for (const piece of text.pieces(0)) live.push({ ...piece });
      text.told = text.text.length;
    }
    if (live.length > 0) this.#line.hint({ live });
  }

  // ---- once a second: what hints did not tell

  async #look(): Promise<void> {
    const now = performance.now();
    for (const [thread, until] of this.#elsewhere) if (until < now) this.#elsewhere.delete(thread);
    if ([...this.#listeners.values()].some((isWanted) => isWanted())) this.#line.hint({ watch: [ANY] });
    const threads = [...this.#topics.keys()];
    if (threads.length === 0 || this.#looking) return;
    this.#line.hint({ watch: threads });
    this.#looking = true;
    try {
      const last = await lastEvents(this.#db, threads);
      for (const thread of threads) {
        const topic = this.#topics.get(thread);
        if (!topic) continue;
        const seq = last.get(thread);
        // A session and its thread are made as one: whatever was read of it or not, one that is missing was deleted.
        if (seq === undefined) topic.end();
        else if (seq > topic.last) topic.refresh();
      }
    } catch (error) {
      this.#logger.debug({ error: messageOf(error) }, 'the logs that are read could not be looked at');
    } finally {
      this.#looking = false;
    }
  }

  /** Those who may read no longer go; where it cannot be found out, they stay until it can. */
  async #checkDoor(readers = [...this.#readers.keys()]): Promise<void> {
    for (const reader of readers) {
      await reader.mayStay().catch((error: unknown) => {
        if (error instanceof Refusal) reader.leave();
      });
    }
  }

  /** Tells every reader to come back later, to whoever serves then. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    clearInterval(this.#lookTimer);
    clearInterval(this.#doorTimer);
    clearTimeout(this.#tellTimer);
    this.#line.setOnlooker(null);
    for (const reader of [...this.#readers.keys()]) reader.leave();
    const until = performance.now() + FAREWELL_MS;
    while (this.#readers.size > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 5));
    // Who does not read cannot be told either.
    for (const reader of [...this.#readers.keys()]) reader.close();
  }
}
