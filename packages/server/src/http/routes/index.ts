import type { Endpoints } from '../endpoint.ts';
import { agentRoutes } from './agents.ts';
import { capabilityRoutes } from './capabilities.ts';
import { modelRoutes } from './models.ts';
import { providerRoutes } from './providers.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [
  agentRoutes,
  capabilityRoutes,
  modelRoutes,
  providerRoutes,
];
