import type { JsonObject, SnapshotTool } from '@troupe/protocol';
import type { Kernel, ToolExecute } from '../../kernel/index.ts';
import type { Database } from '../../store/index.ts';
import { askUser } from './ask.ts';
import { createAgent, reactivateAgent, replyToAgent } from './give.ts';
import { createTask } from './tool-task.ts';

export interface Parts {
  db: Database;
  kernel: Kernel;
}

type Act = (
  parts: Parts,
  tool: SnapshotTool,
  args: never,
  context: Parameters<ToolExecute>[1],
) => ReturnType<ToolExecute>;

const ACTS: Record<string, Act> = {
  create_agent: createAgent,
  reactivate_agent: reactivateAgent,
  reply_to_agent: replyToAgent,
  create_task: createTask,
  ask_user: askUser,
};

/** What executes the tools of delegation, and those that sub-agents have of their own. */
export function delegationActs(parts: Parts) {
  return (tool: SnapshotTool): ToolExecute | undefined => {
    const act = Object.hasOwn(ACTS, tool.name) ? ACTS[tool.name] : undefined;
    return act && ((args, context) => act(parts, tool, args as JsonObject as never, context));
  };
}
