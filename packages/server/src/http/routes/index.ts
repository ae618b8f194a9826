import type { Endpoints } from '../endpoint.ts';

/** All routes of `/v1`, one file per noun. */
export const routes: ((endpoints: Endpoints) => void)[] = [];
