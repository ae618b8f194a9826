import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const inboxRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/inbox',
    component: lazyRouteComponent(() => import('./inbox.tsx'), 'InboxPage'),
  }),
] as const;
