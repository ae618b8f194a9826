import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';
import { parseNetworkSearch, parseNetworksSearch } from './search.ts';

export const networksRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/networks',
    validateSearch: parseNetworksSearch,
    component: lazyRouteComponent(() => import('./networks.tsx'), 'NetworksPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/networks/$network',
    validateSearch: parseNetworkSearch,
    component: lazyRouteComponent(() => import('./network.tsx'), 'NetworkPage'),
  }),
] as const;
