import { memoryEndpoints } from '@troupe/protocol';
import type { Caller } from '../../access/index.ts';
import { deleteMemory, getMemory, listMemories, setMemories, setMemory } from '../../memories/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentMemory } from '../present/memory.ts';
import { presentPage } from '../present/page.ts';

export function memoryRoutes(endpoints: Endpoints): void {
  endpoints.serve(memoryEndpoints.list, async ({ services, caller, params, query: { user, ...query } }) =>
    presentPage(
      await listMemories(services.db, keptAsked(caller, params.agentId, user), query),
      presentMemory,
    ),
  );
  endpoints.serve(
    memoryEndpoints.setMany,
    async ({ services, caller, params, query, body }) => ({
      count: await setMemories(services.db, keptAsked(caller, params.agentId, query.user), body.memories),
    }),
    { again: async (_, { count }) => ({ count: count! }) },
  );
  endpoints.serve(memoryEndpoints.get, async ({ services, caller, params, query }) =>
    presentMemory(await getMemory(services.db, keptAsked(caller, params.agentId, query.user), params.key)),
  );
  endpoints.serve(memoryEndpoints.set, async ({ services, caller, params, query, body }) =>
    presentMemory(
      await setMemory(services.db, keptAsked(caller, params.agentId, query.user), params.key, body.value),
    ),
  );
  endpoints.serve(memoryEndpoints.remove, async ({ services, caller, params, query }) => {
    await deleteMemory(services.db, keptAsked(caller, params.agentId, query.user), params.key);
    return undefined;
  });
}

/** Who asks for what an agent keeps, and of whom. */
export function keptAsked(caller: Caller, agentId: string, user: string | undefined) {
  return { author: authorOf(caller), entityId: caller.entityId, agentId, user };
}
