import type pg from 'pg';
import { BELOW, NEXT } from './queries/stamps.ts';

// A logical restore (pg_dump, COPY, logical replication) brings rows with stamps of another cluster. If the transaction
// ids here are lower, readers would wait for transactions that are far away, and new rows would get stamps that readers
// have passed. So stamps continue after the highest one that was restored: no row is rewritten.

/** Tables with a stamp. All but messages and tool_calls, which have a BRIN index, have a btree index on it. */
const STAMPED = [
  'budgets',
  'memberships',
  'messages',
  'purged_tombstones',
  'runs',
  'sessions',
  'spaces',
  'sub_agents',
  'tasks',
  'tombstones',
  'tool_calls',
];

/**
 * Changes the offset of stamps if the database holds stamps that no transaction of this cluster can have written. Called
 * within the transaction of a migration, so processes that start at once do it once. On a database that was not restored
 * it reads the ends of the indexes.
 */
export async function continueStamps(client: pg.Client): Promise<void> {
  if ((await readOffset(client)) === null) return;
  // Writers finish with the old offset before it is replaced; later ones plan their statements anew.
  await client.query(
    `lock table ${STAMPED.map((table) => `troupe.${table}`).join(', ')} in share row exclusive mode`,
  );
  const offset = await readOffset(client);
  if (offset === null) return;
  await client.query(
    `create or replace function troupe.stamp_offset() returns bigint language sql stable parallel safe as 'select ${offset}::bigint'`,
  );
}

/** The offset with which the horizon is above all stamps; null if it is, or if only open transactions are in between. */
async function readOffset(client: pg.Client): Promise<bigint | null> {
  const { rows } = await client.query<{ next: string }>(`select ${NEXT}::text as next`);
  const next = BigInt(rows[0]!.next);
  // The literal lets the planner choose the index. Transactions that began after the first statement reach it too, so
  // rows are compared with the snapshot of this statement.
  const highest = STAMPED.map(
    (table) =>
      `select max(x.xid) as xid from troupe.${table} x where x.xid >= ${next} and x.xid >= (select next from horizon)`,
  );
  const { rows: found } = await client.query<{ offset: string | null }>(
    `with horizon as materialized (select greatest(${NEXT}, pg_current_xact_id()::text::bigint + 1 + troupe.stamp_offset()) as next)
    select (max(h.xid) + 1 - ${BELOW} + troupe.stamp_offset())::text as offset from (${highest.join(' union all ')}) h`,
  );
  const offset = found[0]!.offset;
  return offset === null ? null : BigInt(offset);
}
