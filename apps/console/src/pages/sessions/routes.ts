import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { SESSION_PANELS, SESSION_STATUSES } from './words.ts';

export const sessionsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sessions',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        agent: textIn(search, 'agent'),
        status: oneIn(search, 'status', SESSION_STATUSES),
        search: textIn(search, 'search'),
        tag: textIn(search, 'tag'),
        /** The dialog that opens one is open; with the agent, where one came from there. */
        new: textIn(search, 'new'),
      }),
    component: lazyRouteComponent(() => import('./sessions.tsx'), 'SessionsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sessions/$agentId/$sessionId',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        panel: oneIn(search, 'panel', SESSION_PANELS),
        events: textIn(search, 'events'),
        file: textIn(search, 'file'),
      }),
    component: lazyRouteComponent(() => import('./session.tsx'), 'SessionPage'),
  }),
] as const;
