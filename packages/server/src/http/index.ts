/**
 * http: the way in from outside. Routes parse, authorize, act through the rooms below, and present; no SQL, no policy.
 * Imports: every room but jobs, models, tools and process; `hono`.
 * Start reading: app.ts (what is served), endpoint.ts (how a request is understood), problem.ts (how a failure is told), server.ts (listening and stopping).
 */
export { createApp, createWorkerApp } from './app.ts';
export type { Phase } from './routes/health.ts';
export type { Observed } from './routes/metrics.ts';
export { type HttpServer, listen } from './server.ts';
export type { Services } from './services.ts';
