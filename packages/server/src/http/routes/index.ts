import type { Endpoints } from '../endpoint.ts';
import { auditRoutes } from './audit.ts';
import { keyRoutes } from './keys.ts';
import { projectRoutes } from './project.ts';
import { secretRoutes } from './secrets.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [
  projectRoutes,
  keyRoutes,
  secretRoutes,
  auditRoutes,
];
