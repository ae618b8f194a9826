import type { Endpoints } from '../endpoint.ts';
import { agentRoutes } from './agents.ts';
import { capabilityRoutes } from './capabilities.ts';
import { messageRoutes } from './messages.ts';
import { modelRoutes } from './models.ts';
import { providerRoutes } from './providers.ts';
import { runRoutes } from './runs.ts';
import { sessionRoutes } from './sessions.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [
  agentRoutes,
  capabilityRoutes,
  messageRoutes,
  modelRoutes,
  providerRoutes,
  runRoutes,
  sessionRoutes,
];
