import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { TASK_STATUSES, TASK_TYPES } from './words.ts';

export const tasksRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tasks',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        status: oneIn(search, 'status', TASK_STATUSES),
        type: oneIn(search, 'type', TASK_TYPES),
        chat: textIn(search, 'chat'),
      }),
    component: lazyRouteComponent(() => import('./tasks.tsx'), 'TasksPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tasks/$taskId',
    component: lazyRouteComponent(() => import('./task.tsx'), 'TaskPage'),
  }),
] as const;
