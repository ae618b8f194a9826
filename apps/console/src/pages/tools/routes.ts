import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { KINDS, MADE_KINDS } from './words.ts';

export const toolsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tools',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        tab: oneIn(search, 'tab', ['servers'] as const),
        kind: oneIn(search, 'kind', KINDS),
        search: textIn(search, 'search'),
      }),
    component: lazyRouteComponent(() => import('./tools.tsx'), 'ToolsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tools/new',
    validateSearch: (search: Record<string, unknown>) => given({ kind: oneIn(search, 'kind', MADE_KINDS) }),
    component: lazyRouteComponent(() => import('./new-tool.tsx'), 'NewToolPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/tools/$toolId',
    component: lazyRouteComponent(() => import('./tool.tsx'), 'ToolPage'),
  }),
] as const;
