import type { Database } from '../database.ts';

export interface CurrentAgent {
  name: string;
  prompt: string;
  version: number;
  status: 'active' | 'archived';
  entityId: string;
}

export async function findCurrentAgent(
  db: Database,
  project: string,
  id: string,
): Promise<CurrentAgent | null> {
  const rows = await db.run<CurrentAgent>(
    {
      name: 'find_current_agent',
      text: `select a.name, a.system_prompt as prompt, a.version, a.status, e.id as "entityId"
        from troupe.agents a join troupe.entities e on e.agent_id = a.id where a.project_id = $1 and a.id = $2`,
      values: [project, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}
