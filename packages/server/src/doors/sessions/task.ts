import { type JsonObject, type SnapshotTool, toolAgent } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import { snapshotFor } from '../../definitions/agents/index.ts';
import type { Kernel, ToolExecute } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { apart, beginChild, inputOf, MAX_HISTORY } from '../shared/index.ts';

interface Pinned {
  snapshot: string;
  agent: string;
  entity: string;
  wallMs: number;
}

/** A call that asks an agent: a run of it in a thread of its own, whose answer is the result. */
export function agentTask({ db, kernel }: { db: store.Database; kernel: Kernel }) {
  return (tool: SnapshotTool): ToolExecute =>
    async (args, context) => {
      const pinned =
        (tool.config.pinned as unknown as Pinned) ?? (await current(db, context.projectId, tool));
      return beginChild(kernel, tool, context, {
        // What the system gives would be read by the agent's model.
        text: inputOf(apart(tool, args as JsonObject).input),
        run: {
          door: 'session',
          agent: pinned.agent,
          entity: pinned.entity,
          snapshot: pinned.snapshot,
          trigger: { agent: pinned.agent },
          wallMs: pinned.wallMs,
          historyLimit: MAX_HISTORY,
        },
      });
    };
}

/** Whom a call would ask; nobody is asked. */
export function agentCheck(db: store.Database) {
  return async (tool: SnapshotTool, { projectId }: { projectId: string }): Promise<string> => {
    await current(db, projectId, tool);
    return `It asks the agent "${toolAgent.parse(tool.config.agent).agent}". No run was begun.`;
  };
}

/** Outside of networks nothing is pinned: whoever calls gets the agent as it is then. */
async function current(db: store.Database, project: string, { config }: SnapshotTool): Promise<Pinned> {
  const { agent: ref } = toolAgent.parse(config.agent);
  const agent = await store.agentNamed(db.rows, project, ref);
  if (!agent) throw new TroupeError('agent_not_found', `There is no active agent "${ref}" in the project.`);
  const found = await snapshotFor(db, { project, agentId: agent, modelIds: [] });
  const { snapshotId, entityId, wallMs } = found;
  return { snapshot: snapshotId, agent, entity: entityId, wallMs };
}
