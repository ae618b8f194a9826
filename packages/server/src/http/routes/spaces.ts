import { spaceEndpoints } from '@troupe/protocol';
import { z } from 'zod';
import { type IdRange, readPage, readPageById } from '../../base/index.ts';
import {
  addMember,
  createSpace,
  deleteSpace,
  findTyping,
  getSpace,
  listMembers,
  listSpaces,
  markRead,
  removeMember,
  updateSpace,
} from '../../doors/spaces/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import { presentMembership, presentSpace } from '../present/space.ts';

/** When a member joined, and which one it is. */
const memberPosition = z.object({ place: z.string().regex(/^\d{1,16}$/), entityId: z.uuid() });

export function spaceRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    spaceEndpoints.create,
    async ({ services, caller, body, id }) =>
      presentSpace(await createSpace(services, caller, { ...body, id })),
    {
      again: async ({ services, caller }, { target }) =>
        presentSpace(await getSpace(services, caller, target)),
    },
  );
  endpoints.serve(spaceEndpoints.list, async ({ services, caller, query }) => {
    const { entityId: member } = query;
    const list = (range: IdRange) => listSpaces(services, caller, { member, ...range });
    return presentPage(await readPageById(query, list), presentSpace);
  });
  endpoints.serve(spaceEndpoints.get, async ({ services, caller, params }) =>
    presentSpace(await getSpace(services, caller, params.spaceId)),
  );
  endpoints.serve(spaceEndpoints.update, async ({ services, caller, params, body }) =>
    presentSpace(await updateSpace(services, caller, params.spaceId, body)),
  );
  endpoints.serve(spaceEndpoints.remove, async ({ services, caller, params }) => {
    await deleteSpace(services, caller, params.spaceId, authorOf(caller));
    return undefined;
  });
  endpoints.serve(spaceEndpoints.members, async ({ services, caller, params, query }) => {
    const { type } = query;
    const page = await readPage(query, {
      position: memberPosition,
      read: (after, limit) => listMembers(services, caller, params.spaceId, { type, after, limit }),
      positionOf: ({ place, entityId }) => ({ place, entityId }),
    });
    return presentPage(page, presentMembership);
  });
  endpoints.serve(spaceEndpoints.addMember, async ({ services, caller, params, body }) =>
    presentMembership(await addMember(services, caller, params.spaceId, body)),
  );
  endpoints.serve(spaceEndpoints.removeMember, async ({ services, caller, params }) => {
    await removeMember(services, caller, params.spaceId, params.entityId);
    return undefined;
  });
  endpoints.serve(spaceEndpoints.read, ({ services, caller, params, body }) =>
    markRead(services, caller, params.spaceId, body),
  );
  endpoints.serve(spaceEndpoints.typing, async ({ services, caller, params, body }) => {
    const typist = await findTyping(services, caller, params.spaceId, body.entityId);
    services.stream.pass(params.spaceId.toLowerCase(), { ...typist, typing: body.typing });
    return undefined;
  });
}
