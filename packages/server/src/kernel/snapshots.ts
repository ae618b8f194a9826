import type { AgentSnapshot } from '@troupe/protocol';
import { type Database, loadSnapshots } from '../store/index.ts';

const MOST = 500;
/**
 * As they are stored, which is compressed. In memory a network of a thousand agents and two thousand tools takes 4 MB: 500 of these would
 * be two gigabytes.
 */
const MOST_BYTES = 8_000_000;

/** Snapshots never change, so what was read once is kept, as far as there is room. */
export class Snapshots {
  readonly #db: Database;
  readonly #cache = new Map<string, { snapshot: AgentSnapshot; bytes: number }>();
  #bytes = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Where it was read before. */
  known(id: string): AgentSnapshot | undefined {
    return this.#cache.get(id)?.snapshot;
  }

  async load(ids: string[]): Promise<Map<string, AgentSnapshot>> {
    const missing = [...new Set(ids)].filter((id) => !this.#cache.has(id));
    if (missing.length > 0) {
      for (const { id, compiled, bytes } of await loadSnapshots(this.#db, missing)) {
        // Somebody else may have read it meanwhile.
        this.#drop(id);
        this.#cache.set(id, { snapshot: compiled, bytes });
        this.#bytes += bytes;
      }
    }
    const found = new Map<string, AgentSnapshot>();
    for (const id of ids) {
      const kept = this.#cache.get(id);
      if (!kept) continue;
      found.set(id, kept.snapshot);
      // Most recently used last.
      this.#cache.delete(id);
      this.#cache.set(id, kept);
    }
    while (this.#cache.size > MOST || (this.#bytes > MOST_BYTES && this.#cache.size > 1))
      this.#drop(this.#cache.keys().next().value!);
    return found;
  }

  #drop(id: string): void {
    this.#bytes -= this.#cache.get(id)?.bytes ?? 0;
    this.#cache.delete(id);
  }
}
