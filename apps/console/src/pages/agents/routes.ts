import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { given, oneIn, textIn } from '../../data/search-values.ts';
import { rootRoute } from '../../root.tsx';
import { AGENT_TABS } from './words.ts';

export const agentsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        search: textIn(search, 'search'),
        tag: textIn(search, 'tag'),
        status: oneIn(search, 'status', ['archived'] as const),
        /** The dialog that is open. */
        new: oneIn(search, 'new', ['agent', 'import'] as const),
      }),
    component: lazyRouteComponent(() => import('./agents.tsx'), 'AgentsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents/$agentId',
    validateSearch: (search: Record<string, unknown>) =>
      given({
        tab: oneIn(search, 'tab', AGENT_TABS),
        /** Versions that are compared. */
        from: textIn(search, 'from'),
        to: textIn(search, 'to'),
        /** Whose memories and goals. */
        user: textIn(search, 'user'),
        search: textIn(search, 'search'),
      }),
    component: lazyRouteComponent(() => import('./agent.tsx'), 'AgentPage'),
  }),
] as const;
