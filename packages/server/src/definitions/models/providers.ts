import type { NewProvider, ProviderKind, ProviderPatch } from '@troupe/protocol';
import {
  inUse,
  type ListQuery,
  newId,
  notFound,
  type Page,
  Refusal,
  readPageById,
  TroupeError,
} from '../../base/index.ts';
import {
  type Author,
  type Database,
  deleteProvider as deleteRow,
  findProvider,
  insertProvider,
  inTransaction,
  isTaken,
  listProviders as listRows,
  lockProvider,
  noteChange,
  type ProviderRow,
  readProvider,
  type Transaction,
  updateProvider as updateRow,
  usesOfProvider,
} from '../../store/index.ts';
import { requireSealer, type Sealer } from './sealer.ts';

/** Where keys of providers come from. */
export interface Keys {
  sealer: Sealer | null;
  /** For which kinds of provider the environment has a key. */
  environmentKeys: Partial<Record<ProviderKind, boolean>>;
  /** The project whose providers may use them. */
  environmentProject?: string;
}

export async function createProvider(
  db: Database,
  author: Author,
  keys: Keys,
  given: NewProvider,
): Promise<ProviderRow> {
  const { kind, name, baseUrl, apiKey } = given;
  requireBaseUrl(kind, baseUrl);
  const id = newId();
  const keyEnvelope =
    apiKey === null ? null : requireSealer(keys.sealer).seal(author.project, sealedAs(id), apiKey);
  const row = await changing(db, async (transaction) => {
    const write = { name, baseUrl, keyEnvelope, status: 'active' as const };
    const made = await insertProvider(transaction, { id, project: author.project, kind, ...write });
    const data = { kind, name, baseUrl, key: apiKey !== null };
    await noteChange(transaction, author, { action: 'provider.created', target: id, data });
    return made;
  });
  return row;
}

export async function getProvider(db: Database, project: string, id: string): Promise<ProviderRow> {
  const row = await readProvider(db.rows, project, id);
  if (!row) throw notFound('provider');
  return row;
}

export async function listProviders(
  db: Database,
  project: string,
  query: ListQuery,
): Promise<Page<ProviderRow>> {
  return readPageById(query, (range) => listRows(db, project, range));
}

export async function updateProvider(
  db: Database,
  author: Author,
  keys: Keys,
  { id, patch }: { id: string; patch: ProviderPatch },
): Promise<ProviderRow> {
  const { apiKey } = patch;
  const row = await changing(db, async (transaction) => {
    const found = await lockProvider(transaction, author.project, id);
    if (!found) throw notFound('provider');
    const changed = Object.entries(patch).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (changed.length === 0) return found;
    const baseUrl = patch.baseUrl === undefined ? found.base_url : patch.baseUrl;
    requireBaseUrl(found.kind, baseUrl);
    // A key is for the address that it was given for: whoever may change the address must not learn the key that way.
    if (baseUrl !== found.base_url && found.key_envelope !== null && apiKey === undefined) {
      throw new Refusal(
        'invalid',
        'key_required',
        'The stored key belongs to the address that it was given for.',
        {
          hint: 'Give `apiKey` together with the new `baseUrl`; null removes it.',
          issues: [{ path: 'apiKey', message: 'is needed where baseUrl changes' }],
        },
      );
    }
    let keyEnvelope = found.key_envelope;
    if (apiKey === null) keyEnvelope = null;
    else if (apiKey !== undefined) {
      keyEnvelope = requireSealer(keys.sealer).seal(author.project, sealedAs(found.id), apiKey);
    }
    const made = await updateRow(transaction, found.id, {
      name: patch.name ?? found.name,
      baseUrl,
      keyEnvelope,
      status: patch.status ?? found.status,
    });
    await noteChange(transaction, author, {
      action: 'provider.changed',
      target: found.id,
      data: { changed },
    });
    return made;
  });
  return row;
}

export async function deleteProvider(db: Database, author: Author, id: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const found = await lockProvider(transaction, author.project, id);
    if (!found) throw notFound('provider');
    const uses = await usesOfProvider(transaction, id);
    if (uses.length > 0) throw inUse('provider', uses);
    await deleteRow(transaction, id);
    const data = { kind: found.kind, name: found.name };
    await noteChange(transaction, author, { action: 'provider.deleted', target: found.id, data });
  });
}

export interface LoadedProvider {
  id: string;
  kind: ProviderKind;
  baseUrl: string | null;
  /** Null: there is none in the row; the environment may have one. */
  apiKey: string | null;
  status: 'active' | 'disabled';
  /** Of the project that the keys of the environment are for. */
  ofOperator: boolean;
  /** The project whose guard its address must pass; null: the operator chose it, or it is the provider's own. */
  guardedFor: string | null;
}

/** For the worker, with the key in the clear: not to be logged or kept. */
export async function loadProvider(
  db: Database,
  sealer: Sealer | null,
  providerId: string,
): Promise<LoadedProvider | null> {
  const row = await findProvider(db, providerId);
  if (!row) return null;
  return {
    id: row.id,
    kind: row.kind,
    baseUrl: row.base_url,
    apiKey: row.key_envelope === null ? null : openKey(row, sealer),
    status: row.status,
    ofOperator: row.first,
    guardedFor: row.first || row.base_url === null ? null : row.project_id,
  };
}

function openKey(row: ProviderRow, sealer: Sealer | null): string {
  if (sealer) return sealer.open(row.project_id, sealedAs(row.id), row.key_envelope);
  throw new TroupeError(
    'no_encryption_key',
    `The key of the provider "${row.name}" is encrypted, and this process has nothing to open it with.`,
    { hint: 'Give this process the same encryption key as the one that stored it.' },
  );
}

/** What the envelope is bound to, so that a row's key cannot be moved to another. */
function sealedAs(id: string): string {
  return `provider:${id}`;
}

function requireBaseUrl(kind: ProviderKind, baseUrl: string | null): void {
  if (kind !== 'openai_compatible' || baseUrl !== null) return;
  throw new Refusal('invalid', 'base_url_required', 'A provider of this kind needs its address.', {
    hint: 'Set baseUrl, such as http://localhost:11434/v1.',
    issues: [{ path: 'baseUrl', message: 'is required for openai_compatible' }],
  });
}

async function changing(
  db: Database,
  work: (transaction: Transaction) => Promise<ProviderRow>,
): Promise<ProviderRow> {
  try {
    return await inTransaction(db, work);
  } catch (error) {
    if (!isTaken(error, 'llm_providers_name')) throw error;
    throw new Refusal('conflict', 'name_taken', 'Another provider of the project has this name.', {
      hint: 'Names are compared without regard to case.',
      issues: [{ path: 'name', message: 'is taken' }],
      cause: error,
    });
  }
}

/** A key of the environment is for the operator's project, and for no address that a row names. */
function hasEnvironmentKey(
  { base_url, kind, project_id }: ProviderRow,
  { environmentKeys, environmentProject }: Keys,
): boolean {
  return base_url === null && project_id === environmentProject && environmentKeys[kind] === true;
}

/** Whether the provider has a key, of its own or of the environment. */
export function hasKey(row: ProviderRow, keys: Keys): boolean {
  return row.key_envelope !== null || hasEnvironmentKey(row, keys);
}
