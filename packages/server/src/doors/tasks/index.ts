/**
 * doors/tasks: work that runs give to sub-agents and tools.
 * Imports: doors/shared, kernel, agents, store, base, protocol.
 * Start reading: seen.ts (what is told of them).
 */
export { cancelChatTasks, cancelTask } from './cancel.ts';
export {
  getSubAgent,
  getTask,
  listSubAgentCalls,
  listSubAgentMessages,
  listSubAgents,
  listTasks,
} from './seen.ts';
