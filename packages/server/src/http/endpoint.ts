import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '@troupe/protocol';
import type { Context, Hono } from 'hono';
import { authorize, type Caller } from '../access/index.ts';
import { Refusal } from '../base/index.ts';
import type { Effect } from '../store/index.ts';
import { type Carrying, onlyOnce } from './idempotency.ts';
import { refuseOtherMethods } from './methods.ts';
import { bodyOf, bytesOf, paramsOf, queryOf, textOf } from './request.ts';
import { repeatOf } from './repeats.ts';
import type { Services } from './services.ts';

/** A request that was understood and is allowed. */
export interface Call<E extends Endpoint> {
  caller: Caller;
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  services: Services;
  /** For what the request creates: the same in every attempt with the same Idempotency-Key. */
  id: string;
  /** For what is not JSON: headers, streams. */
  context: Context;
}

export type Handler<E extends Endpoint> = (
  call: Call<E>,
) => Promise<ResponseOf<E> | Response> | ResponseOf<E> | Response;

type Answered<E extends Endpoint> = ResponseOf<E> | Response;

export interface Serving<E extends Endpoint> {
  /** Sent in place of the answer, the first one or the one that was kept for a repeat. */
  instead?: (call: Call<E>, answer: Response) => Promise<Response>;
  /**
   * The answer to a repeat whose earlier attempt had its effect. `target` is what that changed or created: as it was recorded with the key, or
   * `call.id`. Null, or a refusal because it is not there: the request is to be carried out.
   */
  again?: (call: Call<E>, effect: Effect & { target: string }) => Promise<Answered<E> | null>;
}

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

  serve<E extends Endpoint>(endpoint: E, handler: Handler<E>, serving: Serving<E> = {}): void {
    const { instead } = serving;
    if (repeatOf(endpoint) === 'recorded' && !serving.again)
      throw new Error(
        `POST ${endpoint.path} records its effect and cannot answer a repeat: \`again\` is missing`,
      );
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
      } as Omit<Call<E>, 'id'>;
      const { db, access, kernel } = services;
      const { encryption } = access;
      const { incarnation } = kernel;
      const answered = await onlyOnce(
        { endpoint, caller, context, text, db, encryption, incarnation },
        async (carrying) => {
          const { id, request } = carrying;
          const full: Call<E> = { ...call, id, caller: request ? { ...caller, request } : caller };
          const answer = await carriedOut(endpoint, full, handler, { ...carrying, ...serving });
          if (answer instanceof Response) return answer;
          if (endpoint.status === 204) return context.body(null, 204);
          return context.json(answer as object, endpoint.status);
        },
      );
      return instead && answered.ok ? instead(call as Call<E>, answered) : answered;
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

/** Unless an earlier attempt did: then what that had as its effect is the answer. */
async function carriedOut<E extends Endpoint>(
  endpoint: E,
  call: Call<E>,
  handler: Handler<E>,
  { isRepeat, effect, again }: Carrying & Serving<E>,
): Promise<Answered<E>> {
  if (!isRepeat || !again) return handler(call);
  if (effect) return (await again(call, { ...effect, target: effect.target ?? call.id }))!;
  // What is recorded with the key and was not found there has had no effect.
  if (repeatOf(endpoint) === 'recorded') return handler(call);
  const find = async () => {
    try {
      return await again(call, { target: call.id });
    } catch (error) {
      if (error instanceof Refusal && error.kind === 'not_found') return null;
      throw error;
    }
  };
  const found = await find();
  if (found !== null) return found;
  try {
    return await handler(call);
  } catch (error) {
    // The statement of a process that was thought dead may have come first.
    const late = await find().catch(() => null);
    if (late === null) throw error;
    return late;
  }
}

function toHonoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
