/**
 * doors/tasks: work that a run gives to a sub-agent or to a tool. What a sub-agent is told and how it ends (door.ts), the tools by which
 * agents give tasks and speak to those who do them (acts.ts), what people do to tasks (create.ts, cancel.ts, answer.ts),
 * and what they are told of them (seen.ts).
 * Imports: doors/shared, kernel, agents, store, base, protocol.
 * Start reading: door.ts, then give.ts, then store/functions/tasks/begin_task.sql.
 */
export { delegationActs } from './acts.ts';
export { answerTask } from './answer.ts';
export { cancelChatTasks, cancelTask } from './cancel.ts';
export { createOutsideTask } from './create.ts';
export { currentOf } from './current.ts';
export { createTasksDoor } from './door.ts';
export { requestTaskNotice } from './notice.ts';
export {
  getSubAgent,
  getTask,
  listSubAgentCalls,
  listSubAgentMessages,
  listSubAgents,
  listTasks,
} from './seen.ts';
