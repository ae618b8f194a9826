import { ApiError, type Troupe } from '@troupe/sdk';
import type { Noun } from './hints.ts';
import { parkWhileHidden } from './parking.ts';

export interface Watcher {
  noun: Noun;
  /** Its list may be another than before. */
  tell(): void;
  /** For now, nobody tells. */
  lose(): void;
}

/** After the last list has gone, for the next one. */
const LINGER_MS = 2_000;

const known = new WeakMap<Troupe, Watching>();

/** Tells which lists to ask for again, all lists of a client by one connection. Answers with what ends it. */
export function watch(troupe: Troupe, watcher: Watcher): () => void {
  const watching = known.get(troupe) ?? new Watching(troupe);
  known.set(troupe, watching);
  return watching.add(watcher);
}

class Watching {
  readonly #troupe: Troupe;
  readonly #watchers = new Set<Watcher>();
  #end: AbortController | null = null;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  #unpark: (() => void) | null = null;

  constructor(troupe: Troupe) {
    this.#troupe = troupe;
  }

  add(watcher: Watcher): () => void {
    clearTimeout(this.#leaving);
    this.#watchers.add(watcher);
    this.#unpark ??= this.#begin();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#leaving = setTimeout(() => this.#leave(), LINGER_MS);
    };
  }

  #begin(): () => void {
    const connect = () => {
      this.#end = new AbortController();
      void this.#listen(this.#end.signal);
    };
    connect();
    const park = () => {
      this.#end?.abort();
      return true;
    };
    return parkWhileHidden({ park, unpark: connect });
  }

  #leave(): void {
    this.#unpark?.();
    this.#unpark = null;
    this.#end?.abort();
    this.#end = null;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const onDisconnect = () => this.#lose();
    const collections = ['runs', 'tasks', 'inbox'] as const;
    try {
      for await (const item of this.#troupe.changes({ collections, signal, onDisconnect }))
        this.#tell(item.type === 'resync' ? collections : [item.collection as Noun]);
    } catch (error) {
      // For keys only: what changes for a person is told with the documents that a copy of theirs would have.
      if (!(error instanceof ApiError) || signal.aborted) return;
      const told = (name: string) => this.#tell(name === 'runs' ? ['runs', 'inbox'] : ['tasks']);
      const end = this.#troupe.watch(['runs', 'tasks'], told, onDisconnect);
      signal.addEventListener('abort', end, { once: true });
    }
  }

  #tell(nouns: readonly Noun[]): void {
    for (const { noun, tell } of this.#watchers) if (nouns.includes(noun)) tell();
  }

  #lose(): void {
    for (const { lose } of this.#watchers) lose();
  }
}
