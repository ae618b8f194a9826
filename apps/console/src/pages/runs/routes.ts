import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';
import { parseRunsSearch } from './filter.ts';
import { parseCompareSearch, parseRunSearch } from './search.ts';

export const runsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/runs',
    validateSearch: parseRunsSearch,
    component: lazyRouteComponent(() => import('./runs.tsx'), 'RunsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/runs/compare',
    validateSearch: parseCompareSearch,
    component: lazyRouteComponent(() => import('./compare/compare.tsx'), 'ComparePage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/runs/$runId',
    validateSearch: parseRunSearch,
    component: lazyRouteComponent(() => import('./run/run.tsx'), 'RunPage'),
  }),
] as const;
