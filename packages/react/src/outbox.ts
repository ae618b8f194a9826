import { ConnectionError, TimeoutError, type Troupe } from '@troupe/sdk';
import { isOffline, onPage } from './line.ts';
import type { Sending } from './results.ts';
import type { KeptMessage, Unsent } from './unsent.ts';

/** How long after a try that did not reach the server, where nothing else says that it can be reached. */
const AGAIN_MS = 5_000;

/** What was said, as it is shown and as it is sent. */
export interface Outgoing<Message> {
  message: Message;
  /** What is kept of it where it cannot be sent yet. */
  said: object;
  /** Sends it as the message that it is: a second time, it is the same message. Answers with it as it is stored. */
  send(): Promise<Message>;
}

interface Entry<Message> extends Outgoing<Message> {
  state: 'queued' | 'sending' | 'waiting' | 'failed' | 'sent';
  error: Error | null;
  done: PromiseWithResolvers<string>;
}

/**
 * What was said here and is not in the log yet. One is sent after the other, so that they are stored in the order in which they were said.
 * What could not be sent since nobody answered waits and is sent again; what was refused is left to whoever said it.
 */
export class Outbox<Message extends { id: string; createdAt: string }> {
  #entries: readonly Entry<Message>[] = [];
  #isSending = false;
  #again: ReturnType<typeof setTimeout> | undefined;
  #forget: (() => void) | null = null;
  #unsent: Unsent | null = null;
  /** Under whose name something was kept last. */
  #identity: string | null = null;
  /** What was said before may be kept, and goes before all that is said now: nothing is sent until that is known. */
  #isHeld = false;
  readonly #troupe: Troupe;
  readonly #changed: () => void;

  constructor(troupe: Troupe, changed: () => void) {
    this.#troupe = troupe;
    this.#changed = changed;
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    void this.#pump();
  }

  /** From here on, what is not sent is kept there; what was kept before is sent as the messages that they were. Null: nothing is kept. */
  keepIn(unsent: Unsent | null, again: (kept: KeptMessage) => Outgoing<Message>): void {
    if (unsent && this.#identity !== null && this.#identity !== unsent.identity) this.#leave();
    this.#identity = unsent?.identity ?? this.#identity;
    this.#unsent = unsent;
    const found = (unsent?.list() ?? []).filter(({ id }) => !this.#find(id));
    const before = found.map((kept): Entry<Message> => {
      const error = kept.error && Object.assign(new Error(kept.error.message), { code: kept.error.code });
      const state = error ? 'failed' : isOffline(this.#troupe) ? 'waiting' : 'queued';
      const done = Promise.withResolvers<string>();
      done.promise.catch(() => {});
      return { ...again(kept), state, error, done };
    });
    for (const entry of this.#entries) this.#write(entry);
    if (before.length > 0) this.#set([...before, ...this.#entries]);
    this.release();
  }

  /** Somebody else uses the client by now: what is not sent stays kept for whoever said it. */
  #leave(): void {
    const isSent = ({ state }: Entry<Message>) => state === 'sent' || state === 'sending';
    for (const entry of this.#entries)
      if (!isSent(entry)) entry.done.reject(new Error('Somebody else said it.'));
    this.#set(this.#entries.filter(isSent));
  }

  /** Another tab discarded it. */
  forget(id: string): void {
    const entry = this.#find(id);
    if (!entry || entry.state === 'sending' || entry.state === 'sent') return;
    this.#drop(entry);
  }

  #write({ message: { id, createdAt }, said, state, error }: Entry<Message>): void {
    if (state === 'sent') return;
    const code = (error as { code?: string } | null)?.code ?? '';
    this.#unsent?.keep({ id, said, createdAt, error: error && { code, message: error.message } });
  }

  /** Resolves when the server has it, rejects where it was refused; whoever does not care reads the message. */
  add(outgoing: Outgoing<Message>): Promise<string> {
    const done = Promise.withResolvers<string>();
    done.promise.catch(() => {});
    const state = isOffline(this.#troupe) ? 'waiting' : 'queued';
    const entry: Entry<Message> = { ...outgoing, state, error: null, done };
    this.#write(entry);
    this.#set([...this.#entries, entry]);
    void this.#pump();
    return done.promise;
  }

  /** The messages that are stored, and behind them those that are not. */
  after(stored: readonly Message[]): readonly (Message & { sending?: Sending })[] {
    if (this.#entries.length === 0) return stored;
    const there = new Set(stored.map(({ id }) => id));
    const last = sequenceOf(stored.at(-1));
    const first = sequenceOf(stored[0]);
    // One that another tab had sent long ago may be older than all that is shown.
    const isOlder = ({ state, message }: Entry<Message>) => state === 'sent' && sequenceOf(message) < first;
    const own = this.#entries
      .filter((entry) => !there.has(entry.message.id) && !isOlder(entry))
      .map((entry, at) => {
        const { message, state, error } = entry;
        if (state === 'sent') return message;
        const shown = state === 'queued' ? 'sending' : state;
        const sending: Sending = {
          state: shown,
          error,
          resend: () => this.#resend(message.id),
          discard: () => this.#discard(message.id),
        };
        return { ...message, sequence: last + 1 + at, sending };
      });
    return own.length > 0 ? [...stored, ...own] : stored;
  }

  /** These are in the log, whether or not the answer to the request came. Whoever says so shows them now. */
  confirm(stored: readonly Message[]): void {
    if (this.#entries.length === 0) return;
    const there = new Set(stored.map(({ id }) => id));
    const last = sequenceOf(stored.at(-1));
    // What the server has, and is older than what is here, need not be among it: so much may have been said since.
    const isThere = ({ message, state }: Entry<Message>) =>
      there.has(message.id) || (state === 'sent' && sequenceOf(message) <= last);
    const rest = this.#entries.filter((entry) => !isThere(entry));
    if (rest.length === this.#entries.length) return;
    for (const entry of this.#entries) {
      if (!isThere(entry)) continue;
      this.#unsent?.remove(entry.message.id);
      entry.done.resolve(entry.message.id);
    }
    this.#keep(rest);
  }

  get isEmpty(): boolean {
    return this.#entries.every(({ state }) => state === 'failed' || state === 'sent');
  }

  /** The server can be reached again, or may be. */
  wake = (): void => {
    clearTimeout(this.#again);
    if (this.#entries.every(({ state }) => state !== 'waiting')) return;
    for (const { message, state } of this.#entries)
      if (state === 'waiting') this.#update(message.id, { state: 'queued' });
    void this.#pump();
  };

  #resend(id: string): void {
    const entry = this.#find(id);
    if (!entry || (entry.state !== 'failed' && entry.state !== 'waiting')) return;
    // Behind what was said since: that is the order in which it is stored.
    const others = this.#entries.filter((other) => other !== entry);
    const again: Entry<Message> = { ...entry, state: 'queued', error: null };
    this.#unsent?.remove(id);
    this.#write(again);
    this.#set([...others, again]);
    void this.#pump();
  }

  #discard(id: string): void {
    const entry = this.#find(id);
    if (!entry || (entry.state !== 'failed' && entry.state !== 'waiting')) return;
    this.#unsent?.discard(id);
    this.#drop(entry);
  }

  #drop(entry: Entry<Message>): void {
    entry.done.reject(entry.error ?? new Error('It was discarded.'));
    this.#set(this.#entries.filter((other) => other !== entry));
  }

  #find(id: string): Entry<Message> | undefined {
    return this.#entries.find(({ message }) => message.id === id);
  }

  #update(id: string, changes: Partial<Entry<Message>>): void {
    this.#set(this.#entries.map((entry) => (entry.message.id === id ? { ...entry, ...changes } : entry)));
  }

  #set(entries: readonly Entry<Message>[]): void {
    this.#keep(entries);
    this.#changed();
  }

  #keep(entries: readonly Entry<Message>[]): void {
    this.#entries = entries;
    const isWaiting = entries.some(({ state }) => state === 'waiting');
    if (isWaiting && !this.#forget) this.#forget = onPage(['online'], this.wake);
    else if (!isWaiting) {
      this.#forget?.();
      this.#forget = null;
    }
  }

  async #pump(): Promise<void> {
    if (this.#isSending || this.#isHeld) return;
    this.#isSending = true;
    try {
      for (;;) {
        const next = this.#entries.find(({ state }) => state === 'queued' || state === 'waiting');
        // What waits keeps those behind it waiting.
        if (next?.state !== 'queued') break;
        await this.#sendOne(next);
      }
    } finally {
      this.#isSending = false;
    }
  }

  async #sendOne({ message: { id }, send, done }: Entry<Message>): Promise<void> {
    this.#update(id, { state: 'sending' });
    try {
      const message = await send();
      this.#unsent?.remove(id);
      done.resolve(id);
      this.#update(id, { state: 'sent', message });
    } catch (thrown) {
      // The log may have told meanwhile that it was stored.
      if (!this.#find(id)) return;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (error instanceof ConnectionError || error instanceof TimeoutError) {
        this.#update(id, { state: 'waiting' });
        clearTimeout(this.#again);
        this.#again = setTimeout(this.wake, AGAIN_MS);
      } else {
        done.reject(error);
        this.#update(id, { state: 'failed', error });
        this.#write(this.#find(id)!);
      }
    }
  }
}

function sequenceOf(message: object | undefined): number {
  return (message as { sequence?: number } | undefined)?.sequence ?? 0;
}
