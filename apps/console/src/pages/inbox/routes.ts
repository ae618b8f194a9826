import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { INBOX_KINDS } from './words.ts';

export const inboxRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/inbox',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        kind: oneIn(search, 'kind', INBOX_KINDS),
        /** The one that is looked at. */
        item: textIn(search, 'item'),
      }),
    component: lazyRouteComponent(() => import('./inbox.tsx'), 'InboxPage'),
  }),
] as const;
