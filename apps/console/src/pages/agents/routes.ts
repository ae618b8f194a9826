import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const agentsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents',
    component: lazyRouteComponent(() => import('./agents.tsx'), 'AgentsPage'),
  }),
] as const;
