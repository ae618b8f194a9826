import type { AgentDefinition, SnapshotModel } from '@troupe/protocol';
import { Refusal } from '../../base/index.ts';
import { type Database, type ProjectModels, type UsableModelRow, usableModels } from '../../store/index.ts';
import { cachePrices } from './cache-prices.ts';

/** Needs no rows, no key and no network: what is called where nobody chose anything. */
const DEMO: SnapshotModel = {
  provider: 'demo',
  model: 'demo',
  maxOutputTokens: 4096,
  inputPrice: 0,
  outputPrice: 0,
};

type Named = Pick<AgentDefinition, 'defaultModelId' | 'fallbackModelIds'>;

/**
 * The model to call and its fallbacks. `chosen` by the message, then the session; after them the agent's, the project's, the one
 * that is marked as default, the demo. Whoever is asked first and named one is heard: a model that is gone or disabled is a refusal,
 * never a reason to take another.
 */
export function resolveModels(
  chosen: readonly (string | null | undefined)[],
  agent: Named,
  { projectModelId, models }: ProjectModels,
): SnapshotModel[] {
  const named = [...chosen, agent.defaultModelId, projectModelId].find((id) => id != null);
  const first = named == null ? models.find(({ isDefault }) => isDefault) : byId(models, named);
  if (named != null && !first) throw modelNotFound(named, 'There is no model');
  if (first && !first.active) throw modelNotFound(first.id, 'It or its provider is disabled: the model');
  const fallbacks = agent.fallbackModelIds.map((id) => byId(models, id)).filter((model) => model?.active);
  return listed([first, ...fallbacks]);
}

/** The same for a version's own snapshot, which must be there whatever is disabled just now. */
export function modelsOfVersion(agent: Named, { projectModelId, models }: ProjectModels): SnapshotModel[] {
  const named = agent.defaultModelId ?? projectModelId;
  const first = named == null ? models.find(({ isDefault }) => isDefault) : byId(models, named);
  return listed([first, ...agent.fallbackModelIds.map((id) => byId(models, id))]);
}

/** The model that writes summaries: the agent's, else the project's. Null if there is none or it is disabled. */
export function resolveSummariser(
  named: string | null | undefined,
  { compactionModelId, models }: ProjectModels,
): SnapshotModel | null {
  const id = named ?? compactionModelId;
  const model = id == null ? undefined : byId(models, id);
  return model?.active ? toSnapshotModel(model) : null;
}

/** Whether an agent that names no model is answered by the demo: nobody chose another, for the project or as the default. */
export async function isAnsweredByDemo(db: Database, project: string): Promise<boolean> {
  const { projectModelId, models } = await usableModels(db.rows, project, []);
  const first =
    projectModelId === null ? models.find(({ isDefault }) => isDefault) : byId(models, projectModelId);
  return first === undefined || first.kind === 'demo';
}

function listed(models: (UsableModelRow | undefined)[]): SnapshotModel[] {
  const [first, ...fallbacks] = models;
  const seen = new Set<string>();
  const once = [...(first ? [first] : []), ...fallbacks.filter((model) => model !== undefined)].filter(
    ({ id }) => !seen.has(id) && seen.add(id),
  );
  const compiled = once.map(toSnapshotModel);
  return first ? compiled : [DEMO, ...compiled];
}

/** A price per million tokens in units is the same number per token in millionths. */
function toSnapshotModel(model: UsableModelRow): SnapshotModel {
  return {
    provider: model.kind === 'demo' ? 'demo' : model.providerId,
    model: model.modelId,
    maxOutputTokens: model.maxOutputTokens,
    inputPrice: model.inputPrice,
    outputPrice: model.outputPrice,
    ...cachePrices(model),
    ...(model.contextTokens === null ? {} : { contextTokens: model.contextTokens }),
    ...(model.imageInput === null ? {} : { imageInput: model.imageInput }),
  };
}

export function byId(models: UsableModelRow[], id: string): UsableModelRow | undefined {
  const wanted = id.toLowerCase();
  return models.find((model) => model.id === wanted);
}

export function modelNotFound(id: string, why: string, path?: string): Refusal {
  return new Refusal('invalid', 'model_not_found', `${why} ${id}.`, {
    hint: 'GET /v1/models lists those that there are.',
    ...(path ? { issues: [{ path, message: 'is no model that can be used' }] } : {}),
  });
}
