import { insist } from './insist.ts';

export interface FollowedState {
  status: 'loading' | 'following' | 'reconnecting' | 'ended';
  /** Why it ended, where it did so by itself: it is gone, or may no longer be read. */
  error: unknown;
}

/** Something that is kept up to date from its stream: `state` at any moment, `onChange` whenever it is another. */
export abstract class Followed<State extends FollowedState> {
  /** Resolves when everything is there for the first time; rejects where it never will be. */
  readonly ready: Promise<void>;
  readonly #listeners = new Set<() => void>();
  readonly #end = new AbortController();
  #begin!: () => void;
  #state: State;

  constructor(state: State, signal?: AbortSignal) {
    this.#state = state;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // Whoever does not wait for it reads the error in the state.
    promise.catch(() => {});
    if (signal?.aborted) this.close();
    else signal?.addEventListener('abort', () => this.close(), { once: true, signal: this.#end.signal });
    this.#begin = () => void this.#run(resolve).then(reject);
  }

  /** Once, when whoever extends it has all its fields. */
  protected begin(): void {
    this.#begin();
  }

  get state(): State {
    return this.#state;
  }

  /** Called after every change; answers with what ends it. */
  onChange = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  close(): void {
    this.#end.abort(new Error('It is followed no longer.'));
  }

  protected get signal(): AbortSignal {
    return this.#end.signal;
  }

  protected change(changes: Partial<State>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }

  protected ask<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return insist(ask, this.#end.signal);
  }

  /** Reads everything and follows it, for ever; `ready` is called when all is there. */
  protected abstract follow(ready: () => void): Promise<void>;

  /** What of the state is only true while it is followed. */
  protected abstract readonly over: Partial<State>;

  /** Until it is closed or cannot go on; answers with why. */
  async #run(ready: () => void): Promise<unknown> {
    let error: unknown = null;
    try {
      await this.follow(ready);
    } catch (thrown) {
      error = thrown;
    }
    const ended = { status: 'ended', error: this.#end.signal.aborted ? null : error };
    this.change({ ...this.over, ...ended } as Partial<State>);
    this.close();
    this.#listeners.clear();
    return error;
  }
}
