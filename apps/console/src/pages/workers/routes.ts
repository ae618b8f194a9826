import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const workersRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/workers',
    component: lazyRouteComponent(() => import('./workers.tsx'), 'WorkersPage'),
  }),
] as const;
