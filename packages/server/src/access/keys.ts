import { createHash, randomBytes } from 'node:crypto';
import type { newApiKey } from '@troupe/protocol';
import type { z } from 'zod';
import { type ListQuery, notFound, type Page, Refusal, readPageById } from '../base/index.ts';
import {
  addKey,
  type Database,
  findKey,
  type KeyRow,
  listKeys,
  type NewKey,
  replaceKeySecret,
  revokeKey,
  revokeOtherKeys,
} from '../store/index.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';

/** The name of the key that the operator chose; nobody else may use it, so that a new one replaces only the old one. */
const BOOTSTRAP = 'bootstrap';

const PREFIXES = { secret: 'tsk_', public: 'tpk_' } as const;

/** What is stored of a key. It has 256 random bits, so there is nothing that a slower hash would protect. */
export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** A key that nobody has seen yet, and what is stored of it. */
export function newKey(kind: keyof typeof PREFIXES): {
  key: string;
  stored: Pick<NewKey, 'kind' | 'prefix' | 'hash'>;
} {
  const key = `${PREFIXES[kind]}${randomBytes(32).toString('base64url')}`;
  return { key, stored: { kind, prefix: key.slice(0, 10), hash: hashOf(key) } };
}

/** The keys of a project. */
export class Keys {
  readonly #db: Database;
  readonly #changed: () => void;

  /** `changed` is called after a key was revoked here. */
  constructor(db: Database, changed: () => void) {
    this.#db = db;
    this.#changed = changed;
  }

  async create(caller: Caller, wanted: z.output<typeof newApiKey>): Promise<KeyRow & { key: string }> {
    const { name, kind, scopes } = wanted;
    const expiresAt = wanted.expiresAt === null ? null : new Date(wanted.expiresAt);
    if (name === BOOTSTRAP)
      throw refused('name', `"${BOOTSTRAP}" is the name of the key of TROUPE_BOOTSTRAP_KEY`);
    if (expiresAt && expiresAt.getTime() <= Date.now()) throw refused('expiresAt', 'is in the past');
    const forbidden =
      caller.scopes && (scopes.length === 0 || scopes.some((scope) => !caller.scopes!.includes(scope)));
    if (forbidden) {
      throw new Refusal('forbidden', 'forbidden', 'A key cannot make one that may do more than itself.', {
        hint: `Give the new key some of these scopes: ${caller.scopes!.join(', ')}.`,
      });
    }
    const { key, stored } = newKey(kind);
    const row = await this.#db.rows.transaction().execute(async (rows) => {
      const made = await addKey(rows, {
        project: caller.project,
        name,
        ...stored,
        scopes: [...new Set(scopes)],
        expiresAt,
      });
      await audit(rows, caller, 'key.created', made!.id, { name, kind, scopes });
      return made!;
    });
    return { ...row, key };
  }

  /** Another secret for a key whose first secret nobody has: the server died before it was sent. */
  async reissue({ project }: Caller, id: string): Promise<KeyRow & { key: string }> {
    const found = (await listKeys(this.#db.rows, project, { limit: 1, before: undefined, id }))[0];
    if (!found) throw notFound('key');
    const { key, stored } = newKey(found.kind);
    const { prefix, hash } = stored;
    const row = await replaceKeySecret(this.#db.rows, { project, id }, { prefix, hash });
    if (!row) throw notFound('key');
    return { ...row, key };
  }

  async list({ project }: Caller, query: ListQuery): Promise<Page<KeyRow>> {
    return readPageById(query, (range) => listKeys(this.#db.rows, project, range));
  }

  /** At once in this process; in others as soon as they forget it, which is within five seconds. */
  async revoke(caller: Caller, id: string): Promise<void> {
    await this.#db.rows.transaction().execute(async (rows) => {
      if (!(await revokeKey(rows, caller.project, id))) throw notFound('key');
      await audit(rows, caller, 'key.revoked', id);
    });
    this.#changed();
  }

  /**
   * Stores the key that the operator chose. Another one than the last time replaces it. False where this very key was
   * revoked: it stays so.
   */
  async bootstrap(project: string, key: string): Promise<boolean> {
    const hash = hashOf(key);
    const system = { project, kind: 'system' } as const;
    await this.#db.rows.transaction().execute(async (rows) => {
      const made = await addKey(rows, {
        project,
        name: BOOTSTRAP,
        kind: 'secret',
        prefix: key.slice(0, 4),
        hash,
        scopes: [],
        expiresAt: null,
      });
      if (made) await audit(rows, system, 'key.created', made.id, { name: BOOTSTRAP, kind: 'secret' });
      for (const id of await revokeOtherKeys(rows, project, BOOTSTRAP, hash))
        await audit(rows, system, 'key.revoked', id, { name: BOOTSTRAP });
    });
    const found = await findKey(this.#db, hash);
    return found !== null && found.revokedAt === null;
  }
}

function refused(path: string, message: string): Refusal {
  return new Refusal('invalid', 'invalid_request', `The request is not valid: "${path}" ${message}.`, {
    issues: [{ path, message }],
  });
}
