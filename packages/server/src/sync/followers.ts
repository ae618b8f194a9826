import type { Collection } from '@troupe/protocol';
import { type Logger, messageOf, Refusal, RetryableError } from '../base/index.ts';
import {
  type Database,
  longestTransaction,
  lookForChanges,
  type Position,
  type SyncScope,
  syncHorizon,
} from '../store/index.ts';
import { fromCheckpoint, orderOf, toCheckpoint } from './checkpoint.ts';
import { pullChanges } from './pull.ts';
import { documentsFrame, Reader } from './reader.ts';
import { Watchers } from './watchers.ts';

export interface FollowersOptions {
  db: Database;
  logger: Logger;
  /** Something was written, here or, while somebody follows, elsewhere: look soon. */
  hear?: (listener: () => void, isWanted: () => boolean) => void;
  heartbeatMs?: number;
  /** How long an open transaction may hold everything up before it is told of. */
  stallMs?: number;
}

const LOOK_MS = 1_000;
/** What is written close together is looked at once. */
const SOON_MS = 30;
const DOOR_MS = 5_000;
const PAGE = 200;
const FAREWELL_MS = 500;
/** Everybody in a large space is told at once, and others need connections too. */
const AT_ONCE = 3;

/** Those who follow the same thing with the same rights: they are told the same, and it is read once. */
interface Group {
  collection: Collection;
  scope: SyncScope;
  /** Everything before was told. */
  at: Position;
  readers: Set<Reader>;
  /** Something has changed that could not be read yet. */
  behind: boolean;
}

/**
 * Everybody who follows collections, in one process. One statement looks what has changed for all of them, after a hint and once a second; whoever
 * is concerned then gets what a pull would bring, from where his group is. So the look decides nothing about rights.
 */
export class Followers {
  /** Those who want to know only that lists have changed. */
  readonly watchers: Watchers;
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #heartbeatMs: number;
  readonly #stallMs: number;
  readonly #groups = new Map<string, Group>();
  readonly #lookTimer: NodeJS.Timeout;
  readonly #doorTimer: NodeJS.Timeout;
  #soonTimer: NodeJS.Timeout | undefined;
  #generation: string | null = null;
  /** Up to where it was looked; null: nobody has followed yet. */
  #seen: number | null = null;
  #stalledSince: number | null = null;
  #stalledAt = -1;
  #told = false;
  #looking = false;
  #again = false;
  #closing = false;
  /** How often it was looked, for whoever wants to know what it costs. */
  looks = 0;

  constructor({ db, logger, hear, heartbeatMs = 15_000, stallMs = 10_000 }: FollowersOptions) {
    this.#db = db;
    this.#logger = logger;
    this.#heartbeatMs = heartbeatMs;
    this.#stallMs = stallMs;
    this.watchers = new Watchers({ db, logger, hear, heartbeatMs });
    this.#lookTimer = setInterval(() => void this.#look(), LOOK_MS).unref();
    this.#doorTimer = setInterval(() => void this.#checkDoor(), DOOR_MS).unref();
    hear?.(
      () => this.#lookSoon(),
      () => this.#groups.size > 0,
    );
  }

  get readers(): number {
    return this.#all().size;
  }

  /** For how long an open transaction has held everything up, as far as somebody follows. */
  get stalledSeconds(): number {
    return this.#stalledSince === null ? 0 : (performance.now() - this.#stalledSince) / 1_000;
  }

  open(
    collections: readonly Collection[],
    scope: SyncScope,
    { mayStay }: { mayStay: () => Promise<void> },
  ): ReadableStream<Uint8Array> {
    if (this.#closing)
      throw new RetryableError('stopping', 'The server is stopping.', { retryAfterMs: 1_000 });
    const names = new Map(
      collections.map((name) => [[name, scope.project, scope.entityId, scope.chat].join(' '), name]),
    );
    const reader = new Reader({
      heartbeatMs: this.#heartbeatMs,
      mayStay,
      join: (joining) => this.#join(joining, names, scope),
      leave: (leaving) => this.#leave(leaving, names.keys()),
    });
    return reader.toStream();
  }

  /** Somebody who follows several collections is in several groups. */
  #all(): Set<Reader> {
    return new Set([...this.#groups.values()].flatMap(({ readers }) => [...readers]));
  }

  async #join(reader: Reader, names: Map<string, Collection>, scope: SyncScope): Promise<void> {
    const { below, generation } = await syncHorizon(this.#db);
    this.#generation ??= generation;
    this.#seen ??= below;
    // Whoever has gone by now would never be taken out again.
    if (reader.isClosed) return;
    for (const [name, collection] of names) {
      let group = this.#groups.get(name);
      if (!group) {
        group = { collection, scope, at: { xid: below, id: '' }, readers: new Set(), behind: false };
        this.#groups.set(name, group);
      }
      group.readers.add(reader);
    }
    if (this.#closing) reader.leave();
  }

  #leave(reader: Reader, names: Iterable<string>): void {
    for (const name of names) {
      const group = this.#groups.get(name);
      group?.readers.delete(reader);
      if (group?.readers.size === 0) this.#groups.delete(name);
    }
    if (this.#groups.size > 0) return;
    // Whoever comes next begins with the present.
    this.#seen = null;
    this.#generation = null;
    this.#stalledSince = null;
  }

  #lookSoon(): void {
    if (this.#groups.size > 0 && !this.#closing)
      this.#soonTimer ??= setTimeout(() => {
        this.#soonTimer = undefined;
        void this.#look();
      }, SOON_MS);
  }

  async #look(): Promise<void> {
    if (this.#groups.size === 0 || this.#seen === null || this.#closing) return;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    try {
      this.looks++;
      const projects = [...new Set([...this.#groups.values()].map(({ scope }) => scope.project))];
      const looked = await lookForChanges(this.#db, this.#seen, projects);
      // Another database answers by now: nothing that was known about the order holds.
      if (looked.generation !== this.#generation || looked.below < this.#seen) {
        this.#generation = looked.generation;
        for (const group of this.#groups.values()) {
          group.at = { xid: looked.below, id: '' };
          for (const reader of group.readers) reader.resync();
        }
      }
      const concerned = groupsOf(this.#groups.values(), looked.touched);
      for (const group of this.#groups.values()) {
        if (concerned.has(group)) group.behind = true;
        // Nothing before the horizon is of theirs.
        else if (!group.behind && group.at.xid < looked.below) group.at = { xid: looked.below, id: '' };
      }
      this.#seen = looked.below;
      await this.#noteStall(looked);
      const behind = [...this.#groups.values()].filter((group) => group.behind);
      await Promise.all(Array.from({ length: AT_ONCE }, () => this.#tellAll(behind)));
    } catch (error) {
      this.#logger.debug(
        { error: messageOf(error) },
        'what has changed for those who follow could not be read',
      );
    } finally {
      this.#looking = false;
      if (this.#again) {
        this.#again = false;
        this.#lookSoon();
      }
    }
  }

  /** What cannot be read for some of them is read at the next look, and keeps the others from nothing. */
  async #tellAll(behind: Group[]): Promise<void> {
    for (let group = behind.shift(); group; group = behind.shift()) {
      const { collection } = group;
      await this.#tell(group).catch((error: unknown) =>
        this.#logger.warn({ collection, error: messageOf(error) }, 'what has changed could not be told'),
      );
    }
  }

  async #tell(group: Group): Promise<void> {
    for (;;) {
      const checkpoint = toCheckpoint(orderOf(this.#generation!, group.collection, group.scope), group.at);
      const pulled = await pullChanges(this.#db, group.collection, group.scope, { checkpoint, limit: PAGE });
      if (pulled.restarted) {
        for (const reader of group.readers) reader.resync();
        group.behind = false;
        return;
      }
      const { documents } = pulled;
      if (documents.length > 0) {
        const frame = documentsFrame(group.collection, documents, pulled.checkpoint);
        for (const reader of group.readers) reader.tell(frame);
      }
      group.at = fromCheckpoint(pulled.checkpoint);
      if (documents.length < PAGE) break;
    }
    group.behind = false;
  }

  /** While the horizon stands and transactions come and go behind it, somebody keeps one open. */
  async #noteStall({ below, next }: { below: number; next: number }): Promise<void> {
    if (below !== this.#stalledAt || next <= below + 1) {
      if (this.#told) this.#logger.info({}, 'clients get what changes again');
      this.#stalledAt = below;
      this.#stalledSince = null;
      this.#told = false;
      return;
    }
    this.#stalledSince ??= performance.now();
    if (this.#told || performance.now() - this.#stalledSince < this.#stallMs) return;
    this.#told = true;
    const by = await longestTransaction(this.#db);
    this.#logger.warn(
      { seconds: this.stalledSeconds, by },
      'an open transaction holds up what clients are told of changes',
    );
  }

  async #checkDoor(): Promise<void> {
    for (const reader of this.#all()) {
      await reader.mayStay().catch((error: unknown) => {
        if (error instanceof Refusal) reader.leave();
      });
    }
  }

  /** Tells everybody to come back later, to whoever serves then. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    clearInterval(this.#lookTimer);
    clearInterval(this.#doorTimer);
    clearTimeout(this.#soonTimer);
    for (const reader of this.#all()) reader.leave();
    this.watchers.farewell();
    const until = performance.now() + FAREWELL_MS;
    while (this.readers + this.watchers.readers > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 5));
    for (const reader of this.#all()) reader.close();
    this.watchers.close();
  }
}

function groupsOf(
  groups: Iterable<Group>,
  touched: readonly { collection: Collection; project: string; entity: string | null }[],
): Set<Group> {
  const known = new Set<string>();
  for (const { collection, project, entity } of touched) {
    known.add(`${collection} ${project}`);
    known.add(`${collection} ${project} ${entity}`);
  }
  const concerned = new Set<Group>();
  for (const group of groups) {
    const { project, entityId } = group.scope;
    const name =
      entityId === null ? `${group.collection} ${project}` : `${group.collection} ${project} ${entityId}`;
    if (known.has(name)) concerned.add(group);
  }
  return concerned;
}
