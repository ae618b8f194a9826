import { spaceEndpoints } from '@troupe/protocol';
import { type IdRange, readPageById } from '../../base/index.ts';
import { getSpaceMessage, listSpaceMessages, listSpaceRuns, postToSpace } from '../../doors/spaces/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import { presentRun } from '../present/run.ts';
import { presentSpaceMessage } from '../present/space.ts';

export function spaceMessageRoutes(endpoints: Endpoints): void {
  endpoints.serve(spaceEndpoints.post, async ({ services, caller, params, body, id }) => {
    const posting = { id, ...body };
    const { message, runs, duplicate } = await postToSpace(services, caller, params.spaceId, posting);
    return { ...presentSpaceMessage(message), runs, duplicate };
  });
  endpoints.serve(spaceEndpoints.messages, async ({ services, caller, params, query }) => {
    const { messages, ...rest } = await listSpaceMessages(services, caller, params.spaceId, query);
    return { data: messages.map(presentSpaceMessage), ...rest };
  });
  endpoints.serve(spaceEndpoints.message, async ({ services, caller, params }) =>
    presentSpaceMessage(await getSpaceMessage(services, caller, params.spaceId, params.messageId)),
  );
  endpoints.serve(spaceEndpoints.runs, async ({ services, caller, params, query }) => {
    const { limit, cursor, ...filter } = query;
    const list = (range: IdRange) => listSpaceRuns(services, caller, params.spaceId, { ...filter, ...range });
    return presentPage(await readPageById({ limit, cursor }, list), presentRun);
  });
}
