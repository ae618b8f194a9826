import { z } from 'zod';
import type { Tag } from './endpoint-tags.ts';
import type { ProblemCode } from './errors.ts';

// An endpoint as data. The server's routes, the SDK, the OpenAPI document and the tests that visit every route are all
// made from these, so that none of them can say something else than the others.

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a key must be allowed. `admin` covers keys, secrets and the audit log; a secret key without scopes may do everything. */
export const scope = z.enum([
  'agents:read',
  'agents:write',
  'sessions:read',
  'sessions:write',
  'runs:read',
  'runs:write',
  'spaces:read',
  'spaces:write',
  'networks:read',
  'networks:write',
  'networks:run',
  'models:read',
  'models:write',
  'triggers:read',
  'triggers:write',
  'admin',
]);
export type Scope = z.infer<typeof scope>;

/** A kind of frame that a stream sends. */
export interface FrameKind {
  /** In the list of schemas. */
  name: string;
  /** What stands after `event:`. */
  event: string;
  description: string;
  schema: z.ZodType;
}

export interface Endpoint {
  method: Method;
  /** `/v1/agents/{agentId}`; every name in braces is a field of `params`. */
  path: string;
  tag: Tag;
  summary: string;
  description?: string;
  /** Null: whoever has a key at all. */
  scope: Scope | null;
  /** A person with a public key and a token of their own may call it too, within what belongs to them. */
  user?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Where the body is not JSON. */
  bodyTypes?: string[];
  /** Where it may be JSON all the same: what that has to be. For readers of the reference; the handler parses the text. */
  bodyAsJson?: z.ZodType;
  /** The body is taken as it is, to the byte. */
  bytes?: true;
  /** Where it may be larger than a megabyte. */
  bodyBytes?: number;
  /** The answer holds what must not be kept: a repeat with the same Idempotency-Key is refused, not answered again. */
  shownOnce?: true;
  status: 200 | 201 | 202 | 204;
  response?: z.ZodType;
  /** Where the answer is a file: what it may come as. */
  responseTypes?: readonly string[];
  /** Where it is answered as server-sent events too: what these are. */
  frames?: readonly FrameKind[];
  /** Codes of problems that other endpoints do not return. */
  problems?: readonly ProblemCode[];
}

export function endpoint<const Described extends Endpoint>(described: Described): Described {
  return described;
}

export type ParamsOf<E extends Endpoint> = E['params'] extends z.ZodType ? z.output<E['params']> : undefined;
export type QueryOf<E extends Endpoint> = E['query'] extends z.ZodType ? z.output<E['query']> : undefined;
export type BodyOf<E extends Endpoint> = E['body'] extends z.ZodType ? z.output<E['body']> : undefined;
export type ResponseOf<E extends Endpoint> = E['response'] extends z.ZodType
  ? z.input<E['response']>
  : undefined;

// What a client gives and gets: before defaults are filled in, and after.
export type ParamsInputOf<E extends Endpoint> = E['params'] extends z.ZodType
  ? z.input<E['params']>
  : undefined;
export type QueryInputOf<E extends Endpoint> = E['query'] extends z.ZodType ? z.input<E['query']> : undefined;
export type BodyInputOf<E extends Endpoint> = E['body'] extends z.ZodType ? z.input<E['body']> : undefined;
export type ResultOf<E extends Endpoint> = E['response'] extends z.ZodType
  ? z.output<E['response']>
  : E['responseTypes'] extends readonly string[]
    ? string
    : undefined;
