import type { Troupe } from '@troupe/sdk';
import { Line } from './line.ts';
import { parkWhileHidden } from './parking.ts';
import type { Connection } from './results.ts';
import { Shared } from './shared.ts';

/** What of the SDK follows a session, a space or a run. */
interface Followed<Of> {
  readonly state: Of;
  onChange(listener: () => void): () => void;
  close(): void;
}

interface Following {
  status: 'loading' | 'following' | 'reconnecting' | 'ended';
  error: unknown;
  live: unknown;
}

export interface FollowedBase {
  connection: Connection;
  isLoading: boolean;
  error: Error | null;
}

const PAGE = 50;
const MOST = 1_000;

/** How many messages to begin with: as many as are shown, where older ones were loaded before the connection was given back. */
export function pageOf(shown: readonly unknown[]): number {
  return Math.min(Math.max(shown.length, PAGE), MOST);
}

/** Pieces come faster than a screen can show them. */
const LIVE_MS = 30;

/** Shows what the SDK follows, and what it had where that cannot be read for now. */
export abstract class FollowedStore<
  Of extends Following,
  By extends Followed<Of>,
  State extends FollowedBase,
> extends Shared<State> {
  protected readonly troupe: Troupe;
  protected followed: By | null = null;
  #line: Line | null = null;
  #shown: Of | null = null;
  #soon: ReturnType<typeof setTimeout> | undefined;
  #unpark: (() => void) | null = null;

  constructor(troupe: Troupe, state: State) {
    super(state);
    this.troupe = troupe;
  }

  /** Null where there is nothing to follow yet. */
  protected abstract follow(): By | null;

  /** What is to be shown of it; all of it in one change. */
  protected abstract show(state: Of): Partial<State>;

  protected open(): void {
    this.#begin();
    this.#unpark = parkWhileHidden({
      park: () => {
        if (this.isNeeded) return false;
        this.#end();
        return true;
      },
      unpark: () => this.#begin(),
    });
  }

  #begin(): void {
    const followed = this.follow();
    this.followed = followed;
    if (!followed) {
      this.change({ isLoading: false } as Partial<State>);
      return;
    }
    this.#shown = null;
    const line = new Line(this.troupe, (connection) => this.change({ connection } as Partial<State>));
    this.#line = line;
    followed.onChange(() => this.followed === followed && this.#hear(followed.state));
    this.change({ error: null, connection: line.connection } as Partial<State>);
  }

  protected close(): void {
    this.#unpark?.();
    this.#unpark = null;
    this.#end();
  }

  #end(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#line?.end();
    this.followed?.close();
    this.followed = null;
    this.change({ connection: 'offline' } as Partial<State>);
  }

  #hear(now: Of): void {
    const shown = this.#shown;
    const names = Object.keys(now) as (keyof Of)[];
    // What is being written may come a little later; everything else comes at once, and with it what was written by then.
    if (shown && names.every((name) => name === 'live' || now[name] === shown[name])) {
      this.#soon ??= setTimeout(() => this.#showNow(), LIVE_MS);
    } else this.#showNow();
  }

  #showNow(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const now = this.followed?.state;
    if (!now) return;
    const isBack = now.status === 'following' && this.#shown?.status !== 'following';
    this.#shown = now;
    this.#line?.set(now.status);
    const connection = this.#line?.connection ?? 'offline';
    if (now.status === 'ended') {
      // What was there stays to be seen.
      this.change({
        live: [],
        isLoading: false,
        error: errorOf(now.error),
        connection,
      } as unknown as Partial<State>);
      this.shut();
    } else if (this.isThere(now))
      this.change({ ...this.show(now), isLoading: false, connection } as Partial<State>);
    if (isBack) this.back();
  }

  /** Whether there is something to show; until then, what was shown before stays. */
  protected isThere({ status }: Of): boolean {
    return status !== 'loading';
  }

  /** The server can be reached again. */
  protected back(): void {}
}

export function errorOf(thrown: unknown): Error | null {
  if (thrown === null || thrown === undefined) return null;
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
