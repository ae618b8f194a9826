import { agentEndpoints } from '@troupe/protocol';
import type { Caller } from '../../access/index.ts';
import {
  archiveAgent,
  createAgent,
  diffVersions,
  exportAgent,
  getAgent,
  getVersion,
  importAgent,
  listAgents,
  listVersions,
  previewAgent,
  rollBack,
  updateAgent,
} from '../../definitions/agents/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';

export function agentRoutes(endpoints: Endpoints): void {
  endpoints.serve(agentEndpoints.create, ({ services, caller, body }) =>
    createAgent(services.db, authorOf(caller), body),
  );
  endpoints.serve(agentEndpoints.list, ({ services, caller, query }) =>
    listAgents(services.db, readerOf(caller), query),
  );
  endpoints.serve(agentEndpoints.get, ({ services, caller, params }) =>
    getAgent(services.db, readerOf(caller), params.agentId),
  );
  endpoints.serve(agentEndpoints.update, ({ services, caller, params, body }) =>
    updateAgent(services.db, authorOf(caller), params.agentId, body),
  );
  endpoints.serve(agentEndpoints.archive, async ({ services, caller, params }) => {
    await archiveAgent(services.db, authorOf(caller), params.agentId);
    return undefined;
  });
  endpoints.serve(agentEndpoints.preview, ({ services, caller, params }) =>
    previewAgent(services.db, caller.project, params.agentId),
  );
  endpoints.serve(agentEndpoints.listVersions, ({ services, caller, params, query }) =>
    listVersions(services.db, caller.project, params.agentId, query),
  );
  endpoints.serve(agentEndpoints.getVersion, ({ services, caller, params }) =>
    getVersion(services.db, caller.project, params.agentId, params.version),
  );
  endpoints.serve(agentEndpoints.diff, ({ services, caller, params, query }) =>
    diffVersions(services.db, caller.project, params.agentId, query),
  );
  endpoints.serve(agentEndpoints.rollback, ({ services, caller, params, body }) =>
    rollBack(services.db, authorOf(caller), params.agentId, body),
  );
  endpoints.serve(agentEndpoints.importOne, ({ services, caller, body, context }) => {
    const mediaType = (context.req.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    return importAgent(services.db, authorOf(caller), { text: body, mediaType });
  });
  endpoints.serve(agentEndpoints.exportOne, async ({ services, caller, params, query, context }) => {
    const file = await exportAgent(services.db, caller.project, params.agentId, query.format);
    return context.body(file.text, 200, {
      'content-type': `${file.mediaType}; charset=utf-8`,
      'content-disposition': `attachment; filename="${file.fileName}"`,
    });
  });
}

function readerOf({ project, entityId }: Caller) {
  return { project, person: entityId !== null };
}
