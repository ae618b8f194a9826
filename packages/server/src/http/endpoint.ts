import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '@troupe/protocol';
import type { Context, Hono } from 'hono';
import { authorize, type Caller } from '../access/index.ts';
import { onlyOnce } from './idempotency.ts';
import { refuseOtherMethods } from './methods.ts';
import { bodyOf, bytesOf, paramsOf, queryOf, textOf } from './request.ts';
import type { Services } from './services.ts';

/** A request that was understood and is allowed. */
export interface Call<E extends Endpoint> {
  caller: Caller;
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  services: Services;
  /** For what is not JSON: headers, streams. */
  context: Context;
}

export type Handler<E extends Endpoint> = (
  call: Call<E>,
) => Promise<ResponseOf<E> | Response> | ResponseOf<E> | Response;

/** What is sent in the place of an answer, be it the first one or, for a request that is sent again, the one that was kept. */
export type Instead<E extends Endpoint> = (call: Call<E>, answer: Response) => Promise<Response>;

/** Makes routes from endpoints: parse, authorize, act, present. */
export class Endpoints {
  readonly #app: Hono;
  readonly #services: () => Services;
  readonly #served: Endpoint[] = [];

  constructor(app: Hono, services: () => Services) {
    this.#app = app;
    this.#services = services;
  }

  get served(): readonly Endpoint[] {
    return this.#served;
  }

  serve<E extends Endpoint>(endpoint: E, handler: Handler<E>, instead?: Instead<E>): void {
    this.#served.push(endpoint);
    this.#app.on(endpoint.method, toHonoPath(endpoint.path), async (context) => {
      context.set('route', endpoint.path);
      const services = this.#services();
      const caller = await services.access.authenticate(context.req.raw.headers);
      authorize(caller, endpoint);
      const bytes = await bytesOf(endpoint, context);
      const text = endpoint.bytes ? '' : textOf(bytes);
      const call = {
        caller,
        context,
        services,
        params: paramsOf(endpoint, context),
        query: queryOf(endpoint, context),
        body: bodyOf(endpoint, context, endpoint.bytes ? bytes : text),
      } as Call<E>;
      const answered = await onlyOnce(
        { endpoint, caller, context, text, db: services.db, encryption: services.access.encryption },
        async () => {
          const answer = await handler(call);
          if (answer instanceof Response) return answer;
          if (endpoint.status === 204) return context.body(null, 204);
          return context.json(answer as object, endpoint.status);
        },
      );
      return instead && answered.ok ? instead(call, answered) : answered;
    });
  }

  /** After all endpoints: a path that is served by another method says so. */
  refuseOtherMethods(): void {
    refuseOtherMethods(
      this.#app,
      this.#served.map(({ path, method }) => ({ path: toHonoPath(path), method })),
    );
  }
}

function toHonoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
