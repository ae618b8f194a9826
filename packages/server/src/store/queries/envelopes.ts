import type { JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';

/** Every place where something encrypted is kept, and what its rows are known by. */
const places = [
  { table: 'troupe.secrets', column: 'envelope', key: `project_id || ' ' || name` },
  { table: 'troupe.llm_providers', column: 'key_envelope', key: 'id::text' },
  { table: 'troupe.runs', column: 'sealed', key: 'id::text' },
  { table: 'troupe.network_batches', column: 'sealed', key: 'id::text' },
  { table: 'troupe.network_batch_sealed', column: 'sealed', key: `batch_id || ' ' || row_group` },
] as const;

const BATCH = 100;

export interface EnvelopeAt {
  /** Where it is kept, for a person: the table and what the row is known by. */
  place: string;
  envelope: JsonObject;
}

/**
 * Offers every envelope that is under another key than this to `change`; null leaves it as it is. Each is changed by a
 * statement of its own, so it may be broken off anywhere and begun again. Answers how many were changed.
 */
export async function changeEnvelopes(
  db: Database,
  keyId: string,
  change: (at: EnvelopeAt) => JsonObject | null,
): Promise<number> {
  let changed = 0;
  for (const { table, column, key } of places) {
    for (let after = ''; ; ) {
      const rows = await db.run<{ key: string; envelope: JsonObject }>(
        {
          name: `envelopes_to_change_${table}_${column}`,
          text: `select ${key} as key, ${column} as envelope from ${table}
            where ${column} is not null and ${column}->>'key' is distinct from $1 and (${key}) collate "C" > $2
            order by (${key}) collate "C" limit ${BATCH}`,
          values: [keyId, after],
        },
        db.pool,
      );
      for (const row of rows) {
        const replaced = change({ place: `${table} ${row.key}`, envelope: row.envelope });
        if (replaced) changed += await replace(db, { table, column, key }, row, replaced);
      }
      if (rows.length < BATCH) break;
      after = rows.at(-1)!.key;
    }
  }
  return changed;
}

/** Only where it is still what was read: what somebody sets in the meantime stays as they set it. */
async function replace(
  db: Database,
  { table, column, key }: { table: string; column: string; key: string },
  found: { key: string; envelope: JsonObject },
  replaced: JsonObject,
): Promise<number> {
  const done = await db.run(
    {
      name: `change_envelope_${table}_${column}`,
      text: `update ${table} set ${column} = $3::jsonb where ${key} = $1 and ${column} = $2::jsonb returning 1`,
      values: [found.key, toJsonText(found.envelope), toJsonText(replaced)],
    },
    db.pool,
  );
  return done.length;
}
