import { Hono } from 'hono';
import type { Logger } from '../base/index.ts';
import { answerError, notFound } from './problem.ts';
import { type HealthOptions, healthRoutes } from './routes/health.ts';

export interface AppOptions {
  logger: Logger;
  health: HealthOptions;
}

export function createApp({ logger, health }: AppOptions): Hono {
  const app = new Hono();
  app.route('/', healthRoutes(health));
  app.notFound(notFound);
  app.onError((error, context) => answerError(error, context, logger));
  return app;
}
