import type { AgentSnapshot } from '@troupe/protocol';
import { type Database, loadSnapshots } from '../store/index.ts';

const MOST = 500;

/** Snapshots never change, so what was read once is kept. */
export class Snapshots {
  readonly #db: Database;
  readonly #cache = new Map<string, AgentSnapshot>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Where it was read before. */
  known(id: string): AgentSnapshot | undefined {
    return this.#cache.get(id);
  }

  async load(ids: string[]): Promise<Map<string, AgentSnapshot>> {
    const missing = [...new Set(ids)].filter((id) => !this.#cache.has(id));
    if (missing.length > 0) {
      for (const { id, compiled } of await loadSnapshots(this.#db, missing)) this.#cache.set(id, compiled);
    }
    const found = new Map<string, AgentSnapshot>();
    for (const id of ids) {
      const snapshot = this.#cache.get(id);
      if (!snapshot) continue;
      found.set(id, snapshot);
      // Most recently used last.
      this.#cache.delete(id);
      this.#cache.set(id, snapshot);
    }
    while (this.#cache.size > MOST) this.#cache.delete(this.#cache.keys().next().value!);
    return found;
  }
}
