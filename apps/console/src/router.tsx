import { createRouter } from '@tanstack/react-router';
import { Failure } from './blocks/states.tsx';
import { agentsRoutes } from './pages/agents/routes.ts';
import { auditRoutes } from './pages/audit/routes.ts';
import { homeRoutes } from './pages/home/routes.ts';
import { inboxRoutes } from './pages/inbox/routes.ts';
import { keysRoutes } from './pages/keys/routes.ts';
import { modelsRoutes } from './pages/models/routes.ts';
import { networksRoutes } from './pages/networks/routes.ts';
import { plansRoutes } from './pages/plans/routes.ts';
import { runsRoutes } from './pages/runs/routes.ts';
import { sessionsRoutes } from './pages/sessions/routes.ts';
import { settingsRoutes } from './pages/settings/routes.ts';
import { spacesRoutes } from './pages/spaces/routes.ts';
import { tasksRoutes } from './pages/tasks/routes.ts';
import { toolsRoutes } from './pages/tools/routes.ts';
import { triggersRoutes } from './pages/triggers/routes.ts';
import { usageRoutes } from './pages/usage/routes.ts';
import { workersRoutes } from './pages/workers/routes.ts';
import { rootRoute } from './root.tsx';

const routeTree = rootRoute.addChildren([
  ...homeRoutes,
  ...inboxRoutes,
  ...sessionsRoutes,
  ...spacesRoutes,
  ...networksRoutes,
  ...runsRoutes,
  ...tasksRoutes,
  ...agentsRoutes,
  ...toolsRoutes,
  ...triggersRoutes,
  ...plansRoutes,
  ...workersRoutes,
  ...usageRoutes,
  ...modelsRoutes,
  ...keysRoutes,
  ...auditRoutes,
  ...settingsRoutes,
]);

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: false,
  // What a page's address cannot mean is taken out of it; else it would be given to the page beside what it means.
  search: { strict: true },
  // In the place of the page, so that the menu stays.
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
