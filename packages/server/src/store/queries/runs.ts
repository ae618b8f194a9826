import type { Json, RunError } from '@troupe/protocol';
import type { Database } from '../database.ts';

export interface RunEnd {
  status: 'completed' | 'failed' | 'canceled';
  outcome: Json;
  error: RunError | null;
}

/** How a run ended, or null while it has not. */
export async function endOf(db: Database, run: string): Promise<RunEnd | null> {
  const rows = await db.run<RunEnd>(
    {
      name: 'end_of',
      text: `select status, outcome, error from troupe.runs where id = $1 and status in ('completed', 'failed', 'canceled')`,
      values: [run],
    },
    db.pool,
  );
  return rows[0] ?? null;
}
