import { createHash } from 'node:crypto';
import type { AgentSnapshot, Json, NetworkSnapshot } from '@troupe/protocol';
import { canonicalJson, newId } from '../../base/index.ts';
import type { Database } from '../database.ts';
import type { Transaction } from '../transaction.ts';

export { canonicalJson };

/** A snapshot as it is stored. */
export interface Compiled {
  text: string;
  checksum: string;
}

export function checksumOf(snapshot: AgentSnapshot | NetworkSnapshot): Compiled {
  const text = canonicalJson(snapshot as unknown as Json);
  return { text, checksum: createHash('sha256').update(text).digest('hex') };
}

/** The same within a transaction. Where another has stored it and not committed, this waits for that. */
export async function saveSnapshotWithin(
  transaction: Transaction,
  project: string,
  snapshot: AgentSnapshot,
): Promise<string> {
  const { text, checksum } = checksumOf(snapshot);
  await transaction
    .insertInto('compiled_snapshots')
    .values({ id: newId(), project_id: project, checksum, compiled: text })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { id } = await transaction
    .selectFrom('compiled_snapshots')
    .select('id')
    .where('project_id', '=', project)
    .where('checksum', '=', checksum)
    .where('shared', '=', true)
    .executeTakeFirstOrThrow();
  return id;
}

/** Stores a snapshot that belongs to one version of a network. */
export async function insertOwnSnapshot(
  transaction: Transaction,
  project: string,
  { text, checksum }: Compiled,
): Promise<string> {
  const id = newId();
  await transaction
    .insertInto('compiled_snapshots')
    .values({ id, project_id: project, checksum, compiled: text, shared: false })
    .execute();
  return id;
}

/** Stores a snapshot once per project and content; answers its id. */
export async function saveSnapshot(db: Database, project: string, snapshot: AgentSnapshot): Promise<string> {
  const { text, checksum } = checksumOf(snapshot);
  const rows = await db.run<{ id: string }>(
    {
      name: 'save_snapshot',
      text: `with new as (insert into troupe.compiled_snapshots (id, project_id, checksum, compiled) values ($1, $2, $3, $4::jsonb)
          on conflict (project_id, checksum) where shared do nothing returning id)
        select id from new union all select id from troupe.compiled_snapshots where project_id = $2 and checksum = $3 and shared limit 1`,
      values: [newId(), project, checksum, text],
    },
    db.pool,
  );
  if (rows[0]) return rows[0].id;
  // Another process inserted it between the two halves of the statement; now it is visible.
  return saveSnapshot(db, project, snapshot);
}

export async function loadSnapshots(
  db: Database,
  ids: string[],
): Promise<{ id: string; compiled: AgentSnapshot; bytes: number }[]> {
  return db.run({
    name: 'load_snapshots',
    text: 'select id, compiled, pg_column_size(compiled) as bytes from troupe.compiled_snapshots where id = any($1)',
    values: [ids],
  });
}
