import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const triggersRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/triggers',
    component: lazyRouteComponent(() => import('./triggers.tsx'), 'TriggersPage'),
  }),
] as const;
