import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';

// What a network's document names, by name and by id. Whether it may be used is for others to say: what is disabled has a name, too.

/** Ids of the project's agents that have these names, whatever the case. */
export async function agentsCalled(
  rows: Transaction,
  project: string,
  names: string[],
): Promise<{ name: string; id: string }[]> {
  if (names.length === 0) return [];
  const found = await sql<{ name: string; id: string }>`
    select x.name, a.id from unnest(${names}::text[]) x(name)
    join troupe.agents a on a.project_id = ${project} and troupe.folded(a.name) = troupe.folded(x.name)`.execute(
    rows,
  );
  return found.rows;
}

export interface NamedModel {
  /** As it was asked for. */
  name: string;
  id: string;
  provider: string;
  modelId: string;
  /** Whether the name has the provider in it: `provider/model`. */
  whole: boolean;
  active: boolean;
}

/** Models of the project that `provider/model`, or the model alone, may mean. Either part may have a slash in it. */
export async function modelsNamed(
  rows: Transaction,
  project: string,
  names: string[],
): Promise<NamedModel[]> {
  if (names.length === 0) return [];
  const found = await sql<NamedModel>`
    select x.name, m.id, v.name as provider, m.model_id as "modelId", m.model_id <> x.name as whole,
      m.status = 'active' and v.status = 'active' as active
    from unnest(${names}::text[]) x(name)
    join troupe.llm_models m on m.project_id = ${project}
    join troupe.llm_providers v on v.id = m.provider_id
    where m.model_id = x.name or (right(x.name, length(m.model_id) + 1) = '/' || m.model_id
      and troupe.folded(left(x.name, -length(m.model_id) - 1)) = troupe.folded(v.name))
    order by m.id`.execute(rows);
  return found.rows;
}

export interface NameOfId {
  id: string;
  name: string;
}

export async function namesOfAgents(rows: Transaction, project: string, ids: string[]): Promise<NameOfId[]> {
  if (ids.length === 0) return [];
  const found = await sql<NameOfId>`select id, name from troupe.agents
    where project_id = ${project} and id = any(${ids}::uuid[])`.execute(rows);
  return found.rows;
}

export async function namesOfModels(rows: Transaction, project: string, ids: string[]): Promise<NameOfId[]> {
  if (ids.length === 0) return [];
  const found = await sql<NameOfId>`select m.id, v.name || '/' || m.model_id as name
    from troupe.llm_models m join troupe.llm_providers v on v.id = m.provider_id
    where m.project_id = ${project} and m.id = any(${ids}::uuid[])`.execute(rows);
  return found.rows;
}
