import { Hono } from 'hono';
import { type Logger, RetryableError } from '../base/index.ts';
import { Endpoints } from './endpoint.ts';
import { everyAnswer } from './every-answer.ts';
import { refuseOtherMethods } from './methods.ts';
import { answerError, notFound } from './problem.ts';
import { checkAddress } from './request.ts';
import { type HealthOptions, healthRoutes } from './routes/health.ts';
import { routes } from './routes/index.ts';
import { referenceRoutes } from './routes/reference.ts';
import type { Services } from './services.ts';

export interface AppOptions {
  logger: Logger;
  health: HealthOptions;
  services(): Services | null;
}

export function createApp({ logger, health, services }: AppOptions): Hono {
  const app = new Hono();
  app.use(everyAnswer, checkAddress);
  app.route('/', healthRoutes(health));
  const endpoints = new Endpoints(app, () => {
    const ready = services();
    if (!ready)
      throw new RetryableError('starting', 'The server is still starting.', { retryAfterMs: 1_000 });
    return ready;
  });
  for (const add of routes) add(endpoints);
  endpoints.refuseOtherMethods();
  app.route(
    '/',
    referenceRoutes(() => endpoints.served, health.version),
  );
  const plain = ['/healthz', '/readyz', '/openapi.json', '/docs'];
  refuseOtherMethods(
    app,
    plain.map((path) => ({ path, method: 'GET' })),
  );
  app.notFound(notFound);
  app.onError((error, context) => answerError(error, context, logger));
  return app;
}
