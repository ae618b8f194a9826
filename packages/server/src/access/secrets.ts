import type { JsonObject, Secret } from '@troupe/protocol';
import { z } from 'zod';
import { fromCursor, notFound, Refusal, TroupeError, toPage } from '../base/index.ts';
import {
  changeEnvelopes,
  type Database,
  deleteSecret,
  findProject,
  findSecret,
  listSecrets,
  putSecret,
} from '../store/index.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';
import type { Encryption } from './envelope.ts';

/** How many envelopes are under the current key that were not before, and which cannot be read. */
export interface Reencrypted {
  changed: number;
  unreadable: { place: string; reason: string }[];
}

/** The secrets of a project: set and deleted by callers, read by Troupe alone. */
export class Secrets {
  readonly #db: Database;
  readonly #encryption: Encryption;
  readonly #changed: () => void;

  /** `changed` is called after a secret was set or deleted here. */
  constructor(db: Database, encryption: Encryption, changed: () => void) {
    this.#db = db;
    this.#encryption = encryption;
    this.#changed = changed;
  }

  async put(caller: Caller, name: string, value: string): Promise<Secret> {
    const envelope = this.#encryption.seal(caller.project, name, value);
    const row = await this.#db.rows.transaction().execute(async (rows) => {
      const put = await putSecret(rows, caller.project, name, envelope as JsonObject);
      await audit(rows, caller, 'secret.set', name);
      return put;
    });
    this.#changed();
    return present(row);
  }

  async list(
    { project }: Caller,
    { limit, cursor }: { limit: number; cursor?: string | undefined },
  ): Promise<{ data: Secret[]; nextCursor: string | null }> {
    const after = fromCursor(z.string().max(100), cursor);
    const rows = await listSecrets(this.#db.rows, project, { limit: limit + 1, after });
    return toPage(rows, limit, (row) => row.name, present);
  }

  async delete(caller: Caller, name: string): Promise<void> {
    await this.#db.rows.transaction().execute(async (rows) => {
      const { tokens } = await findProject(rows, caller.project);
      if ((tokens as { secretName?: string } | null)?.secretName === name) {
        throw new Refusal('conflict', 'secret_in_use', `Tokens of people are checked with "${name}".`, {
          hint: 'Change the token rules of the project first.',
        });
      }
      if (!(await deleteSecret(rows, caller.project, name))) throw notFound('secret');
      await audit(rows, caller, 'secret.deleted', name);
    });
    this.#changed();
  }

  /** For Troupe's own use, never for an answer. Null where there is none of this name. */
  async reveal(project: string, name: string): Promise<string | null> {
    return secretOf(this.#db, this.#encryption, project, name);
  }

  /**
   * Puts everything that is encrypted under the current key, so that the ones before can be forgotten. What cannot be
   * read stays as it is and is named: the rest must not wait for it.
   */
  async reencrypt(): Promise<Reencrypted> {
    const unreadable: Reencrypted['unreadable'] = [];
    const changed = await changeEnvelopes(this.#db, this.#encryption.currentKeyId, ({ place, envelope }) => {
      try {
        return this.#encryption.rewrap(envelope);
      } catch (error) {
        if (!(error instanceof TroupeError)) throw error;
        unreadable.push({ place, reason: error.message });
        return null;
      }
    });
    this.#changed();
    return { changed, unreadable };
  }
}

/** The same without the rest, for whoever only executes. */
export async function secretOf(
  db: Database,
  encryption: Encryption,
  project: string,
  name: string,
): Promise<string | null> {
  const envelope = await findSecret(db.rows, project, name);
  return envelope && encryption.open(project, name, envelope);
}

/** For what leaves the server. Whoever has the secret that tokens are checked with could be anybody, so that one stays. */
export async function secretToSend(
  db: Database,
  encryption: Encryption,
  project: string,
  name: string,
): Promise<string | null> {
  const { tokens } = await findProject(db.rows, project);
  if ((tokens as { secretName?: string } | null)?.secretName === name) {
    throw new TroupeError(
      'secret_reserved',
      `The secret "${name}" is what tokens of people are checked with, so tools do not get it. Use another one.`,
    );
  }
  return secretOf(db, encryption, project, name);
}

function present(row: { name: string; created_at: Date; updated_at: Date }): Secret {
  return { name: row.name, createdAt: row.created_at.toISOString(), updatedAt: row.updated_at.toISOString() };
}
