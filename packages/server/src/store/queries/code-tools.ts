import type { Database } from '../database.ts';

/** Says that a worker has these, and ends runs that nobody could take until their time was over. Answers with the runs that it ended. */
export async function expireUnclaimed(
  db: Database,
  codeTools: readonly string[],
  limit: number,
): Promise<string[]> {
  const rows = await db.run<{ ids: string[] }>({
    name: 'expire_unclaimed',
    text: 'select troupe.expire_unclaimed($1, $2) as ids',
    values: [codeTools, limit],
  });
  return rows[0]!.ids;
}

export interface CodeToolAtWorkers {
  /** Workers that have it and take runs. */
  workers: number;
  /** When one last did, to a few seconds; null: never. */
  seenAt: Date | null;
}

/** Which workers have a function, over all projects: functions belong to processes. */
export async function codeToolsOfWorkers(db: Database, name: string): Promise<CodeToolAtWorkers> {
  const rows = await db.run<CodeToolAtWorkers>(
    {
      name: 'code_tools_of_workers',
      text: `select (select count(*)::int from troupe.workers w where not w.draining and $1 = any(w.code_tools)) as workers,
        (select max(c.seen_at) from troupe.code_tools c where $1 = any(c.names)) as "seenAt"`,
      values: [name],
    },
    db.pool,
  );
  return rows[0]!;
}
