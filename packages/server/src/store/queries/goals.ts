import type { GoalStatus } from '@troupe/protocol';
import { once } from '../../base/index.ts';
import type { Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import {
  fenceOf,
  type Kept,
  type KeptByRun,
  type KeptDeleted,
  type KeptWhere,
  type KeptWritten,
  ownerOf,
  placeOf,
} from './memories.ts';

export interface GoalRow {
  id: string;
  description: string;
  status: GoalStatus;
  priority: number;
  createdAt: Date;
  updatedAt: Date;
}

/** `known`: it is there already, and what is given of it changes. Each id once. */
export interface GoalWrite {
  id: string;
  known: boolean;
  description?: string | undefined;
  status?: GoalStatus | undefined;
  priority?: number | undefined;
}

const SHOWN = once(
  () =>
    sql`g.id, g.description, g.status, g.priority, g.created_at as "createdAt", g.updated_at as "updatedAt"`,
);

/** The most important first; `after` is where the page before ended. */
export async function listGoals(
  on: Rows,
  { project, entity, owner }: Kept,
  {
    status,
    after,
    limit,
  }: { status?: GoalStatus | undefined; after?: { priority: number; id: string } | undefined; limit: number },
): Promise<GoalRow[]> {
  const { priority, id } = after ?? { priority: null, id: null };
  const { rows } = await sql<GoalRow>`select ${SHOWN()} from troupe.goals g
    where g.project_id = ${project} and g.entity_id = ${entity} and g.owner_id = ${owner}
      and (${status ?? null}::text is null or g.status = ${status ?? null})
      and (${id}::uuid is null or (g.priority, g.id) > (${priority}::int, ${id}::uuid))
    order by g.priority, g.id limit ${limit}`.execute(on);
  return rows;
}

export async function readGoal(
  on: Rows,
  { project, entity, owner }: Kept,
  id: string,
): Promise<GoalRow | null> {
  const { rows } = await sql<GoalRow>`select ${SHOWN()} from troupe.goals g where g.id = ${id}
    and g.project_id = ${project} and g.entity_id = ${entity} and g.owner_id = ${owner}`.execute(on);
  return rows[0] ?? null;
}

/** All of them or none. */
export async function setGoals(
  on: Rows,
  where: KeptWhere,
  goals: readonly GoalWrite[],
  most: number,
): Promise<KeptWritten> {
  const { rows } = await sql<{ answer: KeptWritten }>`select troupe.set_goals(${placeOf(where)},
    ${toJsonText(goals)}::jsonb, ${most}::int, ${fenceOf(where)}) as answer`.execute(on);
  return rows[0]!.answer;
}

export async function deleteGoals(on: Rows, where: KeptWhere, ids: readonly string[]): Promise<KeptDeleted> {
  const { rows } = await sql<{ answer: KeptDeleted }>`select troupe.delete_goals(${placeOf(where)},
    ${ids}::uuid[], ${fenceOf(where)}) as answer`.execute(on);
  return rows[0]!.answer;
}

/** As a run sees them: its own and those for all. */
export async function goalsOfRun(
  on: Rows,
  where: KeptByRun,
  { status }: { status: GoalStatus | null },
): Promise<GoalRow[]> {
  const { rows } = await sql<GoalRow>`select ${SHOWN()} from troupe.goals g
    where g.project_id = ${where.project} and g.entity_id = ${where.entity}
      and g.owner_id in (${where.entity}::uuid, (select ${ownerOf(where)})) and (${status}::text is null or g.status = ${status})
    order by g.priority, g.id`.execute(on);
  return rows;
}
