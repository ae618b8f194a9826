import type { ModelPatch, NewModel } from '@troupe/protocol';
import {
  inUse,
  type ListQuery,
  newId,
  notFound,
  type Page,
  Refusal,
  readPageById,
} from '../../base/index.ts';
import {
  type Author,
  type Database,
  deleteModel as deleteRow,
  insertModel,
  inTransaction,
  isPointedAt,
  isTaken,
  listModels as listRows,
  lockDefault,
  lockModel,
  type ModelRow,
  noteChange,
  readModel,
  readProvider,
  updateModel as updateRow,
  usesOfModel,
} from '../../store/index.ts';

export async function createModel(
  db: Database,
  author: Author,
  providerId: string,
  given: NewModel,
): Promise<ModelRow> {
  const { project } = author;
  const id = newId();
  const write = { ...given, displayName: given.displayName ?? given.modelId, status: 'active' as const };
  try {
    const row = await inTransaction(db, async (transaction) => {
      if (!(await readProvider(transaction, project, providerId))) throw notFound('provider');
      if (given.isDefault) await lockDefault(transaction, project);
      const made = await insertModel(transaction, { ...write, id, project, providerId });
      const data = { providerId, modelId: given.modelId, isDefault: given.isDefault };
      await noteChange(transaction, author, { action: 'model.created', target: id, data });
      return made;
    });
    return row;
  } catch (error) {
    if (isPointedAt(error)) throw notFound('provider');
    if (!isTaken(error, 'llm_models_provider_id_model_id_key')) throw error;
    throw new Refusal('conflict', 'model_taken', `The provider has the model "${given.modelId}" already.`, {
      hint: 'Change that one.',
      issues: [{ path: 'modelId', message: 'is taken' }],
      cause: error,
    });
  }
}

export async function getModel(db: Database, project: string, id: string): Promise<ModelRow> {
  const row = await readModel(db.rows, project, id);
  if (!row) throw notFound('model');
  return row;
}

export async function listModels(
  db: Database,
  project: string,
  { providerId: provider, ...query }: ListQuery & { providerId?: string | undefined },
): Promise<Page<ModelRow>> {
  return readPageById(query, (range) => listRows(db, project, { provider, ...range }));
}

export async function updateModel(
  db: Database,
  author: Author,
  id: string,
  patch: ModelPatch,
): Promise<ModelRow> {
  const { project } = author;
  const row = await inTransaction(db, async (transaction) => {
    if (patch.isDefault) await lockDefault(transaction, project);
    const found = await lockModel(transaction, project, id);
    if (!found) throw notFound('model');
    const changed = Object.entries(patch).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (changed.length === 0) return found;
    const write = {
      displayName: patch.displayName ?? found.display_name,
      inputPrice: patch.inputPrice ?? found.input_price,
      outputPrice: patch.outputPrice ?? found.output_price,
      contextTokens: patch.contextTokens === undefined ? found.context_tokens : patch.contextTokens,
      maxOutputTokens: patch.maxOutputTokens ?? found.max_output_tokens,
      imageInput: patch.imageInput === undefined ? found.image_input : patch.imageInput,
      isDefault: patch.isDefault ?? found.is_default,
      status: patch.status ?? found.status,
    };
    const made = await updateRow(transaction, { id, project, write });
    await noteChange(transaction, author, { action: 'model.changed', target: found.id, data: { changed } });
    return made;
  });
  return row;
}

export async function deleteModel(db: Database, author: Author, id: string): Promise<void> {
  const { project } = author;
  try {
    await inTransaction(db, async (transaction) => {
      const found = await lockModel(transaction, project, id);
      if (!found) throw notFound('model');
      const uses = await usesOfModel(transaction, project, found.id);
      if (uses.length > 0) throw inUse('model', uses);
      await deleteRow(transaction, id);
      const data = { providerId: found.provider_id, modelId: found.model_id };
      await noteChange(transaction, author, { action: 'model.deleted', target: found.id, data });
    });
  } catch (error) {
    throw isPointedAt(error) ? inUse('model', ['something that began to name it just now']) : error;
  }
}
