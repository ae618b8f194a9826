import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';

export function projectRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.getProject, ({ caller, services }) => services.access.projects.get(caller));
  endpoints.serve(accessEndpoints.updateProject, ({ caller, body, services }) =>
    services.access.projects.update(caller, body),
  );
}
