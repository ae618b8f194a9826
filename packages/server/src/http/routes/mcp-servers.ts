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

export function mcpServerRoutes(endpoints: Endpoints): void {
  endpoints.serve(mcpServerEndpoints.create, ({ services, caller, body }) =>
    createMcpServer(services.db, authorOf(caller), services.mcp, body),
  );
  endpoints.serve(mcpServerEndpoints.list, ({ services, caller, query }) =>
    listMcpServers(services.db, caller.project, query),
  );
  endpoints.serve(mcpServerEndpoints.get, ({ services, caller, params }) =>
    getMcpServer(services.db, caller.project, params.mcpServerId),
  );
  endpoints.serve(mcpServerEndpoints.update, ({ services, caller, params, body }) =>
    updateMcpServer(services.db, authorOf(caller), services.mcp, { id: params.mcpServerId, patch: body }),
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
