import { Hono } from 'hono';
import { cors } from 'hono/cors';
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
  /** Pages of these origins may call `/v1` from a browser. */
  origins?: string[];
}

export function createApp({ logger, health, services, origins = [] }: AppOptions): Hono {
  const app = new Hono();
  app.use(everyAnswer, checkAddress);
  app.route('/', healthRoutes(health));
  if (origins.length > 0) {
    app.use(
      '/v1/*',
      cors({
        origin: origins,
        allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
        allowHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID', 'Troupe-Key'],
        exposeHeaders: ['Idempotency-Replayed', 'Retry-After', 'Troupe-Request-Id'],
        maxAge: 600,
      }),
    );
  }
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
