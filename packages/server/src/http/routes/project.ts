import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';
import { presentProject } from '../present/access.ts';
import { presentPage } from '../present/page.ts';

export function projectRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    accessEndpoints.createProject,
    async ({ caller, body, services }) => {
      const { key, ...row } = await services.access.projects.create(caller, body.name);
      return { ...presentProject(row), key };
    },
    {
      again: async ({ caller, services }, { target }) => {
        const { key, ...row } = await services.access.projects.reissue(caller, target);
        return { ...presentProject(row), key };
      },
    },
  );
  endpoints.serve(accessEndpoints.listProjects, async ({ caller, query, services }) =>
    presentPage(await services.access.projects.list(caller, query), presentProject),
  );
  endpoints.serve(accessEndpoints.changeProject, async ({ caller, params, body, services }) =>
    presentProject(await services.access.projects.changeOutgoing(caller, params.projectId, body.outgoing)),
  );
  endpoints.serve(accessEndpoints.getProject, async ({ caller, services }) =>
    presentProject(await services.access.projects.get(caller)),
  );
  endpoints.serve(accessEndpoints.updateProject, async ({ caller, body, services }) =>
    presentProject(await services.access.projects.update(caller, body)),
  );
}
