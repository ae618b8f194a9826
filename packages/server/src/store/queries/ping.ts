import type { Database } from '../database.ts';
import { type DatabaseShortage, shortageIn } from '../errors.ts';
import { sql } from '../kysely.ts';
import { inTransaction } from '../transaction.ts';

/** Rejects where the database does not answer. */
async function ping(db: Database): Promise<void> {
  await db.run({ name: 'ping', text: 'select 1', values: [] }, db.pool);
}

/** The time by the clock of the database. */
export async function readClock(db: Database): Promise<Date> {
  const rows = await db.run<{ now: Date }>(
    { name: 'clock', text: 'select clock_timestamp() as now', values: [] },
    db.pool,
  );
  return rows[0]!.now;
}

/** After the last error, so long nothing is concluded from one write that went well. */
const SHORTAGE_MS = 3_000;

/**
 * Null where the database answers and takes writes. Only after an error said that it takes none, a write is tried: a megabyte in a temporary table,
 * because a full disk still takes what fits into pages that are there.
 */
export async function findShortage(db: Database): Promise<DatabaseShortage | null> {
  const last = db.shortage;
  if (!last) {
    await ping(db);
    return null;
  }
  try {
    await inTransaction(db, async (transaction) => {
      await sql`create temporary table troupe_probe on commit drop as
        select repeat(md5(n::text), 250) as text from generate_series(1, 130) n`.execute(transaction);
    });
  } catch (error) {
    const code = shortageIn(error);
    if (!code) throw error;
    return code;
  }
  if (last.agoMs < SHORTAGE_MS) return last.code;
  db.forgetShortage();
  return null;
}
