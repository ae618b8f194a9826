import type { Json, SnapshotTool } from '@troupe/protocol';
import { idFrom, isId, TroupeError } from '../../base/index.ts';
import { type Current, snapshotFor } from '../../definitions/agents/index.ts';
import { delegationConfig } from '../../definitions/capabilities/index.ts';
import { HANDED_OVER, persistently, type ToolAnswer, type ToolContext } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { MAX_HISTORY } from '../shared/index.ts';
import type { Parts } from './acts.ts';
import { DOOR } from './door-name.ts';

// How an agent gives tasks to sub-agents and speaks to them. All ids follow from the call, so that any try may be repeated.

interface Giving {
  type: string;
  instruction: string;
  background?: boolean;
}

export async function createAgent(
  parts: Parts,
  tool: SnapshotTool,
  { type, instruction, background = false }: Giving,
  context: ToolContext,
): Promise<ToolAnswer> {
  const role = await roleNamed(parts, context, type);
  const task = taskIdOf(context);
  const subAgent = idFrom(`${task}:sub-agent`, task);
  const { deadlineMs, most } = termsIn(tool);
  const begun = await persistently(
    () =>
      store.beginTask(
        parts.db,
        byOf(context),
        {
          id: task,
          type: 'agent',
          name: `agent:${role.name}`,
          instruction,
          subAgent,
          role: role.name,
          background,
          deadlineMs,
          most,
        },
        {
          project: context.projectId,
          thread: idFrom(`${subAgent}:thread`, task),
          createThread: 'sub_agent',
          message: asked(task, instruction, context),
          run: runOf(tool, role, { id: idFrom(`${task}:run`, task), task }),
        },
      ),
    context.signal,
  );
  return told(parts, begun, { background });
}

export async function reactivateAgent(
  parts: Parts,
  tool: SnapshotTool,
  { subAgentId, instruction, background = false }: Omit<Giving, 'type'> & { subAgentId: string },
  context: ToolContext,
): Promise<ToolAnswer> {
  const { projectId: project, runId, callId } = context;
  const subAgent = idIn(subAgentId);
  const known = await store.findSubAgent(parts.db, project, subAgent);
  if (!known) throw notThere(subAgentId);
  const { agentId, threadId: thread, taskId: task } = known;
  const role = { ...(await snapshotFor(parts.db, { project, agentId, modelIds: [] })), agentId };
  if (role.status === 'archived')
    throw new TroupeError('agent_archived', `The agent "${role.name}" is archived; it takes no more tasks.`);
  const { deadlineMs, most } = termsIn(tool);
  const again = idFrom(`${task}:${runId}:${callId}`, runId);
  const begun = await persistently(
    () =>
      store.reactivateTask(
        parts.db,
        byOf(context),
        { subAgent, background, deadlineMs, most },
        {
          project,
          thread,
          message: asked(again, instruction, context),
          run: runOf(tool, role, { id: again, task }),
        },
      ),
    context.signal,
  );
  return told(parts, begun, { background });
}

export async function replyToAgent(
  parts: Parts,
  tool: SnapshotTool,
  { subAgentId, content }: { subAgentId: string; content: string },
  context: ToolContext,
): Promise<ToolAnswer> {
  const subAgent = idIn(subAgentId);
  const { deadlineMs } = termsIn(tool);
  const replied = await persistently(
    () => store.replyToTask(parts.db, byOf(context), { subAgent, content, deadlineMs }),
    context.signal,
  );
  return told(parts, replied, { background: replied.waits === false, started: false });
}

export function taskIdOf({ runId, callId }: Pick<ToolContext, 'runId' | 'callId'>): string {
  return idFrom(`${runId}:${callId}:given`, runId);
}

export function byOf({ runId: run, callId: call, epoch, worker }: ToolContext): store.ByCall {
  return { run, call, epoch, worker };
}

/** How long a call waits, and how many tasks there may be; networks have a policy for that. */
export function termsIn({ config }: Pick<SnapshotTool, 'config'>): {
  deadlineMs: number;
  most: store.MostTasks;
} {
  const { waitMs, depth, tasks } = configOf(config);
  return { deadlineMs: waitMs, most: { depth, runs: tasks } };
}

function configOf({ params: _, ...config }: SnapshotTool['config']) {
  return delegationConfig.parse(config);
}

interface Role extends Current {
  agentId: string;
}

async function roleNamed({ db }: Parts, { projectId }: ToolContext, type: string): Promise<Role> {
  // As the task is called as well.
  const agentId = await store.agentNamed(db.rows, projectId, type.replace(/^agent:/, ''));
  if (agentId) return { ...(await snapshotFor(db, { project: projectId, agentId, modelIds: [] })), agentId };
  const names = await store.activeAgentNames(db, projectId, 50);
  throw new TroupeError(
    'agent_not_found',
    `There is no active agent "${type}". There are: ${names.map((name) => `"${name}"`).join(', ')}.`,
  );
}

function asked(key: string, text: string, { entityId }: ToolContext) {
  return {
    id: idFrom(`${key}:message`, key),
    role: 'user' as const,
    content: { text },
    ...(entityId ? { sender: entityId } : {}),
  };
}

function runOf(tool: SnapshotTool, role: Role, { id, task }: { id: string; task: string }): store.NewRun {
  const { questionMs, questions, repeats } = configOf(tool.config);
  return {
    id,
    door: DOOR,
    agent: role.agentId,
    entity: role.entityId,
    snapshot: role.snapshotId,
    triggerType: 'task',
    trigger: { agent: role.agentId, taskId: task, terms: { questionMs, questions, repeats } },
    wallMs: role.wallMs,
    historyLimit: MAX_HISTORY,
  };
}

/** What the call becomes: it waits, or tells what was begun, or why nothing was. */
export function told(
  { kernel }: Parts,
  begun: store.BegunTask,
  { background, started = true }: { background: boolean; started?: boolean },
): ToolAnswer {
  if (begun.ok) {
    kernel.changed({ started: started && !begun.duplicate ? 1 : 0, queued: true, joins: true });
    for (const thread of [begun.parentThread, begun.thread]) kernel.touched(thread);
    if (!background) return HANDED_OVER;
    const { task: taskId, subAgent } = begun;
    return {
      status: started ? 'pending' : 'running',
      taskId,
      ...(subAgent ? { subAgentId: subAgent } : {}),
      note: 'It is at work. You are told when it ends or asks something.',
    } as Json;
  }
  throw new TroupeError(begun.code, whyNot(begun));
}

function whyNot(refused: store.BegunTask & { ok: false }): string {
  switch (refused.code) {
    case 'no_background':
      return 'Here tasks cannot be given in the background: nobody could tell you of the result. Give it without `background`.';
    case 'task_depth':
      return `This was not begun: tasks may be nested ${refused.limit} deep, and this one would be deeper. Do it without giving it on.`;
    case 'too_many_runs':
      return `This was not begun: ${refused.limit} tasks in all may follow from what was asked, and there were as many. Go on without more of them.`;
    case 'sub_agent_not_found':
      return 'You have no such sub-agent. Use the `subAgentId` of one that you gave a task to in this conversation.';
    case 'sub_agent_busy':
      return `The sub-agent has not ended: its task is ${refused.status}. ${refused.status === 'waiting' ? 'Answer its question with reply_to_agent.' : 'Wait until you are told of its result.'}`;
    case 'not_asked':
      return `The sub-agent waits for no answer: its task is ${refused.status}. Once it has ended, reactivate_agent gives it more to do.`;
    default:
      return 'This run is no longer this worker’s: it was stopped or taken over.';
  }
}

function idIn(given: string): string {
  const id = given.trim().toLowerCase();
  if (!isId(id)) throw notThere(given);
  return id;
}

function notThere(given: string): TroupeError {
  return new TroupeError(
    'sub_agent_not_found',
    `"${given.slice(0, 100)}" is no sub-agent. Use the \`subAgentId\` of one that you gave a task to.`,
  );
}
