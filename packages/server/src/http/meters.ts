import type { MiddlewareHandler } from 'hono';
import { Counter, Histogram } from '../base/index.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** The path of the contract that the request was for; absent where it was for none. */
    route: string;
  }
}

const requests = new Counter('troupe_http_requests_total', 'Requests, by route and status.', [
  'method',
  'route',
  'status',
]);
const seconds = new Histogram(
  'troupe_http_request_seconds',
  'How long requests took until the answer began; a stream of events goes on after that.',
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ['method', 'route'],
);

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Says which route a request is for, where no endpoint does. */
export function named(route: string): MiddlewareHandler {
  return (context, next) => {
    context.set('route', route);
    return next();
  };
}

/** Counts the request under the route that took it. Addresses that nobody serves are one route: there is no end of them. */
export const countRequest: MiddlewareHandler = async (context, next) => {
  const began = performance.now();
  await next();
  const route = context.get('route') ?? 'none';
  const { method } = context.req;
  const known = METHODS.has(method) ? method : 'other';
  requests.add(1, known, route, String(context.res.status));
  seconds.observe((performance.now() - began) / 1_000, known, route);
};
