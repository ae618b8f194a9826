import type { Json, ProviderKind } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { FIRST_PROJECT } from './projects.ts';

export interface ProviderRow {
  id: string;
  project_id: string;
  kind: ProviderKind;
  name: string;
  base_url: string | null;
  key_envelope: Json;
  status: 'active' | 'disabled';
  created_at: Date;
  updated_at: Date;
}

export async function readProvider(
  rows: Transaction,
  project: string,
  provider: string,
): Promise<ProviderRow | undefined> {
  return rows
    .selectFrom('llm_providers')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', '=', provider)
    .executeTakeFirst();
}

/**
 * By its id alone, for the worker: a run is pinned to a snapshot that names it. `first`: it is of the project of whoever runs the
 * server.
 */
export async function findProvider(
  db: Database,
  provider: string,
): Promise<(ProviderRow & { first: boolean }) | undefined> {
  const rows = await db.run<ProviderRow & { first: boolean }>(
    {
      name: 'find_provider',
      text: `select l.*, p.name = $2 as first from troupe.llm_providers l join troupe.projects p on p.id = l.project_id where l.id = $1`,
      values: [provider, FIRST_PROJECT],
    },
    db.pool,
  );
  return rows[0];
}

export async function lockProvider(
  transaction: Transaction,
  project: string,
  provider: string,
): Promise<ProviderRow | undefined> {
  return transaction
    .selectFrom('llm_providers')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', '=', provider)
    .forUpdate()
    .executeTakeFirst();
}

export async function listProviders(
  db: Database,
  project: string,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<ProviderRow[]> {
  let query = db.rows.selectFrom('llm_providers').selectAll().where('project_id', '=', project);
  if (before !== undefined) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

export interface ProviderWrite {
  name: string;
  baseUrl: string | null;
  keyEnvelope: Json;
  status: 'active' | 'disabled';
}

export async function insertProvider(
  transaction: Transaction,
  provider: ProviderWrite & { id: string; project: string; kind: ProviderKind },
): Promise<ProviderRow> {
  return transaction
    .insertInto('llm_providers')
    .values({
      id: provider.id,
      project_id: provider.project,
      kind: provider.kind,
      ...columnsOf(provider),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function updateProvider(
  transaction: Transaction,
  id: string,
  write: ProviderWrite,
): Promise<ProviderRow> {
  return transaction
    .updateTable('llm_providers')
    .set({ ...columnsOf(write), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteProvider(transaction: Transaction, id: string): Promise<void> {
  await transaction.deleteFrom('llm_providers').where('id', '=', id).execute();
}

function columnsOf({ name, baseUrl, keyEnvelope, status }: ProviderWrite) {
  const key_envelope = keyEnvelope === null ? null : toJsonText(keyEnvelope);
  return { name, base_url: baseUrl, key_envelope, status };
}

/** Which kinds of provider the project has, and which ones the environment has brought; locked, so that one process at a time brings. */
export async function lockKinds(
  transaction: Transaction,
  project: string,
): Promise<{ brought: string[]; present: string[]; names: string[]; hasDefault: boolean }> {
  const { environment_kinds: brought, default_model_id } = await transaction
    .selectFrom('projects')
    .select(['environment_kinds', 'default_model_id'])
    .where('id', '=', project)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const rows = await transaction
    .selectFrom('llm_providers')
    .select(['kind', 'name'])
    .where('project_id', '=', project)
    .execute();
  return {
    brought,
    present: rows.map(({ kind }) => kind),
    names: rows.map(({ name }) => name.toLowerCase()),
    hasDefault: default_model_id !== null,
  };
}

export async function noteKinds(transaction: Transaction, project: string, kinds: string[]): Promise<void> {
  await transaction
    .updateTable('projects')
    .set({ environment_kinds: kinds })
    .where('id', '=', project)
    .execute();
}
