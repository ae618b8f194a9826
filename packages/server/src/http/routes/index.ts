import type { Endpoints } from '../endpoint.ts';
import { eventRoutes } from './events.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [eventRoutes];
