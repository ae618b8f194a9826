import type { BodyInputOf, Endpoint, ParamsInputOf, QueryInputOf, ResultOf } from '@troupe/protocol';
import { ApiError, ConnectionError, errorOf, TimeoutError } from './errors.ts';

export interface TroupeOptions {
  /** Default: http://localhost:4700 */
  baseUrl?: string;
  /** A secret key, or a public one together with `token`. `troupe dev` on this machine needs none. */
  key?: string;
  /** The token of the person who uses the program; a function is asked before every request. */
  token?: string | (() => string | Promise<string>);
  fetch?: typeof globalThis.fetch;
  /** How often a request that may be sent again is sent again. Default: 3. */
  retries?: number;
  /** For one try of one request; streams have none. Default: 30,000. */
  timeoutMs?: number;
}

export interface RequestOptions {
  signal?: AbortSignal;
  idempotencyKey?: string;
  timeoutMs?: number;
}

type Given<Name extends string, Value> = [Value] extends [undefined]
  ? { [key in Name]?: undefined }
  : Record<never, never> extends Value
    ? { [key in Name]?: Value }
    : { [key in Name]: Value };

/** What has to be said to an endpoint: its parameters, its query, its body, each where there is one. */
export type InputOf<E extends Endpoint> = Given<'params', ParamsInputOf<E>> &
  Given<'query', QueryInputOf<E>> &
  Given<'body', BodyInputOf<E>>;

const LONGEST_PAUSE_MS = 30_000;

/** Sends requests: keys, time limits, and sending again what may be sent again. */
export class Transport {
  readonly #baseUrl: string;
  readonly #options: TroupeOptions;

  constructor(options: TroupeOptions) {
    this.#options = options;
    this.#baseUrl = (options.baseUrl ?? 'http://localhost:4700').replace(/\/+$/, '');
  }

  async call<E extends Endpoint>(
    endpoint: E,
    input: InputOf<E>,
    options: RequestOptions = {},
  ): Promise<ResultOf<E>> {
    const response = await this.send(endpoint, input, options);
    if (endpoint.status === 204) return undefined as ResultOf<E>;
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return (isJson ? await response.json() : await response.text()) as ResultOf<E>;
  }

  /** The raw answer, of which it is certain that it is a success. */
  async send(
    endpoint: Endpoint,
    input: { params?: unknown; query?: unknown; body?: unknown },
    options: RequestOptions & { accept?: string; headers?: Record<string, string>; stream?: true } = {},
  ): Promise<Response> {
    // A POST carries a key from the first try on, so that sending it again cannot do it twice.
    const idempotencyKey =
      endpoint.method === 'POST' ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const retries = options.stream ? 0 : (this.#options.retries ?? 3);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(endpoint, input, {
          ...options,
          ...(idempotencyKey ? { idempotencyKey } : {}),
        });
      } catch (error) {
        if (attempt >= retries || options.signal?.aborted || !isWorthAnotherTry(error)) throw error;
        await pause(pauseBefore(attempt, error), options.signal);
      }
    }
  }

  async #once(
    endpoint: Endpoint,
    input: { params?: unknown; query?: unknown; body?: unknown },
    options: RequestOptions & { accept?: string; headers?: Record<string, string>; stream?: true },
  ): Promise<Response> {
    const limit = AbortSignal.timeout(options.timeoutMs ?? this.#options.timeoutMs ?? 30_000);
    const timed = options.stream ? [] : [limit];
    const signal = AbortSignal.any([...timed, ...(options.signal ? [options.signal] : [])]);
    const isText = typeof input.body === 'string';
    let response: Response;
    try {
      response = await (this.#options.fetch ?? fetch)(this.#urlOf(endpoint, input), {
        method: endpoint.method,
        headers: {
          ...(await this.#credentials()),
          accept: options.accept ?? 'application/json',
          ...(input.body === undefined ? {} : { 'content-type': isText ? 'text/plain' : 'application/json' }),
          ...(options.idempotencyKey ? { 'idempotency-key': options.idempotencyKey } : {}),
          ...options.headers,
        },
        ...(input.body === undefined
          ? {}
          : { body: isText ? (input.body as string) : JSON.stringify(input.body) }),
        signal,
      });
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (limit.aborted)
        throw new TimeoutError(`${endpoint.method} ${endpoint.path} was not answered in time.`);
      throw new ConnectionError(`The server at ${this.#baseUrl} cannot be reached.`, { cause: error });
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  #urlOf(endpoint: Endpoint, { params, query }: { params?: unknown; query?: unknown }): string {
    const named = (params ?? {}) as Record<string, unknown>;
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(named[name])),
    );
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
      if (value !== undefined && value !== null) search.set(name, String(value));
    }
    return `${this.#baseUrl}${path}${search.size > 0 ? `?${search}` : ''}`;
  }

  async #credentials(): Promise<Record<string, string>> {
    const { key, token } = this.#options;
    const person = typeof token === 'function' ? await token() : token;
    if (person) return { authorization: `Bearer ${person}`, ...(key ? { 'troupe-key': key } : {}) };
    return key ? { authorization: `Bearer ${key}` } : {};
  }
}

function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  return error instanceof ApiError && (error.status === 429 || error.status >= 500);
}

/** Longer with every try, never the same for two, and no less than what the server asks for. */
export function pauseBefore(attempt: number, error?: unknown): number {
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  const own = Math.min(200 * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
  return Math.min(Math.max(asked, own), LONGEST_PAUSE_MS);
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(done, ms);
    function done() {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted() {
      clearTimeout(timer);
      reject(signal!.reason);
    }
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
