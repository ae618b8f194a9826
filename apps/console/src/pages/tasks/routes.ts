import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const tasksRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tasks',
    component: lazyRouteComponent(() => import('./tasks.tsx'), 'TasksPage'),
  }),
] as const;
