import { lazy } from '../base/index.ts';

export const graphile = lazy<typeof import('graphile-worker')>('graphile-worker');
