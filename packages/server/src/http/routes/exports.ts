import { exportEndpoints } from '@troupe/protocol';
import { getSession } from '../../doors/sessions/index.ts';
import { exportPerson, exportProject, exportSession, toBody } from '../../lifecycle/index.ts';
import type { Endpoints } from '../endpoint.ts';

export function exportRoutes(endpoints: Endpoints): void {
  endpoints.serve(exportEndpoints.project, ({ services, caller }) =>
    attached(`project-${caller.project}`, exportProject(services.db, caller.project)),
  );
  endpoints.serve(exportEndpoints.person, async ({ services, caller, params }) =>
    attached(`person-${params.entityId}`, await exportPerson(services.db, caller.project, params.entityId)),
  );
  endpoints.serve(exportEndpoints.me, async ({ services, caller }) => {
    const { id } = await services.access.entities.me(caller);
    return attached(`person-${id}`, await exportPerson(services.db, caller.project, id));
  });
  endpoints.serve(exportEndpoints.session, async ({ services, caller, params }) => {
    const { id } = await getSession(services, caller, params);
    return attached(`session-${id}`, await exportSession(services.db, id));
  });
}

function attached(name: string, lines: AsyncGenerator<string>): Response {
  return new Response(toBody(lines), {
    headers: {
      'content-type': 'application/x-ndjson',
      'content-disposition': `attachment; filename="${name}.ndjson"`,
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    },
  });
}
