import { newId } from '../../base/index.ts';
import type { Database } from '../database.ts';

/** The person of that name in the caller's own system; made where there is none yet. */
export async function ensurePerson(db: Database, project: string, externalId: string): Promise<string> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'ensure_person',
      text: `with new as (insert into troupe.entities (id, project_id, type, external_id, display_name)
          select $1, $2, 'human', $3, $3 where not exists (select from troupe.entities where project_id = $2 and external_id = $3)
          on conflict (project_id, external_id) where external_id is not null do nothing returning id)
        select id from new union all select id from troupe.entities where project_id = $2 and external_id = $3 limit 1`,
      values: [newId(), project, externalId],
    },
    db.pool,
  );
  // Another process made it between the two halves of the statement; now it is visible.
  return rows[0]?.id ?? ensurePerson(db, project, externalId);
}
