import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { DELIVERY_STATUSES } from './words.ts';

const deliveriesIn = (search: Record<string, unknown>) => ({
  status: oneIn(search, 'status', DELIVERY_STATUSES),
  document: textIn(search, 'document'),
  /** The one whose attempts are shown. */
  delivery: textIn(search, 'delivery'),
});

export const triggersRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/triggers',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        tab: oneIn(search, 'tab', ['deliveries'] as const),
        trigger: textIn(search, 'trigger'),
        ...deliveriesIn(search),
      }),
    component: lazyRouteComponent(() => import('./triggers.tsx'), 'TriggersPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/triggers/new',
    component: lazyRouteComponent(() => import('./new-trigger.tsx'), 'NewTriggerPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/triggers/$trigger',
    validateSearch: (search: Record<string, unknown>) =>
      given({ tab: oneIn(search, 'tab', ['deliveries'] as const), ...deliveriesIn(search) }),
    component: lazyRouteComponent(() => import('./trigger.tsx'), 'TriggerPage'),
  }),
] as const;
