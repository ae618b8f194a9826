import { mcpServerEndpoints } from '@troupe/protocol';
import {
  createMcpServer,
  deleteMcpServer,
  getMcpServer,
  importFromMcpServer,
  listMcpServers,
  testMcpServer,
  updateMcpServer,
} from '../../definitions/mcp-servers/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentMcpServer } from '../present/mcp-server.ts';
import { presentPage } from '../present/page.ts';

export function mcpServerRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    mcpServerEndpoints.create,
    async ({ services, caller, body }) =>
      presentMcpServer(await createMcpServer(services.db, authorOf(caller), services.mcp, body)),
    {
      again: async ({ services, caller }, { target }) =>
        presentMcpServer(await getMcpServer(services.db, caller.project, target)),
    },
  );
  endpoints.serve(mcpServerEndpoints.list, async ({ services, caller, query }) =>
    presentPage(await listMcpServers(services.db, caller.project, query), presentMcpServer),
  );
  endpoints.serve(mcpServerEndpoints.get, async ({ services, caller, params }) =>
    presentMcpServer(await getMcpServer(services.db, caller.project, params.mcpServerId)),
  );
  endpoints.serve(mcpServerEndpoints.update, async ({ services, caller, params, body }) =>
    presentMcpServer(
      await updateMcpServer(services.db, authorOf(caller), services.mcp, {
        id: params.mcpServerId,
        patch: body,
      }),
    ),
  );
  endpoints.serve(mcpServerEndpoints.remove, async ({ services, caller, params }) => {
    await deleteMcpServer(services.db, authorOf(caller), params.mcpServerId);
    return undefined;
  });
  endpoints.serve(mcpServerEndpoints.test, ({ services, caller, params, context }) =>
    testMcpServer(services.db, caller.project, services.mcp, {
      id: params.mcpServerId,
      signal: context.req.raw.signal,
    }),
  );
  endpoints.serve(mcpServerEndpoints.import, ({ services, caller, params, body, context }) =>
    importFromMcpServer(services.db, authorOf(caller), services.mcp, {
      id: params.mcpServerId,
      only: body.tools,
      signal: context.req.raw.signal,
    }),
  );
}
