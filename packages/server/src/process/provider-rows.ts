import { type LoadedProvider, loadProvider, type Sealer } from '../definitions/models/index.ts';
import type { Database } from '../store/index.ts';

/** Where the models find their providers: in the database, once there is one. */
export class ProviderRows {
  #database: { db: Database; sealer: Sealer | null } | null = null;

  open(db: Database, sealer: Sealer | null): void {
    this.#database = { db, sealer };
  }

  async load(id: string): Promise<LoadedProvider | null> {
    return this.#database ? loadProvider(this.#database.db, this.#database.sealer, id) : null;
  }
}
