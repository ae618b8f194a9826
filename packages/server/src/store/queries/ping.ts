import type { Database } from '../database.ts';

/** Rejects where the database does not answer. */
export async function ping(db: Database): Promise<void> {
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
