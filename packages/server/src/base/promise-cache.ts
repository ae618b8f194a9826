import { LRUCache } from 'lru-cache';

/**
 * Remembers loaded values for a few seconds. Concurrent requests for a key share one load, and a failed load is not
 * remembered. Changes that other processes make are seen when the time to live is over.
 */
export class PromiseCache<Value> {
  readonly #cache: LRUCache<string, Promise<Value>> | null;

  /** `ttlMs`: 0 loads every time. */
  constructor({ max, ttlMs }: { max: number; ttlMs: number }) {
    // The library reads a time to live of 0 as without end.
    this.#cache = ttlMs > 0 ? new LRUCache({ max, ttl: ttlMs }) : null;
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.#cache?.get(key);
    if (known) return known;
    const value = load();
    this.#cache?.set(key, value);
    value.catch(() => {
      if (this.#cache?.peek(key) === value) this.#cache.delete(key);
    });
    return value;
  }

  delete(key: string): void {
    this.#cache?.delete(key);
  }

  clear(): void {
    this.#cache?.clear();
  }
}
