import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const usageRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/usage',
    component: lazyRouteComponent(() => import('./usage.tsx'), 'UsagePage'),
  }),
] as const;
