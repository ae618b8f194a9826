import type { EntityType, JsonObject } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';

/** The entity that an application knows under this id; a human, made where there is none yet. */
export async function ensureEntity(
  on: Rows,
  project: string,
  externalId: string,
): Promise<{ id: string; type: string }> {
  const find = () =>
    on
      .selectFrom('entities')
      .select(['id', 'type'])
      .where('project_id', '=', project)
      .where('external_id', '=', externalId)
      .executeTakeFirst();
  const found = await find();
  if (found) return found;
  await on
    .insertInto('entities')
    .values({ id: newId(), project_id: project, type: 'human', external_id: externalId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await find())!;
}

export interface EntityRow {
  id: string;
  type: EntityType;
  externalId: string | null;
  displayName: string | null;
  agentId: string | null;
  metadata: JsonObject;
  createdAt: Date;
  updatedAt: Date;
}

const ENTITY = `e.id, e.type, e.external_id as "externalId", e.display_name as "displayName", e.agent_id as "agentId",
  e.metadata, e.created_at as "createdAt", e.updated_at as "updatedAt"`;

export async function findEntity(db: Database, project: string, id: string): Promise<EntityRow | null> {
  const rows = await db.run<EntityRow & Record<string, unknown>>(
    {
      name: 'find_entity',
      text: `select ${ENTITY} from troupe.entities e where e.project_id = $1 and e.id = $2`,
      values: [project, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface EntityFilter {
  type?: EntityType | undefined;
  externalId?: string | undefined;
  agentId?: string | undefined;
  before: string | undefined;
  limit: number;
}

/** The newest first. */
export async function listEntities(
  db: Database,
  project: string,
  { type, externalId, agentId, before, limit }: EntityFilter,
): Promise<EntityRow[]> {
  return db.run<EntityRow & Record<string, unknown>>(
    {
      name: 'list_entities',
      text: `select ${ENTITY} from troupe.entities e where e.project_id = $1 and ($2::text is null or e.type = $2) and ($3::text is null or e.external_id = $3)
          and ($4::uuid is null or e.agent_id = $4) and ($5::uuid is null or e.id < $5)
        order by e.id desc limit $6`,
      values: [project, type ?? null, externalId ?? null, agentId ?? null, before ?? null, limit],
    },
    db.pool,
  );
}

/** Fails where the external id is taken (`entities_external`). */
export async function addPerson(
  db: Database,
  project: string,
  person: { id: string; externalId: string; displayName: string | null; metadata: JsonObject },
): Promise<void> {
  await db.rows
    .insertInto('entities')
    .values({
      id: person.id,
      project_id: project,
      type: 'human',
      external_id: person.externalId,
      display_name: person.displayName,
      metadata: toJsonText(person.metadata),
    })
    .execute();
}

/** What is not given stays; null clears. */
export async function updateEntity(
  db: Database,
  project: string,
  id: string,
  {
    displayName,
    metadata,
  }: { displayName?: string | null | undefined; metadata?: JsonObject | null | undefined },
): Promise<void> {
  await db.rows
    .updateTable('entities')
    .set({
      ...(displayName !== undefined ? { display_name: displayName } : {}),
      ...(metadata !== undefined ? { metadata: toJsonText(metadata ?? {}) } : {}),
      updated_at: new Date(),
    })
    .where('project_id', '=', project)
    .where('id', '=', id)
    .execute();
}

/** Null where it is done, else why not. */
export async function deletePerson(
  on: Rows,
  project: string,
  id: string,
): Promise<'not_found' | 'entity_of_agent' | 'entity_in_use' | null> {
  const { rows } = await sql<{ refused: 'not_found' | 'entity_of_agent' | 'entity_in_use' | null }>`
    select troupe.delete_person(${project}, ${id}) as refused`.execute(on);
  return rows[0]!.refused;
}
