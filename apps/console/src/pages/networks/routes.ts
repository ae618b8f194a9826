import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const networksRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/networks',
    component: lazyRouteComponent(() => import('./networks.tsx'), 'NetworksPage'),
  }),
] as const;
