import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { SPACE_PANELS } from './words.ts';

export const spacesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/spaces',
    validateSearch: (search: Record<string, unknown>) =>
      given({ of: oneIn(search, 'of', ['me']), new: oneIn(search, 'new', ['space']) }),
    component: lazyRouteComponent(() => import('./spaces.tsx'), 'SpacesPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/spaces/$spaceId',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        panel: oneIn(search, 'panel', SPACE_PANELS),
        search: textIn(search, 'search'),
        message: textIn(search, 'message'),
        events: textIn(search, 'events'),
      }),
    component: lazyRouteComponent(() => import('./space.tsx'), 'SpacePage'),
  }),
] as const;
