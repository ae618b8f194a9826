import type { AgentSnapshot } from '@troupe/protocol';
import { LRUCache } from 'lru-cache';
import { type Database, loadSnapshots } from '../store/index.ts';

const MAX_SNAPSHOTS = 500;
/**
 * As they are stored, which is compressed. In memory a network of a thousand agents and two thousand tools takes 4 MB: 500 of these would
 * be two gigabytes.
 */
const MAX_BYTES = 8_000_000;

/** Caches snapshots, which never change. */
export class Snapshots {
  readonly #db: Database;
  readonly #cache = new LRUCache<string, AgentSnapshot>({ max: MAX_SNAPSHOTS, maxSize: MAX_BYTES });

  constructor(db: Database) {
    this.#db = db;
  }

  /** Undefined if it is not cached. */
  known(id: string): AgentSnapshot | undefined {
    return this.#cache.get(id);
  }

  async load(ids: string[]): Promise<Map<string, AgentSnapshot>> {
    const found = new Map<string, AgentSnapshot>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const cached = this.#cache.get(id);
      if (cached) found.set(id, cached);
      else missing.push(id);
    }
    if (missing.length === 0) return found;
    for (const { id, compiled, bytes } of await loadSnapshots(this.#db, missing)) {
      found.set(id, compiled);
      // The cache refuses an entry above its size, but the snapshot in use must stay cached.
      this.#cache.set(id, compiled, { size: Math.min(Math.max(bytes, 1), MAX_BYTES) });
    }
    return found;
  }
}
