import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '@troupe/protocol';
import type { Context, Hono } from 'hono';
import type { ZodError, ZodType } from 'zod';
import { authorize, type Caller } from '../access/index.ts';
import { notFound, Refusal } from '../base/index.ts';
import { onlyOnce } from './idempotency.ts';
import type { Services } from './services.ts';

const BODY_BYTES = 1_048_576;

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

  serve<E extends Endpoint>(endpoint: E, handler: Handler<E>): void {
    this.#served.push(endpoint);
    this.#app.on(endpoint.method, toHonoPath(endpoint.path), async (context) => {
      const services = this.#services();
      const caller = await services.access.authenticate(context.req.raw.headers);
      authorize(caller, endpoint);
      const text = await textOf(context, endpoint.bodyBytes ?? BODY_BYTES);
      const call = {
        caller,
        context,
        services,
        params: endpoint.params && paramsOf(endpoint.params, context.req.param()),
        query: queryOf(endpoint, context),
        body: bodyOf(endpoint, context, text),
      } as Call<E>;
      return onlyOnce({ endpoint, caller, context, text, db: services.db }, async () => {
        const answer = await handler(call);
        if (answer instanceof Response) return answer;
        if (endpoint.status === 204) return context.body(null, 204);
        return context.json(answer as object, endpoint.status);
      });
    });
  }

  /** After all endpoints: a path that is served by another method says so. */
  refuseOtherMethods(): void {
    const methods = new Map<string, string[]>();
    for (const { path, method } of this.#served) {
      const known = toHonoPath(path);
      methods.set(known, [...(methods.get(known) ?? []), method]);
    }
    for (const [path, allowed] of methods) {
      this.#app.all(path, (context) => {
        context.header('allow', allowed.join(', '));
        throw new Refusal(
          'method_not_allowed',
          'method_not_allowed',
          `${context.req.path} takes ${allowed.join(' and ')}, not ${context.req.method}.`,
        );
      });
    }
  }
}

function toHonoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** What cannot be an id is no id of anything. */
function paramsOf(schema: ZodType, params: Record<string, string>): unknown {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw notFound('thing under this address');
  return parsed.data;
}

function queryOf(endpoint: Endpoint, context: Context): unknown {
  const given = context.req.queries();
  const several = Object.entries(given).find(([, values]) => values.length > 1);
  if (several) throw invalid([{ path: several[0], message: 'is given more than once' }]);
  const query = context.req.query();
  if (!endpoint.query) {
    const [unknown] = Object.keys(query);
    if (unknown !== undefined) throw invalid([{ path: unknown, message: 'is not known here' }]);
    return undefined;
  }
  return parse(endpoint.query, query);
}

function bodyOf(endpoint: Endpoint, context: Context, text: string): unknown {
  if (!endpoint.body) {
    if (text.trim() !== '' && text.trim() !== '{}')
      throw invalid([{ path: '', message: 'there is no body here' }]);
    return undefined;
  }
  const type = (context.req.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  const types = endpoint.bodyTypes ?? ['application/json'];
  if (!types.includes(type)) {
    throw new Refusal(
      'unsupported',
      'unsupported_media_type',
      `The content type must be ${types.join(' or ')}.`,
    );
  }
  if (endpoint.bodyTypes) return parse(endpoint.body, text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal('malformed', 'malformed_json', 'The body is no JSON.');
  }
  return parse(endpoint.body, value);
}

/** Reads no more than it may, whatever the length was said to be. */
async function textOf(context: Context, most: number): Promise<string> {
  const tooLarge = () => new Refusal('too_large', 'body_too_large', `The body is larger than ${most} bytes.`);
  if (Number(context.req.header('content-length') ?? 0) > most) throw tooLarge();
  const stream = context.req.raw.body;
  if (!stream) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > most) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new Refusal('malformed', 'malformed_json', 'The body is not UTF-8.');
  }
}

function parse(schema: ZodType, value: unknown): unknown {
  try {
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw invalid(issuesOf(parsed.error));
    return parsed.data;
  } catch (error) {
    // The stack ran out: JSON in JSON in JSON.
    if (error instanceof RangeError) throw invalid([{ path: '', message: 'it is nested too deeply' }]);
    throw error;
  }
}

function issuesOf(error: ZodError): { path: string; message: string }[] {
  return error.issues.slice(0, 50).map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
}

function invalid(issues: { path: string; message: string }[]): Refusal {
  const [first] = issues;
  const where = first?.path ? `"${first.path}" ` : '';
  return new Refusal('invalid', 'invalid_request', `The request is not valid: ${where}${first?.message}.`, {
    issues,
  });
}
