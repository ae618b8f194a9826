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
import { presentModel } from '../present/model.ts';
import { presentPage } from '../present/page.ts';

export function modelRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    modelEndpoints.createModel,
    async ({ services, caller, params, body }) =>
      presentModel(await createModel(services.db, authorOf(caller), params.providerId, body)),
    {
      again: async ({ services, caller }, { target }) =>
        presentModel(await getModel(services.db, caller.project, target)),
    },
  );
  endpoints.serve(modelEndpoints.listModels, async ({ services, caller, query }) =>
    presentPage(await listModels(services.db, caller.project, query), presentModel),
  );
  endpoints.serve(modelEndpoints.getModel, async ({ services, caller, params }) =>
    presentModel(await getModel(services.db, caller.project, params.modelId)),
  );
  endpoints.serve(modelEndpoints.updateModel, async ({ services, caller, params, body }) =>
    presentModel(await updateModel(services.db, authorOf(caller), params.modelId, body)),
  );
  endpoints.serve(modelEndpoints.deleteModel, async ({ services, caller, params }) => {
    await deleteModel(services.db, authorOf(caller), params.modelId);
    return undefined;
  });
}
