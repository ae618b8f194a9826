import type { ProviderKind } from '@troupe/protocol';
import type { Database, Rows } from '../database.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';

export interface ModelRow {
  id: string;
  project_id: string;
  provider_id: string;
  model_id: string;
  display_name: string;
  input_price: number;
  output_price: number;
  context_tokens: number | null;
  max_output_tokens: number;
  image_input: boolean | null;
  is_default: boolean;
  status: 'active' | 'disabled';
  created_at: Date;
  updated_at: Date;
}

/** What is needed of a model to call it. */
export interface UsableModelRow {
  id: string;
  providerId: string;
  kind: ProviderKind;
  modelId: string;
  inputPrice: number;
  outputPrice: number;
  maxOutputTokens: number;
  contextTokens: number | null;
  imageInput: boolean | null;
  isDefault: boolean;
  /** Neither it nor its provider is disabled. */
  active: boolean;
}

export async function readModel(
  rows: Transaction,
  project: string,
  model: string,
): Promise<ModelRow | undefined> {
  return rows
    .selectFrom('llm_models')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', '=', model)
    .executeTakeFirst();
}

export async function lockModel(
  transaction: Transaction,
  project: string,
  model: string,
): Promise<ModelRow | undefined> {
  return transaction
    .selectFrom('llm_models')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', '=', model)
    .forUpdate()
    .executeTakeFirst();
}

/** They cannot be deleted before the transaction ends: an agent's fallbacks are no foreign keys. */
export async function keepModels(transaction: Transaction, project: string, models: string[]): Promise<void> {
  if (models.length === 0) return;
  await transaction
    .selectFrom('llm_models')
    .select('id')
    .where('project_id', '=', project)
    .where('id', 'in', models)
    .orderBy('id')
    .forKeyShare()
    .execute();
}

export async function listModels(
  db: Database,
  project: string,
  { before, limit, provider }: { before: string | undefined; limit: number; provider?: string | undefined },
): Promise<ModelRow[]> {
  let query = db.rows.selectFrom('llm_models').selectAll().where('project_id', '=', project);
  if (before !== undefined) query = query.where('id', '<', before);
  if (provider !== undefined) query = query.where('provider_id', '=', provider);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

export interface ModelWrite {
  displayName: string;
  inputPrice: number;
  outputPrice: number;
  contextTokens: number | null;
  maxOutputTokens: number;
  imageInput: boolean | null;
  isDefault: boolean;
  status: 'active' | 'disabled';
}

export async function insertModel(
  transaction: Transaction,
  model: ModelWrite & { id: string; project: string; providerId: string; modelId: string },
): Promise<ModelRow> {
  if (model.isDefault) await clearDefault(transaction, model.project);
  const made = await transaction
    .insertInto('llm_models')
    .values({
      id: model.id,
      project_id: model.project,
      provider_id: model.providerId,
      model_id: model.modelId,
      ...columnsOf(model),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  if (model.isDefault) await nameDefault(transaction, model.project, model.id);
  return made;
}

export async function updateModel(
  transaction: Transaction,
  { id, project, write }: { id: string; project: string; write: ModelWrite },
): Promise<ModelRow> {
  if (write.isDefault) await clearDefault(transaction, project, id);
  await nameDefault(transaction, project, write.isDefault ? id : null, id);
  return transaction
    .updateTable('llm_models')
    .set({ ...columnsOf(write), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteModel(transaction: Transaction, id: string): Promise<void> {
  await transaction.deleteFrom('llm_models').where('id', '=', id).execute();
}

/** One after the other: two that each want to be the default must not meet at the index. Taken before any model's lock. */
export async function lockDefault(transaction: Transaction, project: string): Promise<void> {
  await transaction.selectFrom('projects').select('id').where('id', '=', project).forNoKeyUpdate().execute();
}

/** The project names the model that is marked; `unless` it names another than this one. */
async function nameDefault(
  transaction: Transaction,
  project: string,
  model: string | null,
  unless?: string,
): Promise<void> {
  await transaction
    .updateTable('projects')
    .set({ default_model_id: model })
    .where('id', '=', project)
    .$if(model === null, (query) => query.where('default_model_id', '=', unless!))
    .execute();
}

/** Marks the model that the project names, and no other. */
export async function markDefault(on: Rows, project: string, model: string | null): Promise<void> {
  await on
    .updateTable('llm_models')
    .set({ is_default: false })
    .where('project_id', '=', project)
    .where('is_default', '=', true)
    .execute();
  if (model === null) return;
  await on.updateTable('llm_models').set({ is_default: true }).where('id', '=', model).execute();
}

async function clearDefault(transaction: Transaction, project: string, except?: string): Promise<void> {
  await transaction
    .updateTable('llm_models')
    .set({ is_default: false, updated_at: sql<Date>`now()` })
    .where('project_id', '=', project)
    .where('is_default', '=', true)
    .$if(except !== undefined, (query) => query.where('id', '<>', except!))
    .execute();
}

function columnsOf(write: ModelWrite) {
  return {
    display_name: write.displayName,
    input_price: write.inputPrice,
    output_price: write.outputPrice,
    context_tokens: write.contextTokens,
    max_output_tokens: write.maxOutputTokens,
    image_input: write.imageInput,
    is_default: write.isDefault,
    status: write.status,
  };
}

/** What names a model, in words; at most ten. */
export async function usesOfModel(
  transaction: Transaction,
  project: string,
  model: string,
): Promise<string[]> {
  const { rows } = await sql<{ use: string }>`
    select use from (
      select format('the agent "%s"', name) as use from troupe.agents where project_id = ${project}
        and (default_model_id = ${model} or config -> 'fallbackModelIds' ? ${model}
          or config -> 'compaction' ->> 'modelId' = ${model}::text)
      union all select format('the session %s', id) from troupe.sessions where project_id = ${project} and model_id = ${model}
      union all select format('the agent "%s" of the network "%s"', a.key, n.name) from troupe.networks n
        join troupe.network_agents a on a.network_id = n.id where n.project_id = ${project} and a.model_id = ${model}
      union all select 'the project, as its default' from troupe.projects where id = ${project} and default_model_id = ${model}
      union all select 'the project, for summaries' from troupe.projects where id = ${project} and compaction_model_id = ${model}
    ) uses limit 10`.execute(transaction);
  return rows.map(({ use }) => use);
}

export async function usesOfProvider(transaction: Transaction, provider: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('llm_models')
    .select('model_id')
    .where('provider_id', '=', provider)
    .orderBy('id')
    .limit(10)
    .execute();
  return rows.map(({ model_id }) => `the model "${model_id}"`);
}

const USABLE = `json_build_object('id', m.id, 'providerId', m.provider_id, 'kind', v.kind, 'modelId', m.model_id,
  'inputPrice', m.input_price, 'outputPrice', m.output_price, 'maxOutputTokens', m.max_output_tokens,
  'contextTokens', m.context_tokens, 'imageInput', m.image_input, 'isDefault', m.is_default, 'active', m.status = 'active' and v.status = 'active')`;

/** Those of the project by their ids, and its defaults. */
export interface ProjectModels {
  /** `projects.default_model_id`. */
  projectModelId: string | null;
  /** `projects.compaction_model_id`. */
  compactionModelId: string | null;
  models: UsableModelRow[];
}

export async function usableModels(
  rows: Transaction,
  project: string,
  models: string[],
): Promise<ProjectModels> {
  const found = await sql<ProjectModels>`
    select p.default_model_id as "projectModelId", p.compaction_model_id as "compactionModelId", coalesce((select json_agg(${sql.raw(USABLE)})
      from troupe.llm_models m join troupe.llm_providers v on v.id = m.provider_id
      where m.project_id = p.id and m.id in (select unnest(${models}::uuid[]) union all select p.default_model_id
        union all select p.compaction_model_id
        union all select d.id from troupe.llm_models d where d.project_id = p.id and d.is_default)), '[]') as models
    from troupe.projects p where p.id = ${project}`.execute(rows);
  return found.rows[0] ?? { projectModelId: null, compactionModelId: null, models: [] };
}

/** All that changes between two messages to the same agent. */
export interface Standing extends ProjectModels {
  entityId: string;
  name: string;
  version: number;
  status: 'active' | 'archived';
  defaultModelId: string | null;
  fallbackModelIds: string[];
  /** The agent's own model for summaries. */
  summariserId: string | null;
  /** Which versions of its tools it carries, as one text to compare. */
  tools: string;
}

/** Lookups by key only, since every message asks it. `chosen`: the models that others named, as SQL for an array of ids. */
export const standing = (
  chosen: string,
) => `select e.id as "entityId", a.name, a.version, a.status, a.default_model_id as "defaultModelId",
    coalesce(a.config -> 'fallbackModelIds', '[]') as "fallbackModelIds", p.default_model_id as "projectModelId",
    p.compaction_model_id as "compactionModelId", a.config -> 'compaction' ->> 'modelId' as "summariserId",
    coalesce((select json_agg(${USABLE}) from troupe.llm_models m join troupe.llm_providers v on v.id = m.provider_id
      where m.project_id = p.id and m.id in (select unnest(${chosen}) union all select a.default_model_id
        union all select p.default_model_id union all select p.compaction_model_id
        union all select (a.config -> 'compaction' ->> 'modelId')::uuid
        union all select f::uuid from jsonb_array_elements_text(coalesce(a.config -> 'fallbackModelIds', '[]')) f
        union all select d.id from troupe.llm_models d where d.project_id = p.id and d.is_default)), '[]') as models,
    coalesce((select string_agg(t.id || ' ' || t.version, ' ' order by x.position) from troupe.agent_tools x
      join troupe.tools t on t.id = x.tool_id where x.agent_id = a.id), '') as tools
  from troupe.agents a join troupe.entities e on e.agent_id = a.id join troupe.projects p on p.id = a.project_id`;

export async function standingOf(
  db: Database,
  { project, agent, models }: { project: string; agent: string; models: string[] },
): Promise<Standing | undefined> {
  const rows = await db.run<Standing & { [column: string]: unknown }>(
    {
      name: 'agent_standing',
      text: `${standing('$3::uuid[]')} where a.project_id = $1 and a.id = $2`,
      values: [project, agent, models],
    },
    db.pool,
  );
  return rows[0];
}
