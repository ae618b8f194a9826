import type { JsonObject, Scope, TokenRules } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { FIRST_PROJECT } from './projects.ts';

const shown = [
  'id',
  'name',
  'kind',
  'prefix',
  'scopes',
  'expires_at',
  'last_used_at',
  'revoked_at',
  'created_at',
] as const;

export interface NewKey {
  project: string;
  name: string;
  kind: 'secret' | 'public';
  prefix: string;
  hash: Buffer;
  scopes: string[];
  expiresAt: Date | null;
}

/** Undefined where a key with this hash is there already. */
export function addKey(on: Rows, key: NewKey) {
  return on
    .insertInto('api_keys')
    .values({
      id: newId(),
      project_id: key.project,
      name: key.name,
      kind: key.kind,
      prefix: key.prefix,
      hash: key.hash,
      scopes: key.scopes,
      expires_at: key.expiresAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(shown)
    .executeTakeFirst();
}

/** Newest first; `before` is the last id of the page before. */
export function listKeys(
  on: Rows,
  project: string,
  { limit, before, id }: { limit: number; before?: string | undefined; id?: string },
) {
  return on
    .selectFrom('api_keys')
    .select(shown)
    .where('project_id', '=', project)
    .$if(before !== undefined, (query) => query.where('id', '<', before!))
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

export interface FoundKey {
  id: string;
  project: string;
  kind: 'secret' | 'public';
  scopes: Scope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  tokens: TokenRules | null;
  /** The project is that of whoever runs the server. */
  first: boolean;
  /** The secret that the rules name, as it is stored. */
  envelope: JsonObject | null;
}

/** The key of this hash with all that is needed to judge a request, the rules for tokens and their secret included. */
export async function findKey(db: Database, hash: Buffer): Promise<FoundKey | null> {
  const rows = await db.run<FoundKey>(
    {
      name: 'find_key',
      text: `select k.id, k.project_id as project, k.kind, k.scopes, k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
          p.tokens, p.name = $2 as first, s.envelope
        from troupe.api_keys k join troupe.projects p on p.id = k.project_id
        left join troupe.secrets s on s.project_id = k.project_id and s.name = p.tokens->>'secretName'
        where k.hash = $1`,
      values: [hash, FIRST_PROJECT],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** False where there is no such key; revoking twice keeps the first time. */
export async function revokeKey(on: Rows, project: string, id: string): Promise<boolean> {
  const row = await on
    .updateTable('api_keys')
    .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.fn<Date>('now', [])) }))
    .where('project_id', '=', project)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Gives a key another secret; undefined where there is no such key, or it was used or revoked. */
export function replaceKeySecret(
  on: Rows,
  { project, id, name }: { project: string; id?: string; name?: string },
  secret: Pick<NewKey, 'prefix' | 'hash'>,
) {
  return on
    .updateTable('api_keys')
    .set(secret)
    .where('project_id', '=', project)
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .$if(name !== undefined, (query) => query.where('name', '=', name!))
    .where('last_used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .returning(shown)
    .executeTakeFirst();
}

/** Revokes the keys of this name but the one of this hash; answers their ids. */
export async function revokeOtherKeys(
  on: Rows,
  project: string,
  name: string,
  hash: Buffer,
): Promise<string[]> {
  const rows = await on
    .updateTable('api_keys')
    .set((set) => ({ revoked_at: set.fn<Date>('now', []) }))
    .where('project_id', '=', project)
    .where('name', '=', name)
    .where('hash', '<>', hash)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}

/** At most once a minute, whichever process asks. */
export async function touchKey(on: Rows, id: string): Promise<void> {
  await on
    .updateTable('api_keys')
    .set((set) => ({ last_used_at: set.fn<Date>('now', []) }))
    .where('id', '=', id)
    .where((where) =>
      where.or([
        where('last_used_at', 'is', null),
        where('last_used_at', '<', new Date(Date.now() - 60_000)),
      ]),
    )
    .execute();
}

/** Whether anybody can come in: a key of any project that holds. */
export async function anyKey(on: Rows): Promise<boolean> {
  const row = await on
    .selectFrom('api_keys')
    .select('id')
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', new Date())]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export type KeyRow = Awaited<ReturnType<typeof listKeys>>[number];
