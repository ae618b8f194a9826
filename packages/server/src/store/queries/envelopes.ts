import type { JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';

/** Every place where something encrypted is kept. */
const places = [
  { table: 'troupe.secrets', column: 'envelope' },
  { table: 'troupe.llm_providers', column: 'key_envelope' },
] as const;

const BATCH = 100;

/** Changes every envelope that is under another key than this; answers how many it changed. */
export async function changeEnvelopes(
  db: Database,
  keyId: string,
  change: (envelope: JsonObject) => JsonObject,
): Promise<number> {
  let changed = 0;
  for (const { table, column } of places) {
    for (;;) {
      const rows = await db.run<{ envelope: JsonObject }>(
        {
          name: `envelopes_to_change_${column}`,
          text: `select ${column} as envelope from ${table}
            where ${column} is not null and ${column}->>'key' is distinct from $1 limit ${BATCH}`,
          values: [keyId],
        },
        db.pool,
      );
      if (rows.length === 0) break;
      for (const { envelope } of rows) {
        // Known by its content: what somebody sets in the meantime stays as they set it.
        const done = await db.run(
          {
            name: `change_envelope_${column}`,
            text: `update ${table} set ${column} = $2::jsonb where ${column} = $1::jsonb returning 1`,
            values: [toJsonText(envelope), toJsonText(change(envelope))],
          },
          db.pool,
        );
        changed += done.length;
      }
    }
  }
  return changed;
}
