import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { type Logger, RetryableError } from '../base/index.ts';
import { Endpoints } from './endpoint.ts';
import { everyAnswer } from './every-answer.ts';
import { countRequest, named } from './meters.ts';
import { refuseOtherMethods } from './methods.ts';
import { answerError, notFound } from './problem.ts';
import { checkAddress } from './request.ts';
import { consoleRoutes } from './routes/console.ts';
import { type HealthOptions, healthRoutes } from './routes/health.ts';
import { routes } from './routes/index.ts';
import { metricsRoutes, type Observed } from './routes/metrics.ts';
import { referenceRoutes } from './routes/reference.ts';
import { WEBHOOKS, webhookRoutes } from './routes/webhooks.ts';
import type { Services } from './services.ts';

export interface AppOptions {
  logger: Logger;
  health: HealthOptions;
  services(): Services | null;
  /** Pages of these origins may call `/v1` from a browser. */
  origins?: string[];
  /** The folder of the built console; null where there is none. */
  console?: string | null;
}

/** What is served beside the endpoints. */
const PLAIN = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'];

export function createApp({ logger, health, services, origins = [], console = null }: AppOptions): Hono {
  const app = new Hono();
  app.use(countRequest, everyAnswer, checkAddress);
  for (const path of PLAIN) app.use(path, named(path));
  app.route('/', healthRoutes(health));
  app.route('/', metricsRoutes(services));
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
  const ready = () => {
    const opened = services();
    if (!opened)
      throw new RetryableError('starting', 'The server is still starting.', { retryAfterMs: 1_000 });
    return opened;
  };
  const endpoints = new Endpoints(app, ready);
  for (const add of routes) add(endpoints);
  endpoints.refuseOtherMethods();
  app.route(
    '/',
    referenceRoutes(() => endpoints.served, health.version),
  );
  for (const path of WEBHOOKS) app.use(path, named(path));
  app.route('/', webhookRoutes(ready));
  refuseOtherMethods(app, [
    ...PLAIN.map((path) => ({ path, method: 'GET' })),
    ...WEBHOOKS.map((path) => ({ path, method: 'POST' })),
  ]);
  app.route('/', consoleRoutes(console));
  app.notFound(notFound);
  app.onError((error, context) => answerError(error, context, logger));
  return app;
}

/** For a process that only works: health and metrics, nothing else. */
export function createWorkerApp({
  logger,
  health,
  observed,
}: {
  logger: Logger;
  health: HealthOptions;
  observed(): Observed | null;
}): Hono {
  const app = new Hono();
  app.use(countRequest, everyAnswer, checkAddress);
  const paths = ['/healthz', '/readyz', '/metrics'];
  for (const path of paths) app.use(path, named(path));
  app.route('/', healthRoutes(health));
  app.route('/', metricsRoutes(observed));
  refuseOtherMethods(
    app,
    paths.map((path) => ({ path, method: 'GET' })),
  );
  app.notFound(notFound);
  app.onError((error, context) => answerError(error, context, logger));
  return app;
}
