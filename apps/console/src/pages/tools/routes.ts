import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const toolsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tools',
    component: lazyRouteComponent(() => import('./tools.tsx'), 'ToolsPage'),
  }),
] as const;
