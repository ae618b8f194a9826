import { agentSnapshot, type JsonObject, type SnapshotTool } from '@troupe/protocol';
import { argumentProblem, idFrom, TroupeError, withoutAbsentNulls } from '../../base/index.ts';
import { findCapability } from '../../definitions/capabilities/index.ts';
import { persistently, type ToolAnswer, type ToolContext } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts } from './acts.ts';
import { DOOR } from './door-name.ts';
import { byOf, taskIdOf, termsIn, told } from './give.ts';

/** The model of such a run makes the one call and answers with its result: no provider is asked (models/one-call.ts). */
const MODEL = { provider: 'one_call', maxOutputTokens: 1 };

/** The snapshot of a run that makes one call of a tool. */
export function oneCallSnapshot(tool: SnapshotTool) {
  return {
    kind: 'agent' as const,
    name: `tool:${tool.name}`,
    models: [{ ...MODEL, model: tool.name }],
    tools: [tool],
    config: { toolTask: true },
  };
}

/** What these write stands in the conversation that they are called in: a task has one of its own, and nobody would find it there. */
const BOUND = ['file_system', 'todo_list', 'research'];
const boundTools = new Set(BOUND.flatMap((id) => findCapability(id)?.tools.map(({ name }) => name) ?? []));

function isOfConversation({ provider, name }: SnapshotTool): boolean {
  return provider === 'delegation' || (provider === 'builtin' && boundTools.has(name));
}

/**
 * A tool in the background: a run of its own whose snapshot has that tool and nothing else, so that the ledger, approvals, effects and
 * recovery are those of every call.
 */
export async function createTask(
  parts: Parts,
  given: SnapshotTool,
  { tool: name, args: asked }: { tool: string; args: JsonObject },
  context: ToolContext,
): Promise<ToolAnswer> {
  const { db } = parts;
  const { projectId: project, agentId, entityId } = context;
  const snapshot = await store.snapshotOfRun(db, project, context.runId);
  const others = snapshot?.tools.filter((one) => !isOfConversation(one)) ?? [];
  const tool = others.find((one) => one.name === name.replace(/^tool:/, ''));
  if (!snapshot || !tool) {
    const names = others.map((one) => `\`${one.name}\``).join(', ') || 'none';
    throw new TroupeError(
      'unknown_tool',
      `You have no tool \`${name}\` that can run in the background. There are: ${names}.`,
    );
  }
  const args = withoutAbsentNulls(tool.inputSchema, asked);
  const problem = argumentProblem(tool.inputSchema, args);
  if (problem)
    throw new TroupeError('invalid_arguments', `The arguments of \`${tool.name}\` do not fit: ${problem}.`);
  const task = taskIdOf(context);
  const instruction = JSON.stringify(args);
  const saved = await store.saveSnapshot(
    db,
    project,
    agentSnapshot.parse({
      ...oneCallSnapshot(tool),
      limits: snapshot.limits,
      inDoubt: snapshot.inDoubt,
      ...(snapshot.approvers ? { approvers: snapshot.approvers } : {}),
    }),
  );
  const { deadlineMs, most } = termsIn(given);
  const begun = await persistently(
    () =>
      store.beginTask(
        db,
        byOf(context),
        {
          id: task,
          type: 'tool',
          name: `tool:${tool.name}`,
          instruction,
          args,
          background: true,
          deadlineMs,
          most,
        },
        {
          project,
          thread: idFrom(`${task}:thread`, task),
          createThread: 'run',
          message: { id: idFrom(`${task}:message`, task), role: 'user', content: { text: instruction } },
          run: {
            id: idFrom(`${task}:run`, task),
            door: DOOR,
            ...(agentId ? { agent: agentId } : {}),
            ...(entityId ? { entity: entityId } : {}),
            snapshot: saved,
            triggerType: 'task',
            trigger: { taskId: task, tool: tool.name },
            wallMs: snapshot.limits.wallMs,
          },
        },
      ),
    context.signal,
  );
  return told(parts, begun, { background: true });
}
