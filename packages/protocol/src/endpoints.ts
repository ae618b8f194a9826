import { accessEndpoints } from './access.ts';
import { agentEndpoints } from './agents.ts';
import { batchEndpoints } from './batches.ts';
import { capabilityEndpoints } from './capabilities.ts';
import { clientEndpoints } from './clients.ts';
import type { Endpoint } from './endpoint.ts';
import { entityEndpoints } from './entities.ts';
import { exportEndpoints } from './exports.ts';
import { fileEndpoints } from './files.ts';
import { findingEndpoints } from './findings.ts';
import { goalEndpoints } from './goals.ts';
import { inboxEndpoints } from './inbox.ts';
import { mcpServerEndpoints } from './mcp-servers.ts';
import { memoryEndpoints } from './memories.ts';
import { modelEndpoints } from './models.ts';
import { networkEndpoints } from './networks.ts';
import { planEndpoints, serviceEndpoints } from './plans.ts';
import { retentionEndpoints } from './retention.ts';
import { runEndpoints } from './runs.ts';
import { sessionEndpoints } from './sessions.ts';
import { spaceEndpoints } from './spaces.ts';
import { syncEndpoints } from './sync.ts';
import { systemEndpoints } from './system.ts';
import { subAgentEndpoints, taskEndpoints } from './tasks.ts';
import { todoEndpoints } from './todos.ts';
import { toolEndpoints } from './tools.ts';
import { triggerEndpoints } from './triggers.ts';
import { usageEndpoints } from './usage.ts';

/** Everything that is served under `/v1`, by noun. */
export const endpoints = {
  access: accessEndpoints,
  agents: agentEndpoints,
  batches: batchEndpoints,
  capabilities: capabilityEndpoints,
  clients: clientEndpoints,
  entities: entityEndpoints,
  exports: exportEndpoints,
  files: fileEndpoints,
  findings: findingEndpoints,
  goals: goalEndpoints,
  inbox: inboxEndpoints,
  mcpServers: mcpServerEndpoints,
  memories: memoryEndpoints,
  models: modelEndpoints,
  networks: networkEndpoints,
  plans: planEndpoints,
  retention: retentionEndpoints,
  runs: runEndpoints,
  services: serviceEndpoints,
  sessions: sessionEndpoints,
  spaces: spaceEndpoints,
  subAgents: subAgentEndpoints,
  tasks: taskEndpoints,
  sync: syncEndpoints,
  system: systemEndpoints,
  todos: todoEndpoints,
  tools: toolEndpoints,
  triggers: triggerEndpoints,
  usage: usageEndpoints,
} as const;

export function allEndpoints(): Endpoint[] {
  return Object.values(endpoints).flatMap((group) => Object.values(group));
}
