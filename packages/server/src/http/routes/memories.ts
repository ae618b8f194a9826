import { memoryEndpoints } from '@troupe/protocol';
import type { Caller } from '../../access/index.ts';
import { deleteMemory, getMemory, listMemories, setMemories, setMemory } from '../../memories/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';

export function memoryRoutes(endpoints: Endpoints): void {
  endpoints.serve(memoryEndpoints.list, ({ services, caller, params, query: { user, ...query } }) =>
    listMemories(services.db, keptAsked(caller, params.agentId, user), query),
  );
  endpoints.serve(memoryEndpoints.setMany, async ({ services, caller, params, query, body }) => ({
    count: await setMemories(services.db, keptAsked(caller, params.agentId, query.user), body.memories),
  }));
  endpoints.serve(memoryEndpoints.get, ({ services, caller, params, query }) =>
    getMemory(services.db, keptAsked(caller, params.agentId, query.user), params.key),
  );
  endpoints.serve(memoryEndpoints.set, ({ services, caller, params, query, body }) =>
    setMemory(services.db, keptAsked(caller, params.agentId, query.user), params.key, body.value),
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
