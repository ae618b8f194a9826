import { createRootRoute } from '@tanstack/react-router';
import { Failure } from './blocks/states.tsx';
import { Shell } from './shell/shell.tsx';

/** The route above all others. Pages add theirs below it, in `pages/<noun>/routes.ts`. */
export const rootRoute = createRootRoute({
  component: Shell,
  errorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  notFoundComponent: () => (
    <Failure error={new Error('There is no such page. The menu has all that there are.')} />
  ),
});
