import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const runsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/runs',
    component: lazyRouteComponent(() => import('./runs.tsx'), 'RunsPage'),
  }),
] as const;
