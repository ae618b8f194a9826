import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const keysRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/keys',
    component: lazyRouteComponent(() => import('./keys.tsx'), 'KeysPage'),
  }),
] as const;
