import { subAgentEndpoints, taskEndpoints } from '@troupe/protocol';
import { z } from 'zod';
import type { Caller } from '../../access/index.ts';
import { type IdRange, readPage, readPageById } from '../../base/index.ts';
import {
  answerTask,
  cancelChatTasks,
  cancelTask,
  createOutsideTask,
  getSubAgent,
  getTask,
  listSubAgentCalls,
  listSubAgentMessages,
  listSubAgents,
  listTasks,
} from '../../doors/tasks/index.ts';
import { settlerOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import {
  presentSubAgent,
  presentSubAgentCall,
  presentSubAgentMessage,
  presentTask,
} from '../present/task.ts';

const count = z.int().min(0).max(2_147_483_647);
const callPosition = z.object({ run: z.uuid(), step: count, position: count });
type CallPosition = z.infer<typeof callPosition>;

export function taskRoutes(endpoints: Endpoints): void {
  endpoints.serve(taskEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const list = (range: IdRange) => listTasks(services, caller, { ...filter, ...range });
    return presentPage(await readPageById({ limit, cursor }, list), presentTask);
  });
  endpoints.serve(taskEndpoints.create, async ({ services, caller, body, id }) =>
    presentTask(await getTask(services, caller, await createOutsideTask(services, caller, { id, ...body }))),
  );
  endpoints.serve(taskEndpoints.get, async ({ services, caller, params }) =>
    presentTask(await getTask(services, caller, params.taskId)),
  );
  endpoints.serve(taskEndpoints.cancel, async ({ services, caller, params }) => {
    await cancelTask(services, ofCaller(caller, await getTask(services, caller, params.taskId)));
    return presentTask(await getTask(services, caller, params.taskId));
  });
  endpoints.serve(taskEndpoints.answer, async ({ services, caller, params, body }) => {
    await answerTask(services, caller, { ...body, task: params.taskId, by: settlerOf(caller) });
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
    const list = (range: IdRange) => listSubAgents(services, caller, { ...filter, ...range });
    return presentPage(await readPageById({ limit, cursor }, list), presentSubAgent);
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
    const read = async (after: number | undefined, limit: number) => {
      const asked = { after: after ?? 0, limit };
      const { subAgent, messages } = await listSubAgentMessages(services, caller, params.subAgentId, asked);
      return messages.map((message) => ({ subAgent, message }));
    };
    const page = await readPage(query, {
      position: z.int().min(0),
      read,
      positionOf: ({ message }) => message.last,
    });
    return presentPage(page, ({ subAgent, message }) => presentSubAgentMessage(subAgent, message));
  });
  endpoints.serve(subAgentEndpoints.toolCalls, async ({ services, caller, params, query }) => {
    const read = async (after: CallPosition | undefined, limit: number) => {
      const asked = { after, limit };
      const { subAgent, calls } = await listSubAgentCalls(services, caller, params.subAgentId, asked);
      return calls.map((call) => ({ subAgent, call }));
    };
    const page = await readPage(query, {
      position: callPosition,
      read,
      positionOf: ({ call: { run, step, position } }) => ({ run, step, position }),
    });
    return presentPage(page, ({ subAgent, call }) => presentSubAgentCall(subAgent, call));
  });
}

function ofCaller({ project, entityId }: Caller, { id }: { id: string }) {
  return { project, task: id, by: entityId };
}
