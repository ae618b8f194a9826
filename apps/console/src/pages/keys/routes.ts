import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';

export const keysRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/keys',
    validateSearch: (search: Record<string, unknown>) =>
      given({ tab: oneIn(search, 'tab', ['secrets', 'tokens'] as const) }),
    component: lazyRouteComponent(() => import('./keys.tsx'), 'KeysPage'),
  }),
] as const;
