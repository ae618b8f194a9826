import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const spacesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/spaces',
    component: lazyRouteComponent(() => import('./spaces.tsx'), 'SpacesPage'),
  }),
] as const;
