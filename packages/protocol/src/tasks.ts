import { z } from 'zod';
import { id, listQuery, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { json } from './json.ts';

// Work that a run gave to somebody else: a sub-agent with a thread of its own, or a tool in the background.

export const taskStatus = z.enum(['pending', 'running', 'waiting', 'success', 'failed', 'canceled']);
export type TaskStatus = z.infer<typeof taskStatus>;

/** One whose task was canceled is `failed`. */
export const subAgentStatus = z.enum(['active', 'waiting_for_user', 'completed', 'failed']);
export type SubAgentStatus = z.infer<typeof subAgentStatus>;

export const task = z.object({
  id,
  userId: id
    .nullable()
    .describe(
      'Whose work it is: the owner of the session; in a space, the person whose message began it, else the agent. Null in networks that a key invoked.',
    ),
  chatId: id.describe('The session or space in which the person talks; in a network, its run.'),
  type: z.enum(['agent', 'tool']),
  name: z.string().describe('`agent:researcher`, `tool:web_search`.'),
  instruction: z.string(),
  subAgentId: id.nullable().describe('Set when the sub-agent starts; null while the task is `pending`.'),
  triggerMessageId: id.nullable().describe('The message in the chat that it came from.'),
  status: taskStatus.describe('`waiting`: the sub-agent has asked something.'),
  result: z.string().nullable(),
  error: z.string().nullable(),
  code: z.string().nullable().describe('Of the error.'),
  question: z.string().nullable().describe('The open question of the sub-agent.'),
  questionId: z.string().nullable().describe('Identifies the open question; its call has this id.'),
  background: z.boolean().describe('The run that gave it went on; the result comes as a message.'),
  depth: z.number().int().describe('1: given by an agent that talks with people.'),
  parentTaskId: id.nullable().describe('The task within which it was given.'),
  parentRunId: id
    .nullable()
    .describe('The run that gave it. Null: created by `POST /v1/tasks` or a sync push.'),
  runId: id.nullable().describe('The run that works on it, or worked on it last.'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Task = z.infer<typeof task>;

export const subAgent = z.object({
  id,
  userId: id.nullable(),
  chatId: id,
  taskId: id,
  agentId: id,
  role: z.string().describe('The name of the agent: `general`, `researcher`, or any other of the project.'),
  status: subAgentStatus,
  iterationCount: z.number().int().describe('Model calls so far, over all its runs.'),
  summary: z.string().nullable().describe('Its last answer, in a line.'),
  threadId: id,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type SubAgent = z.infer<typeof subAgent>;

/** The calls of one answer, as OpenAI writes them. */
export const openAiCalls = z.array(
  z.object({
    id: z.string(),
    type: z.literal('function'),
    function: z.object({ name: z.string(), arguments: z.string() }),
  }),
);

/** A message within a sub-agent, as models are given it: one for each answer, one for each result. */
export const subAgentMessage = z.object({
  id,
  userId: id.nullable(),
  subAgentId: id,
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  toolCallId: z.string().describe('Of a result: the `id` of the call.').optional(),
  toolCalls: openAiCalls.optional(),
  name: z.string().optional(),
  createdAt: timestamp,
});
export type SubAgentMessage = z.infer<typeof subAgentMessage>;

export const subAgentToolCall = z.object({
  id: z.string().describe('What messages of the sub-agent know it by.'),
  userId: id.nullable(),
  subAgentId: id,
  runId: id,
  callId: z.string().describe('What it is called within its run: settle it by this.'),
  step: z.number().int(),
  toolName: z.string(),
  args: json,
  status: z.enum(['pending', 'success', 'failed']),
  result: z.string().optional(),
  error: z.string().optional(),
  createdAt: timestamp,
});
export type SubAgentToolCall = z.infer<typeof subAgentToolCall>;

const taskParams = z.object({ taskId: id });
const subAgentParams = z.object({ subAgentId: id });

export const newTask = z.strictObject({
  id: id.describe('Makes the request safe to repeat. All other ids of the task follow from it.').optional(),
  chat: id.describe('The session or space that it belongs to.'),
  type: z.enum(['agent', 'tool']),
  name: z
    .string()
    .trim()
    .min(1)
    .max(250)
    .describe('An active agent or a tool of the project, by its name; `agent:` and `tool:` may precede it.'),
  instruction: z
    .string()
    .trim()
    .min(1)
    .max(100_000)
    .describe('The instruction for the sub-agent. Required for agents; tools take `args`.')
    .optional(),
  args: z.record(z.string(), json).describe('The arguments of the tool.').optional(),
  userId: id
    .describe('In a space: the member for whom the task is created. In a session it is the owner.')
    .optional(),
  triggerMessageId: id.describe('The message in the chat that it comes from.').optional(),
});
export type NewOutsideTask = z.infer<typeof newTask>;

export const taskEndpoints = {
  create: endpoint({
    method: 'POST',
    path: '/v1/tasks',
    tag: 'tasks',
    summary: 'Create a task for an agent or a tool',
    description:
      'Task, sub-agent and run are created in one transaction. No agent is notified of its end: follow the task, or let a trigger call `/webhook/orchestrator-finalize`. Users create tasks for agents in their own sessions and spaces; tasks for tools need a secret key.',
    scope: 'runs:write',
    user: true,
    body: newTask,
    bodyBytes: 1_048_576,
    status: 201,
    response: task,
    problems: [
      'agent_not_found',
      'tool_not_found',
      'model_not_found',
      'arguments_invalid',
      'chat_not_found',
      'message_not_found',
      'not_a_member',
      'task_id_taken',
    ],
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/tasks',
    tag: 'tasks',
    summary: 'Tasks, newest first',
    scope: 'runs:read',
    user: true,
    query: listQuery.extend({
      chat: id.describe('Those of a session or space.').optional(),
      status: taskStatus.optional(),
      parent: id.describe('Those given within a task.').optional(),
      type: z.enum(['agent', 'tool']).optional(),
    }),
    status: 200,
    response: page(task),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/tasks/{taskId}',
    tag: 'tasks',
    summary: 'One task',
    scope: 'runs:read',
    user: true,
    params: taskParams,
    status: 200,
    response: task,
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/v1/tasks/{taskId}/cancel',
    tag: 'tasks',
    summary: 'Cancel a task with everything given within it',
    description: 'One that has ended stays as it is.',
    scope: 'runs:write',
    user: true,
    params: taskParams,
    status: 200,
    response: task,
  }),
  answer: endpoint({
    method: 'POST',
    path: '/v1/tasks/{taskId}/answer',
    tag: 'tasks',
    summary: 'Answer the question of a sub-agent',
    description:
      'The sub-agent continues with the answer, and the agent that gave the task is notified. Users answer questions of tasks that were created for them. The first answer counts, whether it comes from a person or from the agent. The same answer again changes nothing.',
    scope: 'runs:write',
    user: true,
    params: taskParams,
    body: z.strictObject({
      answer: z.string().trim().min(1).max(60_000),
      questionId: z
        .string()
        .min(1)
        .max(200)
        .describe('Answer this question only. Without it, the open one is answered.')
        .optional(),
    }),
    status: 200,
    response: task,
    problems: ['not_asked'],
  }),
  cancelAll: endpoint({
    method: 'POST',
    path: '/v1/tasks/cancel',
    tag: 'tasks',
    summary: 'Cancel all open tasks of a session or space',
    scope: 'runs:write',
    user: true,
    body: z.strictObject({ chat: id }),
    status: 200,
    response: z.object({ canceled: z.array(id) }),
  }),
} as const;

export const subAgentEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/sub-agents',
    tag: 'tasks',
    summary: 'Sub-agents, newest first',
    scope: 'runs:read',
    user: true,
    query: listQuery.extend({
      chat: id.describe('Those of a session or space.').optional(),
      task: id.describe('The one of a task.').optional(),
      status: subAgentStatus.optional(),
    }),
    status: 200,
    response: page(subAgent),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/sub-agents/{subAgentId}',
    tag: 'tasks',
    summary: 'A sub-agent',
    scope: 'runs:read',
    user: true,
    params: subAgentParams,
    status: 200,
    response: subAgent,
  }),
  messages: endpoint({
    method: 'GET',
    path: '/v1/sub-agents/{subAgentId}/messages',
    tag: 'tasks',
    summary: 'What was said within a sub-agent, oldest first',
    scope: 'runs:read',
    user: true,
    params: subAgentParams,
    query: listQuery,
    status: 200,
    response: page(subAgentMessage),
  }),
  toolCalls: endpoint({
    method: 'GET',
    path: '/v1/sub-agents/{subAgentId}/tool-calls',
    tag: 'tasks',
    summary: 'Calls of tools within a sub-agent, oldest first',
    scope: 'runs:read',
    user: true,
    params: subAgentParams,
    query: listQuery,
    status: 200,
    response: page(subAgentToolCall),
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/v1/sub-agents/{subAgentId}/cancel',
    tag: 'tasks',
    summary: 'Cancel what a sub-agent is doing, with everything given within it',
    scope: 'runs:write',
    user: true,
    params: subAgentParams,
    status: 200,
    response: subAgent,
  }),
} as const;
