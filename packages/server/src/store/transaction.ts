import type { Kysely } from 'kysely';
import type { Database } from './database.ts';
import type { DB } from './schema.gen.ts';

/** Where several statements are carried out together or not at all. */
export type Transaction = Kysely<DB>;

export function inTransaction<Result>(
  db: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.rows.transaction().execute(work);
}
