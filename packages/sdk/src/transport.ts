import type { BodyInputOf, Endpoint, ParamsInputOf, QueryInputOf, ResultOf } from '@troupe/protocol';
import {
  ApiError,
  ConnectionError,
  CredentialsError,
  errorOf,
  NotFoundError,
  TimeoutError,
  TroupeClientError,
} from './errors.ts';
import { newId } from './ids.ts';

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

/** Whoever is asked to wait longer than this is told so instead. */
const LONGEST_PAUSE_MS = 30_000;
/** The longest pause while a server cannot be reached, for so many tries: about half a minute. */
const MAX_RESTART_PAUSE_MS = 2_000;
const RESTART_TRIES = 20;
/** Longer than the longest request with a key takes, which is 50 seconds. */
const LONGEST_UNDER_WAY_MS = 75_000;
/** Between two looks whether it still is. */
const UNDER_WAY_PAUSE_MS = 5_000;

type Input = { params?: unknown; query?: unknown; body?: unknown };
type Sending = RequestOptions & { accept?: string; headers?: Record<string, string>; stream?: true };

/** Sends requests: keys, time limits, and sending again what may be sent again. */
export class Transport {
  readonly #baseUrl: string;
  readonly #options: TroupeOptions;

  constructor(options: TroupeOptions) {
    this.#options = options;
    this.#baseUrl = (options.baseUrl ?? 'http://localhost:4700').replace(/\/+$/, '');
    // In a page, `/troupe` is an address too.
    const { location } = globalThis as { location?: { href: string } };
    if (!URL.canParse(`${this.#baseUrl}/`, location?.href))
      throw new TroupeClientError(
        `"${options.baseUrl}" is no address of a server, such as http://localhost:4700.`,
      );
  }

  get baseUrl(): string {
    return this.#baseUrl;
  }

  /** The answer as the contract describes it. */
  async call<E extends Endpoint>(
    endpoint: E,
    input: InputOf<E>,
    options: RequestOptions = {},
  ): Promise<ResultOf<E>> {
    let mayBeDone = false;
    return this.#again(endpoint, options, async (sending) => {
      try {
        const { text, isJson } = await this.#once(endpoint, input, sending, textOf);
        if (endpoint.status === 204) return undefined as ResultOf<E>;
        // A file is text, also where the file is JSON.
        if (!endpoint.response) return text as ResultOf<E>;
        return (isJson ? JSON.parse(text) : nothingOfOurs(this.#baseUrl)) as ResultOf<E>;
      } catch (error) {
        // Sent again because the answer was lost, a deletion finds nothing to delete: it was done.
        if (endpoint.method === 'DELETE' && mayBeDone && error instanceof NotFoundError)
          return undefined as ResultOf<E>;
        mayBeDone ||= isWorthAnotherTry(error);
        throw error;
      }
    });
  }

  /** The raw answer, of which it is certain that it is a success; its body is still to be read. Not sent again. */
  send(endpoint: Endpoint, input: Input, options: Sending): Promise<Response> {
    return this.#once(endpoint, input, options, async (response) => response);
  }

  async #again<Result>(
    endpoint: Endpoint,
    options: RequestOptions,
    send: (sending: Sending) => Promise<Result>,
  ): Promise<Result> {
    // A POST carries a key from the first try on, so that sending it again cannot do it twice.
    const idempotencyKey = endpoint.method === 'POST' ? (options.idempotencyKey ?? newId()) : undefined;
    const sending = { ...options, ...(idempotencyKey ? { idempotencyKey } : {}) };
    const retries = this.#options.retries ?? 3;
    let underWaySince: number | null = null;
    let looks = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        return await send(sending);
      } catch (error) {
        if (isUnderWay(error) && retries > 0) {
          // No failure, so none of the tries: our own first one is being carried out, or was and left its key behind.
          attempt--;
          underWaySince ??= performance.now();
          const wait = Math.max(error.retryAfterMs ?? 0, Math.min(pauseBefore(looks++), UNDER_WAY_PAUSE_MS));
          if (options.signal?.aborted || performance.now() - underWaySince + wait > LONGEST_UNDER_WAY_MS)
            throw error;
          await pause(wait, options.signal);
          continue;
        }
        if (attempt >= retries || options.signal?.aborted || !isWorthAnotherTry(error)) throw error;
        await pause(pauseBefore(attempt, error), options.signal);
      }
    }
  }

  async #once<Result>(
    endpoint: Endpoint,
    input: Input,
    options: Sending,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const headers = await this.#headersOf(input, options);
    options.signal?.throwIfAborted();
    const limit = options.stream
      ? null
      : AbortSignal.timeout(options.timeoutMs ?? this.#options.timeoutMs ?? 30_000);
    const signals = [limit, options.signal].filter((signal) => signal != null);
    try {
      const response = await (this.#options.fetch ?? fetch)(this.#urlOf(endpoint, input), {
        method: endpoint.method,
        headers,
        ...(input.body === undefined
          ? {}
          : { body: isAsItIs(input.body) ? input.body : JSON.stringify(input.body) }),
        signal: AbortSignal.any(signals),
      });
      if (!response.ok) throw await errorOf(response);
      return await read(response);
    } catch (error) {
      if (error instanceof TroupeClientError) throw error;
      if (options.signal?.aborted) throw options.signal.reason;
      if (limit?.aborted)
        throw new TimeoutError(`${endpoint.method} ${endpoint.path} was not answered in time.`);
      throw new ConnectionError(`The server at ${this.#baseUrl} cannot be reached.`, { cause: error });
    }
  }

  async #headersOf({ body }: Input, options: Sending): Promise<Record<string, string>> {
    const type =
      body instanceof Uint8Array
        ? 'application/octet-stream'
        : typeof body === 'string'
          ? 'text/plain'
          : 'application/json';
    return {
      ...(await this.#credentials()),
      accept: options.accept ?? 'application/json',
      ...(body === undefined ? {} : { 'content-type': type }),
      ...(options.idempotencyKey ? { 'idempotency-key': options.idempotencyKey } : {}),
      ...options.headers,
    };
  }

  #urlOf(endpoint: Endpoint, { params, query }: Input): string {
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
    const person = typeof token === 'function' ? await asked(token) : token;
    if (person) return { authorization: `Bearer ${person}`, ...(key ? { 'troupe-key': key } : {}) };
    return key ? { authorization: `Bearer ${key}` } : {};
  }
}

function isAsItIs(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array;
}

async function asked(token: () => string | Promise<string>): Promise<string> {
  try {
    return await token();
  } catch (error) {
    throw new CredentialsError('The token of the person could not be had.', { cause: error });
  }
}

async function textOf(response: Response): Promise<{ text: string; isJson: boolean }> {
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { text: await response.text(), isJson };
}

function nothingOfOurs(baseUrl: string): never {
  throw new TroupeClientError(`What answers at ${baseUrl} is not Troupe.`);
}

function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (!(error instanceof ApiError) || (error.retryAfterMs ?? 0) > LONGEST_PAUSE_MS) return false;
  return error.status === 429 || error.status >= 500;
}

function isUnderWay(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'request_under_way';
}

/** Longer with every try, never the same for two, and no less than what the server asks for. */
export function pauseBefore(attempt: number, error?: unknown): number {
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  // A server that is started again must not wait for its clients as long as they waited for it.
  const isRestart = error instanceof ConnectionError && attempt < RESTART_TRIES;
  const most = isRestart ? MAX_RESTART_PAUSE_MS : LONGEST_PAUSE_MS;
  const own = Math.min(200 * 2 ** attempt, most) * (0.5 + Math.random() / 2);
  return Math.max(asked, own);
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
