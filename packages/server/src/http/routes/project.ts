import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';

export function projectRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.createProject, ({ caller, body, services }) =>
    services.access.projects.create(caller, body.name),
  );
  endpoints.serve(accessEndpoints.listProjects, ({ caller, query, services }) =>
    services.access.projects.list(caller, query),
  );
  endpoints.serve(accessEndpoints.changeProject, ({ caller, params, body, services }) =>
    services.access.projects.changeOutgoing(caller, params.projectId, body.outgoing),
  );
  endpoints.serve(accessEndpoints.getProject, ({ caller, services }) => services.access.projects.get(caller));
  endpoints.serve(accessEndpoints.updateProject, ({ caller, body, services }) =>
    services.access.projects.update(caller, body),
  );
}
