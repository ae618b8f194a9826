import { subAgentEndpoints, taskEndpoints } from '@troupe/protocol';
import { z } from 'zod';
import type { Caller } from '../../access/index.ts';
import { fromCursor as fromAnyCursor, toPage } from '../../base/index.ts';
import {
  cancelChatTasks,
  cancelTask,
  getSubAgent,
  getTask,
  listSubAgentCalls,
  listSubAgentMessages,
  listSubAgents,
  listTasks,
} from '../../doors/tasks/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { fromCursor, pageOf } from '../present/cursor.ts';
import {
  presentSubAgent,
  presentSubAgentCall,
  presentSubAgentMessage,
  presentTask,
} from '../present/task.ts';

const place = z.int().min(0).max(2_147_483_647);
const callCursor = z.object({ run: z.uuid(), step: place, position: place });

export function taskRoutes(endpoints: Endpoints): void {
  endpoints.serve(taskEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const asked = { ...filter, before: fromCursor(cursor), limit: limit + 1 };
    return pageOf(await listTasks(services, caller, asked), limit, presentTask);
  });
  endpoints.serve(taskEndpoints.get, async ({ services, caller, params }) =>
    presentTask(await getTask(services, caller, params.taskId)),
  );
  endpoints.serve(taskEndpoints.cancel, async ({ services, caller, params }) => {
    await cancelTask(services, ofCaller(caller, await getTask(services, caller, params.taskId)));
    return presentTask(await getTask(services, caller, params.taskId));
  });
  endpoints.serve(taskEndpoints.cancelAll, async ({ services, caller, body }) => ({
    canceled: await cancelChatTasks(services, {
      project: caller.project,
      chat: body.chat,
      by: caller.entityId,
    }),
  }));
  endpoints.serve(subAgentEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const asked = { ...filter, before: fromCursor(cursor), limit: limit + 1 };
    return pageOf(await listSubAgents(services, caller, asked), limit, presentSubAgent);
  });
  endpoints.serve(subAgentEndpoints.get, async ({ services, caller, params }) =>
    presentSubAgent(await getSubAgent(services, caller, params.subAgentId)),
  );
  endpoints.serve(subAgentEndpoints.cancel, async ({ services, caller, params }) => {
    const { taskId: id } = await getSubAgent(services, caller, params.subAgentId);
    await cancelTask(services, ofCaller(caller, { id }));
    return presentSubAgent(await getSubAgent(services, caller, params.subAgentId));
  });
  endpoints.serve(subAgentEndpoints.messages, async ({ services, caller, params, query }) => {
    const { limit, cursor } = query;
    const asked = { after: fromAnyCursor(z.int().min(0), cursor) ?? 0, limit: limit + 1 };
    const { subAgent, messages } = await listSubAgentMessages(services, caller, params.subAgentId, asked);
    const present = presentSubAgentMessage.bind(null, subAgent);
    return toPage(messages, limit, ({ last }) => last, present);
  });
  endpoints.serve(subAgentEndpoints.toolCalls, async ({ services, caller, params, query }) => {
    const { limit, cursor } = query;
    const asked = { after: fromAnyCursor(callCursor, cursor), limit: limit + 1 };
    const { subAgent, calls } = await listSubAgentCalls(services, caller, params.subAgentId, asked);
    const present = presentSubAgentCall.bind(null, subAgent);
    const placeOf = ({ run, step, position }: (typeof calls)[number]) => ({ run, step, position });
    return toPage(calls, limit, placeOf, present);
  });
}

function ofCaller({ project, entityId }: Caller, { id }: { id: string }) {
  return { project, task: id, by: entityId };
}
