import type { JsonObject } from '@troupe/protocol';
import { z } from 'zod';
import { type ListQuery, notFound, type Page, Refusal, readPage, TroupeError } from '../base/index.ts';
import {
  changeEnvelopes,
  type Database,
  deleteSecret,
  findProject,
  findSecret,
  listSecrets,
  putSecret,
  type SecretRow,
  type Transaction,
} from '../store/index.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';
import type { Encryption } from './envelope.ts';
import { requireTokenSecret } from './tokens.ts';

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

  async put(caller: Caller, name: string, value: string): Promise<SecretRow> {
    const envelope = this.#encryption.seal(caller.project, name, value);
    const row = await this.#db.rows.transaction().execute(async (rows) => {
      if (await isForTokens(rows, caller.project, name)) requireTokenSecret(name, value);
      const put = await putSecret(rows, caller.project, name, envelope as JsonObject);
      await audit(rows, caller, 'secret.set', name);
      return put;
    });
    this.#changed();
    return row;
  }

  async list({ project }: Caller, query: ListQuery): Promise<Page<SecretRow>> {
    return readPage(query, {
      position: z.string().max(100),
      positionOf: ({ name }) => name,
      read: (after, limit) => listSecrets(this.#db.rows, project, { after, limit }),
    });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    await this.#db.rows.transaction().execute(async (rows) => {
      if (await isForTokens(rows, caller.project, name)) {
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
  async reveal(project: string, name: string, rows: Transaction = this.#db.rows): Promise<string | null> {
    return secretOf(rows, this.#encryption, project, name);
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
async function secretOf(
  rows: Transaction,
  encryption: Encryption,
  project: string,
  name: string,
): Promise<string | null> {
  const envelope = await findSecret(rows, project, name);
  return envelope && encryption.open(project, name, envelope);
}

async function isForTokens(rows: Transaction, project: string, name: string): Promise<boolean> {
  const { tokens } = await findProject(rows, project);
  return (tokens as { secretName?: string } | null)?.secretName === name;
}

/** For what leaves the server. Whoever has the secret that tokens are checked with could be anybody, so that one stays. */
export async function secretToSend(
  db: Database,
  encryption: Encryption,
  project: string,
  name: string,
): Promise<string | null> {
  if (await isForTokens(db.rows, project, name)) {
    throw new TroupeError(
      'secret_reserved',
      `The secret "${name}" is what tokens of people are checked with, so tools do not get it. Use another one.`,
    );
  }
  return secretOf(db.rows, encryption, project, name);
}

/** What deliveries of a project to this server itself are signed with, the current one first; nobody has to set it. None where there is no key. */
export function webhookKeys(encryption: Encryption, project: string): Buffer[] {
  return encryption.fingerprints('webhook', Buffer.from(project.toLowerCase()));
}
