import { toolEndpoints } from '@troupe/protocol';
import {
  createTool,
  deleteTool,
  getTool,
  listTools,
  toolToTest,
  toolToTry,
  updateTool,
} from '../../definitions/tools/index.ts';
import { testTool, tryTool } from '../../kernel/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import { presentTool } from '../present/tool.ts';

export function toolRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    toolEndpoints.create,
    async ({ services, caller, body }) => presentTool(await createTool(services.db, authorOf(caller), body)),
    {
      again: async ({ services, caller }, { target }) =>
        presentTool(await getTool(services.db, caller.project, target)),
    },
  );
  endpoints.serve(toolEndpoints.list, async ({ services, caller, query }) =>
    presentPage(await listTools(services.db, caller.project, query), presentTool),
  );
  endpoints.serve(toolEndpoints.get, async ({ services, caller, params }) =>
    presentTool(await getTool(services.db, caller.project, params.toolId)),
  );
  endpoints.serve(toolEndpoints.update, async ({ services, caller, params, body }) =>
    presentTool(await updateTool(services.db, authorOf(caller), params.toolId, body)),
  );
  endpoints.serve(toolEndpoints.remove, async ({ services, caller, params }) => {
    await deleteTool(services.db, authorOf(caller), params.toolId);
    return undefined;
  });
  endpoints.serve(toolEndpoints.test, async ({ services, caller, params, body, context }) => {
    const found = body.arguments === undefined ? toolToTest : toolToTry;
    const tool = await found(services.db, caller.project, params.toolId);
    const { project, entityId } = caller;
    const { signal } = context.req.raw;
    return testTool(services.tools, tool, body.arguments, { project, entityId, signal });
  });
  endpoints.serve(toolEndpoints.try, async ({ services, caller, params, body, context }) => {
    const tool = await toolToTry(services.db, caller.project, params.toolId);
    const { project, entityId } = caller;
    return tryTool(services.tools, tool, body.arguments, {
      project,
      entityId,
      signal: context.req.raw.signal,
    });
  });
}
