import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const auditRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/audit',
    component: lazyRouteComponent(() => import('./audit.tsx'), 'AuditPage'),
  }),
] as const;
