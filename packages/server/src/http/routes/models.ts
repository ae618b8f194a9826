import { modelEndpoints } from '@troupe/protocol';
import {
  createModel,
  deleteModel,
  getModel,
  listModels,
  updateModel,
} from '../../definitions/models/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';

export function modelRoutes(endpoints: Endpoints): void {
  endpoints.serve(modelEndpoints.createModel, ({ services, caller, params, body }) =>
    createModel(services.db, authorOf(caller), params.providerId, body),
  );
  endpoints.serve(modelEndpoints.listModels, ({ services, caller, query }) =>
    listModels(services.db, caller.project, query),
  );
  endpoints.serve(modelEndpoints.getModel, ({ services, caller, params }) =>
    getModel(services.db, caller.project, params.modelId),
  );
  endpoints.serve(modelEndpoints.updateModel, ({ services, caller, params, body }) =>
    updateModel(services.db, authorOf(caller), params.modelId, body),
  );
  endpoints.serve(modelEndpoints.deleteModel, async ({ services, caller, params }) => {
    await deleteModel(services.db, authorOf(caller), params.modelId);
    return undefined;
  });
}
