import type { Endpoints } from '../endpoint.ts';
import { messageRoutes } from './messages.ts';
import { runRoutes } from './runs.ts';
import { sessionRoutes } from './sessions.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [sessionRoutes, messageRoutes, runRoutes];
