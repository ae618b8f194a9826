import type { Hono } from 'hono';
import { Refusal } from '../base/index.ts';

/**
 * After all routes: a path that is served by other methods says by which. HEAD is GET without the body. OPTIONS is answered
 * to whoever asks, since the methods are no secret, and allows pages of other origins nothing.
 */
export function refuseOtherMethods(app: Hono, served: readonly { path: string; method: string }[]): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of served) methods.set(path, [...(methods.get(path) ?? []), method]);
  // `/agents/import` before `/agents/:agentId`, which is also right for it.
  const byName = [...methods].toSorted(([one], [two]) => variables(one) - variables(two));
  for (const [path, given] of byName) {
    const allow = [...given, ...(given.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
    app.all(path, (context) => {
      context.header('allow', allow);
      if (context.req.method === 'OPTIONS') return context.body(null, 204);
      throw new Refusal(
        'method_not_allowed',
        'method_not_allowed',
        `${context.req.path} takes ${given.join(' and ')}, not ${context.req.method}.`,
      );
    });
  }
}

const variables = (path: string) => path.split(':').length;
