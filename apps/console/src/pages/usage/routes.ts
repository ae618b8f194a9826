import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';
import { parseUsageSearch } from './range.ts';

export const usageRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/usage',
    validateSearch: parseUsageSearch,
    component: lazyRouteComponent(() => import('./usage.tsx'), 'UsagePage'),
  }),
] as const;
