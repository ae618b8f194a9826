import { agentEndpoints, type Endpoint } from '@troupe/protocol';
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
  listCarried,
  listVersions,
  previewAgent,
  rollBack,
  updateAgent,
} from '../../definitions/agents/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { presentAgent, presentAgentToPerson, presentAgentVersion, presentCarried } from '../present/agent.ts';
import { presentPage } from '../present/page.ts';

export function agentRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    agentEndpoints.create,
    async ({ services, caller, body }) =>
      presentAgent(await createAgent(services.db, authorOf(caller), body)),
    { again },
  );
  endpoints.serve(agentEndpoints.list, async ({ services, caller, query }) =>
    presentPage(await listAgents(services.db, readerOf(caller), query), presenterFor(caller)),
  );
  endpoints.serve(agentEndpoints.get, async ({ services, caller, params }) =>
    presenterFor(caller)(await getAgent(services.db, readerOf(caller), params.agentId)),
  );
  endpoints.serve(agentEndpoints.update, async ({ services, caller, params, body }) =>
    presentAgent(await updateAgent(services.db, authorOf(caller), params.agentId, body)),
  );
  endpoints.serve(agentEndpoints.archive, async ({ services, caller, params }) => {
    await archiveAgent(services.db, authorOf(caller), params.agentId);
    return undefined;
  });
  endpoints.serve(agentEndpoints.preview, ({ services, caller, params }) =>
    previewAgent(services.db, caller.project, params.agentId),
  );
  endpoints.serve(agentEndpoints.listCapabilities, async ({ services, caller, params }) => {
    const data = await listCarried(services.db, caller.project, params.agentId);
    return presentPage({ data, nextCursor: null }, presentCarried);
  });
  endpoints.serve(agentEndpoints.listVersions, async ({ services, caller, params, query }) =>
    presentPage(await listVersions(services.db, caller.project, params.agentId, query), presentAgentVersion),
  );
  endpoints.serve(agentEndpoints.getVersion, async ({ services, caller, params }) =>
    presentAgentVersion(await getVersion(services.db, caller.project, params.agentId, params.version)),
  );
  endpoints.serve(agentEndpoints.diff, ({ services, caller, params, query }) =>
    diffVersions(services.db, caller.project, params.agentId, query),
  );
  endpoints.serve(
    agentEndpoints.rollback,
    async ({ services, caller, params, body }) =>
      presentAgent(await rollBack(services.db, authorOf(caller), params.agentId, body)),
    { again },
  );
  endpoints.serve(
    agentEndpoints.importOne,
    async ({ services, caller, body, context }) => {
      const mediaType = (context.req.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
      return presentAgent(await importAgent(services.db, authorOf(caller), { text: body, mediaType }));
    },
    { again },
  );
  endpoints.serve(agentEndpoints.exportOne, async ({ services, caller, params, query, context }) => {
    const file = await exportAgent(services.db, caller.project, params.agentId, query.format);
    return context.body(file.text, 200, {
      'content-type': `${file.mediaType}; charset=utf-8`,
      'content-disposition': `attachment; filename="${file.fileName}"`,
    });
  });
}

/** The agent that was created or changed, as it is now. */
async function again({ services, caller }: Call<Endpoint>, { target }: { target: string }) {
  return presentAgent(await getAgent(services.db, readerOf(caller), target));
}

function presenterFor({ entityId }: Caller) {
  return entityId === null ? presentAgent : presentAgentToPerson;
}

function readerOf({ project, entityId }: Caller) {
  return { project, person: entityId !== null };
}
