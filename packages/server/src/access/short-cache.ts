interface Entry<Value> {
  value: Promise<Value>;
  until: number;
}

/**
 * Keeps what was looked up for a few seconds, and never more than so many. Requests that come at once share one look.
 * What changes elsewhere is seen when the time is over.
 */
export class ShortCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #most: number;
  readonly #lifeMs: number;

  constructor({ most, lifeMs }: { most: number; lifeMs: number }) {
    this.#most = most;
    this.#lifeMs = lifeMs;
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key);
    if (known && known.until > performance.now()) return known.value;
    const value = load();
    const entry = { value, until: performance.now() + this.#lifeMs };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#most) this.#entries.delete(oldest!);
    // A failure is nothing to remember.
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return value;
  }

  clear(): void {
    this.#entries.clear();
  }
}
