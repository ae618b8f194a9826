import type { JsonObject, NetworkDefinition, NetworkSnapshot, NetworkStatus } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { type Compiled, insertOwnSnapshot } from './snapshots.ts';

export interface NetworkVersionRow {
  id: string;
  network_id: string;
  version: number;
  snapshot_id: string;
  checksum: string;
  notes: string | null;
  created_by: string;
  created_at: Date;
  published_by: string;
  published_at: Date;
  is_current: boolean;
}

/** A version with all that it was made of, and what it became. */
export interface WholeNetworkVersionRow extends NetworkVersionRow {
  definition: NetworkDefinition;
  snapshot: NetworkSnapshot;
}

function selectVersions(rows: Transaction, project: string, network: string) {
  return rows
    .selectFrom('network_versions')
    .innerJoin('networks', 'networks.id', 'network_versions.network_id')
    .innerJoin('compiled_snapshots', 'compiled_snapshots.id', 'network_versions.snapshot_id')
    .where('networks.project_id', '=', project)
    .where('networks.id', '=', network)
    .select([
      'network_versions.id',
      'network_versions.network_id',
      'network_versions.version',
      'network_versions.snapshot_id',
      'compiled_snapshots.checksum',
      'network_versions.notes',
      'network_versions.created_by',
      'network_versions.created_at',
      'network_versions.published_by',
      'network_versions.published_at',
      sql<boolean>`network_versions.version is not distinct from networks.current_version`.as('is_current'),
    ]);
}

export async function readNetworkVersion(
  rows: Transaction,
  project: string,
  network: string,
  version: number,
): Promise<NetworkVersionRow | undefined> {
  return selectVersions(rows, project, network)
    .where('network_versions.version', '=', version)
    .executeTakeFirst();
}

export async function readWholeNetworkVersion(
  rows: Transaction,
  project: string,
  network: string,
  version: number,
): Promise<WholeNetworkVersionRow | undefined> {
  return selectVersions(rows, project, network)
    .select([
      sql<NetworkDefinition>`network_versions.definition`.as('definition'),
      sql<NetworkSnapshot>`compiled_snapshots.compiled`.as('snapshot'),
    ])
    .where('network_versions.version', '=', version)
    .executeTakeFirst();
}

/** Newest first. */
export async function listNetworkVersions(
  rows: Transaction,
  project: string,
  network: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<NetworkVersionRow[]> {
  return selectVersions(rows, project, network)
    .$if(before !== undefined, (query) => query.where('network_versions.version', '<', before!))
    .orderBy('network_versions.version', 'desc')
    .limit(limit)
    .execute();
}

/** The next version, made the current one. The network must be locked: versions have no gaps and no ties. */
export async function insertNetworkVersion(
  transaction: Transaction,
  { project, network }: { project: string; network: string },
  write: { definition: NetworkDefinition; compiled: Compiled; by: string; notes: string | null },
): Promise<number> {
  const { definition, compiled, by, notes } = write;
  const snapshotId = await insertOwnSnapshot(transaction, project, compiled);
  const { rows } = await sql<{ version: number }>`
    with made as (
      insert into troupe.network_versions (id, network_id, version, snapshot_id, definition, created_by, published_by, notes)
      select ${newId()}::uuid, ${network}, coalesce(max(version), 0) + 1, ${snapshotId}, ${toJsonText(definition)}::jsonb, ${by}, ${by}, ${notes}
      from troupe.network_versions where network_id = ${network} returning version)
    update troupe.networks set status = 'published', current_version = made.version, updated_at = now()
    from made where id = ${network} returning made.version`.execute(transaction);
  return rows[0]!.version;
}

/** What runs without a version run with from now on. */
export async function setCurrentNetworkVersion(
  transaction: Transaction,
  network: string,
  version: number,
): Promise<void> {
  await transaction
    .updateTable('networks')
    .set({ current_version: version, updated_at: sql<Date>`now()` })
    .where('id', '=', network)
    .execute();
}

export async function setNetworkStatus(
  transaction: Transaction,
  network: string,
  status: NetworkStatus,
): Promise<void> {
  await transaction
    .updateTable('networks')
    .set({ status, updated_at: sql<Date>`now()` })
    .where('id', '=', network)
    .execute();
}

/** What an agent of a network may take from an agent of the project. */
export interface LenderRow {
  id: string;
  prompt: string;
  defaultModelId: string | null;
  fallbackModelIds: string[];
  /** What is set for its delegation; null: it carries none. */
  delegation: JsonObject | null;
}

/** Those of the agents that the project has. */
export async function lendersOf(rows: Transaction, project: string, ids: string[]): Promise<LenderRow[]> {
  if (ids.length === 0) return [];
  return rows
    .selectFrom('agents')
    .select([
      'id',
      'system_prompt as prompt',
      'default_model_id as defaultModelId',
      sql<string[]>`coalesce(config -> 'fallbackModelIds', '[]')`.as('fallbackModelIds'),
      sql<JsonObject | null>`(select c.config from troupe.agent_capabilities c where c.agent_id = agents.id and c.capability_id = 'delegation')`.as(
        'delegation',
      ),
    ])
    .where('project_id', '=', project)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute();
}

/** Those of the names that the project has secrets for. */
export async function secretsNamed(rows: Transaction, project: string, names: string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const found = await rows
    .selectFrom('secrets')
    .select('name')
    .where('project_id', '=', project)
    .where(sql<boolean>`name = any(${names})`)
    .execute();
  return found.map(({ name }) => name);
}

/** Models of the project that providers call by these names; the oldest first. */
export async function modelsCalled(
  rows: Transaction,
  project: string,
  names: string[],
): Promise<{ id: string; model_id: string }[]> {
  if (names.length === 0) return [];
  return rows
    .selectFrom('llm_models')
    .select(['id', 'model_id'])
    .where('project_id', '=', project)
    .where(sql<boolean>`model_id = any(${names})`)
    .orderBy('id')
    .execute();
}

/** Those of the ids that are agents of the project. */
export async function agentsWithIds(rows: Transaction, project: string, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const found = await rows
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', project)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute();
  return new Set(found.map(({ id }) => id));
}
