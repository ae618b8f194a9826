/**
 * definitions/models: providers with their keys and models as rows, and the choice of the model of a run. `models/` calls them.
 * Imports: store, base, protocol.
 * Start reading: resolve.ts (which model a run gets), providers.ts, models.ts (rows).
 */
export { bringEnvironmentModels } from './environment.ts';
export { createModel, deleteModel, getModel, listModels, updateModel } from './models.ts';
export {
  createProvider,
  deleteProvider,
  getProvider,
  hasKey,
  type Keys,
  type LoadedProvider,
  listProviders,
  loadProvider,
  updateProvider,
} from './providers.ts';
export {
  byId,
  isAnsweredByDemo,
  modelNotFound,
  modelsOfVersion,
  resolveModels,
  resolveSummariser,
} from './resolve.ts';
export type { Sealer } from './sealer.ts';
