/**
 * @troupe/server: the runtime as a library. `main.ts` is the program.
 * Start reading: ARCHITECTURE.md, then kernel/index.ts.
 */
export { Access, Encryption } from './access/index.ts';
export * from './base/index.ts';
export { bringFirstAgents, bringMissingAgents, readDocument } from './definitions/agents/index.ts';
export { createNetworksDoor } from './doors/networks/index.ts';
export { createSessionsDoor, sessionsDoor } from './doors/sessions/index.ts';
export { createSpacesDoor, plansPart, planTools } from './doors/spaces/index.ts';
export { cancelChatTasks, cancelTask, createTasksDoor, currentOf } from './doors/tasks/index.ts';
export { createApp, type HttpServer, listen } from './http/index.ts';
export * from './jobs/index.ts';
export * from './kernel/index.ts';
export * from './models/index.ts';
export * from './outgoing/index.ts';
export {
  batchTasks,
  compose,
  engineParts,
  isCommand,
  loadCodeTools,
  openOutgoing,
  ProviderRows,
  planTasks,
  programsOf,
  secretsOf,
  toolParts,
} from './process/index.ts';
export * from './store/index.ts';
export * from './stream/index.ts';
export { Followers } from './sync/index.ts';
export * from './tools/index.ts';
export { Engine, type EngineOptions } from './triggers/index.ts';
