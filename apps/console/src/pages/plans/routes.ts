import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const plansRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/plans',
    component: lazyRouteComponent(() => import('./plans.tsx'), 'PlansPage'),
  }),
] as const;
