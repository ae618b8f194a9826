import { agentSnapshot, type JsonObject, type NewOutsideTask, type SnapshotTool } from '@troupe/protocol';
import { argumentProblem, idFrom, newId, Refusal } from '../../base/index.ts';
import { snapshotFor } from '../../definitions/agents/index.ts';
import { toolsOf, toSnapshotTool } from '../../definitions/tools/index.ts';
import { patiently } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { MAX_HISTORY } from '../shared/index.ts';
import type { Parts } from './acts.ts';
import { DOOR } from './door-name.ts';
import { oneCallSnapshot } from './tool-task.ts';

// Tasks from outside. All ids are derived from the id of the task, so requests are idempotent.

/** The run that a task starts. */
interface Work {
  name: string;
  instruction: string;
  args?: JsonObject;
  role?: string;
  run: Pick<store.NewRun, 'agent' | 'entity' | 'snapshot' | 'trigger' | 'wallMs' | 'historyLimit'>;
}

export async function createOutsideTask(
  { db, kernel }: Parts,
  who: store.TaskScope,
  given: NewOutsideTask,
): Promise<string> {
  const id = given.id?.toLowerCase() ?? newId();
  if (who.entityId !== null && given.userId !== undefined && given.userId !== who.entityId)
    throw new Refusal('forbidden', 'forbidden', 'Users can only create tasks for themselves.', {
      issues: [{ path: 'userId', message: 'must be left out or be the caller' }],
    });
  const chat = await store.findChatFor(db, who, given.chat);
  if (!chat || chat.kind === 'gone') throw chatNotFound();
  const work = given.type === 'agent' ? await agentWork(db, who, given) : await toolWork(db, who, given);
  const subAgent = given.type === 'agent' ? idFrom(`${id}:sub-agent`, id) : undefined;
  const { run, ...task } = work;
  const item: store.StartItem = {
    project: who.project,
    thread: idFrom(`${subAgent ?? id}:thread`, id),
    createThread: subAgent ? 'sub_agent' : 'run',
    message: {
      id: idFrom(`${id}:message`, id),
      role: 'user',
      content: { text: work.instruction },
      ...(who.entityId ? { sender: who.entityId } : {}),
    },
    run: {
      ...run,
      id: idFrom(`${id}:run`, id),
      door: DOOR,
      triggerType: 'task',
      trigger: { ...run.trigger, taskId: id },
    },
  };
  const user = who.entityId ?? given.userId;
  const created = await patiently(() =>
    store.createTask(
      db,
      {
        ...task,
        id,
        type: given.type,
        chat: given.chat,
        ...(user ? { user } : {}),
        ...(subAgent ? { subAgent } : {}),
        ...(given.triggerMessageId ? { triggerMessage: given.triggerMessageId } : {}),
      },
      item,
    ),
  );
  if (!created.ok) throw refusalOf(created.code);
  kernel.changed({ started: created.duplicate ? 0 : 1, queued: true, joins: true });
  kernel.touched(created.thread);
  return id;
}

async function agentWork(
  db: store.Database,
  { project }: store.TaskScope,
  given: NewOutsideTask,
): Promise<Work> {
  const { instruction } = given;
  if (instruction === undefined || given.args !== undefined)
    throw invalid(
      instruction === undefined ? 'instruction' : 'args',
      instruction === undefined ? 'is required for a task of an agent' : 'is for tasks of tools',
    );
  const ref = given.name.replace(/^agent:/, '');
  const agentId = await store.agentNamed(db.rows, project, ref);
  if (!agentId)
    throw new Refusal('invalid', 'agent_not_found', `No active agent is named "${ref}".`, {
      hint: 'GET /v1/agents lists the agents of the project.',
      issues: [{ path: 'name', message: 'is not an active agent of the project' }],
    });
  const { name, entityId, snapshotId, wallMs } = await snapshotFor(db, {
    project,
    agentId,
    modelIds: [],
  });
  return {
    name: `agent:${name}`,
    role: name,
    instruction,
    run: {
      agent: agentId,
      entity: entityId,
      snapshot: snapshotId,
      trigger: { agent: agentId },
      wallMs,
      historyLimit: MAX_HISTORY,
    },
  };
}

async function toolWork(db: store.Database, who: store.TaskScope, given: NewOutsideTask): Promise<Work> {
  if (who.entityId !== null)
    throw new Refusal('forbidden', 'forbidden', 'Tasks for tools can only be created with a secret key.', {
      hint: 'Create a task for an agent that carries the tool.',
    });
  if (given.instruction !== undefined)
    throw invalid('instruction', 'is for tasks of agents; tools take `args`');
  const { args = {} } = given;
  const [row] = await toolsOf(db.rows, who.project, [given.name.replace(/^tool:/, '')]);
  const tool: SnapshotTool = toSnapshotTool(row!);
  const problem = argumentProblem(tool.inputSchema, args);
  if (problem)
    throw new Refusal(
      'invalid',
      'arguments_invalid',
      `The arguments do not fit \`${tool.name}\`: ${problem}.`,
      {
        issues: [{ path: 'args', message: problem }],
      },
    );
  const snapshot = agentSnapshot.parse(oneCallSnapshot(tool));
  return {
    name: `tool:${tool.name}`,
    instruction: JSON.stringify(args),
    args,
    run: {
      snapshot: await store.saveSnapshot(db, who.project, snapshot),
      trigger: { tool: tool.name },
      wallMs: snapshot.limits.wallMs,
    },
  };
}

function invalid(path: string, message: string): Refusal {
  return new Refusal('invalid', 'invalid_request', `\`${path}\` ${message}.`, {
    issues: [{ path, message }],
  });
}

function chatNotFound(): Refusal {
  return new Refusal('not_found', 'chat_not_found', 'There is no such session or space.', {
    issues: [{ path: 'chat', message: 'is not a session or space of the caller' }],
  });
}

function refusalOf(code: (store.CreatedTask & { ok: false })['code']): Refusal {
  switch (code) {
    case 'chat_not_found':
      return chatNotFound();
    case 'task_id_taken':
      return new Refusal('conflict', code, 'Another task has this id.', {
        hint: 'Leave `id` out, or use a new one.',
      });
    case 'not_a_member':
      return new Refusal('conflict', code, '`userId` is not a member of the space.', {
        issues: [{ path: 'userId', message: 'is not a member of the space' }],
      });
    case 'message_not_found':
      return new Refusal('not_found', code, 'The session or space has no such message.', {
        issues: [{ path: 'triggerMessageId', message: 'is not a message of the chat' }],
      });
  }
}
