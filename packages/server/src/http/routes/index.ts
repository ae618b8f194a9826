import type { Endpoints } from '../endpoint.ts';
import { agentRoutes } from './agents.ts';
import { auditRoutes } from './audit.ts';
import { batchRoutes } from './batches.ts';
import { capabilityRoutes } from './capabilities.ts';
import { clientRoutes } from './clients.ts';
import { entityRoutes } from './entities.ts';
import { eventRoutes } from './events.ts';
import { exportRoutes } from './exports.ts';
import { fileRoutes } from './files.ts';
import { goalRoutes } from './goals.ts';
import { inboxRoutes } from './inbox.ts';
import { keyRoutes } from './keys.ts';
import { mcpServerRoutes } from './mcp-servers.ts';
import { memoryRoutes } from './memories.ts';
import { messageRoutes } from './messages.ts';
import { modelRoutes } from './models.ts';
import { networkRunRoutes } from './network-runs.ts';
import { networkVersionRoutes } from './network-versions.ts';
import { networkRoutes } from './networks.ts';
import { planRoutes } from './plans.ts';
import { projectRoutes } from './project.ts';
import { providerRoutes } from './providers.ts';
import { retentionRoutes } from './retention.ts';
import { runRoutes } from './runs.ts';
import { secretRoutes } from './secrets.ts';
import { sessionRoutes } from './sessions.ts';
import { spaceMessageRoutes } from './space-messages.ts';
import { spaceRoutes } from './spaces.ts';
import { syncRoutes } from './sync.ts';
import { systemRoutes } from './system.ts';
import { taskRoutes } from './tasks.ts';
import { toolRoutes } from './tools.ts';
import { triggerRoutes } from './triggers.ts';
import { usageRoutes } from './usage.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [
  agentRoutes,
  auditRoutes,
  batchRoutes,
  capabilityRoutes,
  clientRoutes,
  entityRoutes,
  eventRoutes,
  exportRoutes,
  fileRoutes,
  goalRoutes,
  inboxRoutes,
  keyRoutes,
  mcpServerRoutes,
  memoryRoutes,
  messageRoutes,
  modelRoutes,
  networkRunRoutes,
  networkVersionRoutes,
  networkRoutes,
  planRoutes,
  projectRoutes,
  providerRoutes,
  retentionRoutes,
  runRoutes,
  secretRoutes,
  sessionRoutes,
  spaceMessageRoutes,
  spaceRoutes,
  taskRoutes,
  syncRoutes,
  systemRoutes,
  toolRoutes,
  triggerRoutes,
  usageRoutes,
];
