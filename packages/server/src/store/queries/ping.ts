import type { Database } from '../database.ts';

/** Rejects where the database does not answer. */
export async function ping(db: Database): Promise<void> {
  await db.run({ name: 'ping', text: 'select 1', values: [] }, db.pool);
}
