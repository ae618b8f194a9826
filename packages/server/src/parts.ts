/**
 * @troupe/server/parts: the parts that the program is composed of, for the `troupe` command and for `@troupe/testing`.
 * Start reading: process/compose.ts, which composes them into the program.
 */
export { Access, Encryption } from './access/index.ts';
export { bringFirstAgents, readDocument } from './definitions/agents/index.ts';
export { createNetworksDoor } from './doors/networks/index.ts';
export { createSessionsDoor, sessionsDoor } from './doors/sessions/index.ts';
export { createSpacesDoor } from './doors/spaces/index.ts';
export { createTasksDoor, currentOf } from './doors/tasks/index.ts';
export { createApp, listen } from './http/index.ts';
export { Jobs, migrateJobs } from './jobs/index.ts';
export { Past } from './kernel/index.ts';
export {
  createDemo,
  createProviders,
  createScripted,
  oneCall,
  type Script,
  type Scripted,
} from './models/index.ts';
export {
  batchTasks,
  eraseTasks,
  compose,
  engineParts,
  loadCodeTools,
  openOutgoing,
  ProviderRows,
  planTasks,
  programsOf,
  secretsOf,
  toolParts,
} from './process/index.ts';
export { Stream } from './stream/index.ts';
export { Followers } from './sync/index.ts';
export {
  type CodeTool,
  type CodeToolContext,
  codeFunctions,
  createTools,
  defineTools,
  McpConnections,
  mcpServers,
  tool,
} from './tools/index.ts';
export { Engine, type EngineOptions } from './triggers/index.ts';
