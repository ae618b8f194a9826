import type { Troupe } from '@troupe/sdk';
import { useRef, useSyncExternalStore } from 'react';

// Components that look at the same thing look at one object, which has one stream: opened for the first, closed a moment after the last has gone.

/** Long enough for a page to be changed, and for what React does twice in its strict mode. */
const LINGER_MS = 2_000;

const known = new WeakMap<Troupe, Map<string, Shared<object>>>();

/** The one of this client under this name; made where there is none. Reading it costs nothing until somebody listens. */
export function sharedOf<One extends Shared<object>>(troupe: Troupe, name: string, make: () => One): One {
  const ofClient = known.get(troupe) ?? new Map<string, Shared<object>>();
  known.set(troupe, ofClient);
  const found = ofClient.get(name);
  if (found) return found as One;
  const made = make();
  made.keepIn({
    add: () => ofClient.has(name) || ofClient.set(name, made),
    remove: () => ofClient.get(name) === made && ofClient.delete(name),
  });
  return made;
}

interface RegistryEntry {
  add(): void;
  remove(): void;
}

/** Nothing in a state is ever changed: what changes is replaced, so that whoever looks at a field sees whether it is another. */
export abstract class Shared<State extends object> {
  #state: State;
  #place: RegistryEntry | null = null;
  #isOpen = false;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** For `sharedOf`. One that nobody comes to listen to is forgotten again. */
  keepIn(place: RegistryEntry): void {
    this.#place = place;
    place.add();
    this.#leave();
  }

  subscribe = (listener: () => void): (() => void) => {
    clearTimeout(this.#leaving);
    this.#listeners.add(listener);
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#place?.add();
      this.open();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#leave();
    };
  };

  #leave(): void {
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => {
      if (this.#listeners.size > 0) return;
      if (this.isNeeded) return this.#leave();
      this.#place?.remove();
      this.shut();
    }, LINGER_MS);
  }

  /** Where it ended by itself: the next who listens opens it again. */
  protected shut(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.close();
  }

  protected change(changes: Partial<State>): void {
    const names = Object.keys(changes) as (keyof State)[];
    if (names.every((name) => Object.is(changes[name], this.#state[name]))) return;
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }

  /** Somebody listens. It may come again after `close`, and shows until then what was there. */
  protected abstract open(): void;
  protected abstract close(): void;

  /** Whether it must stay, although nobody listens: something of it is under way. */
  protected get isNeeded(): boolean {
    return false;
  }
}

/**
 * The state together with what can be done. A component is drawn again when a field is another that it has read, and not for others:
 * who does not read what is being written is not drawn with every piece of it.
 */
export function useShared<State extends object, Actions extends object>(
  shared: Shared<State>,
  actions: Actions,
): State & Actions {
  const seen = useRef<Seen<State> | null>(null);
  if (seen.current?.shared !== shared) seen.current = new Seen(shared);
  const { look } = seen.current;
  const state = useSyncExternalStore(shared.subscribe, look, look);
  return seen.current.result(state, actions);
}

/** What one component has read of a state. */
class Seen<State extends object> {
  readonly shared: Shared<State>;
  readonly #fields = new Set<keyof State>();
  #state: State;
  #result: { state: State; actions: object; value: object } | null = null;

  constructor(shared: Shared<State>) {
    this.shared = shared;
    this.#state = shared.state;
  }

  /** Another one only where a field is another that was read. */
  look = (): State => {
    const now = this.shared.state;
    if (this.#isOther(now)) this.#state = now;
    return this.#state;
  };

  #isOther(now: State): boolean {
    for (const field of this.#fields) if (!Object.is(now[field], this.#state[field])) return true;
    return false;
  }

  result<Actions extends object>(state: State, actions: Actions): State & Actions {
    if (this.#result?.state === state && this.#result.actions === actions)
      return this.#result.value as State & Actions;
    const value = { ...actions };
    let shown = state;
    for (const field of Object.keys(state) as (keyof State)[]) {
      const get = () => {
        shown = this.#read(shown, field);
        return shown[field];
      };
      Object.defineProperty(value, field, { enumerable: true, get });
    }
    this.#result = { state, actions, value };
    return value as State & Actions;
  }

  /** Until a field is read it does not matter what it was: then it is as it is now, if all that was read before is as it was. */
  #read(shown: State, field: keyof State): State {
    if (this.#fields.has(field)) return shown;
    const now = this.shared.state;
    const isSame = shown === this.#state && !this.#isOther(now);
    this.#fields.add(field);
    if (!isSame) return shown;
    this.#state = now;
    return now;
  }
}
