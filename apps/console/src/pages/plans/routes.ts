import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';

export const plansRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/plans',
    validateSearch: (search: Record<string, unknown>) =>
      given({ status: oneIn(search, 'status', ['pending', 'completed', 'canceled'] as const) }),
    component: lazyRouteComponent(() => import('./plans.tsx'), 'PlansPage'),
  }),
] as const;
