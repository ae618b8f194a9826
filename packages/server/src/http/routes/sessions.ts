import { sessionEndpoints } from '@troupe/protocol';
import { fromCursor, idPosition } from '../../base/index.ts';
import {
  cancelSession,
  createSession,
  deleteSession,
  forkSession,
  getSession,
  listAllSessions,
  listSessions,
  retrySession,
  updateSession,
} from '../../doors/sessions/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentSession, presentSessions } from '../present/session.ts';

export function sessionRoutes(endpoints: Endpoints): void {
  endpoints.serve(sessionEndpoints.create, async ({ services, caller, params, body, id }) =>
    presentSession(await createSession(services, caller, params.agentId, { ...body, id })),
  );
  endpoints.serve(sessionEndpoints.list, async ({ services, caller, params, query }) => {
    const { cursor, ...filter } = query;
    const before = fromCursor(idPosition, cursor);
    return presentSessions(await listSessions(services, caller, params.agentId, { ...filter, before }));
  });
  endpoints.serve(sessionEndpoints.listAll, async ({ services, caller, query }) => {
    const { cursor, ...filter } = query;
    const before = fromCursor(idPosition, cursor);
    return presentSessions(await listAllSessions(services, caller, { ...filter, before }));
  });
  endpoints.serve(sessionEndpoints.get, async ({ services, caller, params }) =>
    presentSession(await getSession(services, caller, params)),
  );
  endpoints.serve(sessionEndpoints.update, async ({ services, caller, params, body }) =>
    presentSession(await updateSession(services, caller, params, body)),
  );
  endpoints.serve(sessionEndpoints.remove, async ({ services, caller, params }) => {
    await deleteSession(services, caller, params, authorOf(caller));
    return undefined;
  });
  endpoints.serve(sessionEndpoints.cancel, async ({ services, caller, params }) =>
    presentSession(await cancelSession(services, caller, params)),
  );
  endpoints.serve(
    sessionEndpoints.retry,
    async ({ services, caller, params, body }) =>
      presentSession(await retrySession(services, caller, params, body)),
    {
      again: async ({ services, caller, params }) =>
        presentSession(await getSession(services, caller, params)),
    },
  );
  endpoints.serve(
    sessionEndpoints.fork,
    async ({ services, caller, params, body, id }) =>
      presentSession(await forkSession(services, caller, params, { ...body, id }, authorOf(caller))),
    {
      again: async ({ services, caller, params: { agentId } }, { target: sessionId }) =>
        presentSession(await getSession(services, caller, { agentId, sessionId })),
    },
  );
}
