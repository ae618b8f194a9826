import { retentionEndpoints } from '@troupe/protocol';
import { getRetention, previewRetention, setAgentRetention, setRetention } from '../../lifecycle/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';

export function retentionRoutes(endpoints: Endpoints): void {
  endpoints.serve(retentionEndpoints.get, ({ services, caller }) =>
    getRetention(services.db, caller.project),
  );
  endpoints.serve(retentionEndpoints.set, ({ services, caller, body }) =>
    setRetention(services.db, authorOf(caller), body),
  );
  endpoints.serve(retentionEndpoints.setForAgent, ({ services, caller, params, body }) =>
    setAgentRetention(services.db, authorOf(caller), params.agentId, body),
  );
  endpoints.serve(retentionEndpoints.preview, ({ services, caller }) =>
    previewRetention(services.db, caller.project),
  );
}
