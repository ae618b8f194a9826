import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const sessionsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sessions',
    component: lazyRouteComponent(() => import('./sessions.tsx'), 'SessionsPage'),
  }),
] as const;
