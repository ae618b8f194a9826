import type { Collection } from '@troupe/protocol';
import { addRxPlugin, createRxDatabase, type RxDatabase } from 'rxdb/plugins/core';
import { disableWarnings, RxDBDevModePlugin } from 'rxdb/plugins/dev-mode';
import { type RxReplicationState, replicateRxCollection } from 'rxdb/plugins/replication';
import { getRxStorageMemory } from 'rxdb/plugins/storage-memory';
import { wrappedValidateAjvStorage } from 'rxdb/plugins/validate-ajv';
import { type ReplicationOptions, Troupe, troupeCollections, troupeReplication } from '../src/index.ts';

// A real client: RxDB in memory, which checks schemas and documents as it does while an app is developed.

/** What lies between the client and the server. */
export class Wire {
  isOnline = true;
  /** Of requests whose address contains this, the answers get lost: what was asked is done. */
  losesAnswersTo: string | null = null;
  /** Requests whose address contains this do not get through. */
  stops: string | null = null;
  requests: string[] = [];
  /** Another server answers, under the same address. */
  instead: string | null = null;
  readonly #open = new Set<AbortController>();

  readonly fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const { pathname, search } = new URL(String(input));
    const url = this.instead ? `${this.instead}${pathname}${search}` : String(input);
    this.requests.push(`${init.method ?? 'GET'} ${pathname}`);
    if (!this.isOnline || (this.stops && url.includes(this.stops))) throw new TypeError('fetch failed');
    const cut = new AbortController();
    this.#open.add(cut);
    const signal = init.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
    const response = await fetch(url, { ...init, signal });
    if (this.losesAnswersTo && url.includes(this.losesAnswersTo)) {
      await response.text();
      throw new TypeError('fetch failed');
    }
    return response;
  };

  goOffline(): void {
    this.isOnline = false;
    for (const cut of this.#open) cut.abort();
    this.#open.clear();
  }

  goOnline(): void {
    this.isOnline = true;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: documents of any collection
type Documents = any;
let made = 0;

export class Client {
  readonly db: RxDatabase<Documents>;
  readonly wire: Wire;
  readonly errors: unknown[] = [];
  readonly refused: { id: string; code: string }[] = [];
  readonly replications = new Map<Collection, RxReplicationState<Documents, unknown>>();

  private constructor(db: RxDatabase<Documents>, wire: Wire) {
    this.db = db;
    this.wire = wire;
  }

  static async open(
    { baseUrl, key, token }: { baseUrl: string; key?: string; token?: string | (() => Promise<string>) },
    names: Collection[],
    options: ReplicationOptions = {},
  ): Promise<Client> {
    if (made++ === 0) {
      disableWarnings();
      addRxPlugin(RxDBDevModePlugin);
    }
    const db = await createRxDatabase({
      name: `client${made}${Math.random().toString(36).slice(2)}`,
      storage: wrappedValidateAjvStorage({ storage: getRxStorageMemory() }),
      multiInstance: false,
    });
    await db.addCollections(troupeCollections(...names) as Documents);
    const client = new Client(db, new Wire());
    const troupe = new Troupe({
      ...{ baseUrl, fetch: client.wire.fetch, retries: 0 },
      ...(key ? { key } : {}),
      ...(token ? { token } : {}),
    });
    for (const name of names) {
      const state = replicateRxCollection({
        collection: db[name],
        ...troupeReplication(name, {
          client: troupe,
          retryTime: 100,
          onRefused: (refused) => client.refused.push(refused),
          collection: db[name] as Documents,
          ...options,
        }),
      } as Documents) as RxReplicationState<Documents, unknown>;
      state.error$.subscribe((error) => client.errors.push(error));
      client.replications.set(name, state);
    }
    return client;
  }

  /** By id, as plain data. */
  async all(name: Collection): Promise<Record<string, unknown>[]> {
    const found = await this.db[name].find().exec();
    return found
      .map((one: { toJSON(): Record<string, unknown> }) => one.toJSON())
      .toSorted((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1));
  }

  async settle(): Promise<void> {
    for (const state of this.replications.values()) await state.awaitInSync();
  }

  close(): Promise<unknown> {
    return this.db.close();
  }
}
