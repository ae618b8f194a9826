import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../root.tsx';

export const modelsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/models',
    component: lazyRouteComponent(() => import('./models.tsx'), 'ModelsPage'),
  }),
] as const;
