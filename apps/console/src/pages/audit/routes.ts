import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';

export const auditRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/audit',
    validateSearch: (search: Record<string, unknown>) => given({ action: textIn(search, 'action') }),
    component: lazyRouteComponent(() => import('./audit.tsx'), 'AuditPage'),
  }),
] as const;
