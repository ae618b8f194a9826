import { newId } from '../../base/index.ts';
import {
  type Author,
  type Database,
  insertModel,
  insertProvider,
  inTransaction,
  lockKinds,
  type ModelWrite,
  noteChange,
  noteKinds,
  type Transaction,
} from '../../store/index.ts';

type Kind = 'openai' | 'anthropic';

/** What a key in the environment brings: models whose prices and limits are published. A person may change or add any other. */
const BROUGHT: Record<Kind, { name: string; model: Pick<ModelWrite, Known> & { modelId: string } }> = {
  openai: {
    name: 'OpenAI',
    model: {
      modelId: 'gpt-5',
      displayName: 'GPT-5',
      inputPrice: 1.25,
      outputPrice: 10,
      contextTokens: 400_000,
      maxOutputTokens: 32_000,
    },
  },
  anthropic: {
    name: 'Anthropic',
    model: {
      modelId: 'claude-sonnet-4-6',
      displayName: 'Claude Sonnet 4.6',
      inputPrice: 3,
      outputPrice: 15,
      contextTokens: 200_000,
      maxOutputTokens: 32_000,
    },
  },
};
type Known = 'displayName' | 'inputPrice' | 'outputPrice' | 'contextTokens' | 'maxOutputTokens';

export interface BroughtModel {
  provider: string;
  model: string;
  isDefault: boolean;
}

/**
 * A key alone is enough to begin with: its provider and a model are brought into the project, once. What a person made before,
 * changes, disables or deletes stays as they left it, whatever starts and however often.
 */
export async function bringEnvironmentModels(
  db: Database,
  project: string,
  keys: Record<Kind, boolean>,
): Promise<BroughtModel[]> {
  const kinds = (Object.keys(BROUGHT) as Kind[]).filter((kind) => keys[kind]);
  if (kinds.length === 0) return [];
  return inTransaction(db, async (transaction) => {
    const { brought, present, names, hasDefault } = await lockKinds(transaction, project);
    const fresh = kinds.filter((kind) => !brought.includes(kind));
    if (fresh.length === 0) return [];
    await noteKinds(transaction, project, [...brought, ...fresh]);
    const made: BroughtModel[] = [];
    for (const kind of fresh) {
      if (present.includes(kind)) continue;
      const { name } = BROUGHT[kind];
      const free = names.includes(name.toLowerCase()) ? `${name} (environment)` : name;
      if (names.includes(free.toLowerCase())) continue;
      made.push(
        await bring(transaction, project, { kind, name: free, isDefault: !hasDefault && made.length === 0 }),
      );
    }
    return made;
  });
}

async function bring(
  transaction: Transaction,
  project: string,
  { kind, name, isDefault }: { kind: Kind; name: string; isDefault: boolean },
): Promise<BroughtModel> {
  const author: Author = { project, kind: 'system', id: null };
  const { model } = BROUGHT[kind];
  const { modelId } = model;
  const [providerId, id] = [newId(), newId()];
  const status = 'active' as const;
  await insertProvider(transaction, {
    ...{ id: providerId, project, kind, name, status },
    ...{ baseUrl: null, keyEnvelope: null },
  });
  await noteChange(transaction, author, {
    action: 'provider.created',
    target: providerId,
    data: { kind, name, baseUrl: null, key: false },
  });
  await insertModel(transaction, { ...model, id, project, providerId, status, isDefault, imageInput: null });
  await noteChange(transaction, author, {
    action: 'model.created',
    target: id,
    data: { providerId, modelId, isDefault },
  });
  return { provider: name, model: modelId, isDefault };
}
