import { ApiError, newId, Troupe } from '@troupe/sdk';
import type { Random } from '../random.ts';
import type { Door, History, Made, Request } from './history.ts';

/** A client must get an answer within this time after the faults have ended; longer is a violation. */
const GIVE_UP_MS = 240_000;
const RESEND_MS = 300;

interface Given {
  door: Door;
  made: Made;
  label: string;
  thread?: string;
  policy?: string;
  size?: number;
}

/** What users of the SDK do: requests with an Idempotency-Key to any server of the fleet, sent again until there is an answer. */
export class Requester {
  readonly client: Troupe;
  readonly history: History;
  readonly random: Random;
  readonly #urls: string[];
  readonly #underWay = new Map<object, string>();
  #stopped = false;

  constructor(urls: string[], key: string, history: History, random: Random) {
    this.#urls = urls;
    this.history = history;
    this.random = random;
    this.client = new Troupe({
      baseUrl: urls[0]!,
      key,
      timeoutMs: 10_000,
      retries: 2,
      fetch: (input, init) => fetch(this.spread(String(input)), init),
    });
  }

  /** Requests without an answer yet, each with its last failure. */
  get underWay(): string[] {
    return [...this.#underWay.values()];
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** No new work; what is under way is brought to its end. */
  stop(): void {
    this.#stopped = true;
  }

  /** The same address at any of the servers, as a load balancer without health checks would choose. */
  spread(address: string): string {
    const url = new URL(address);
    url.host = new URL(this.random.pick(this.#urls)).host;
    return url.href;
  }

  /** Sends a request that makes something until there is an answer. Answers with the result, or null if it was refused. */
  async make<Result>(
    given: Given,
    send: (options: { idempotencyKey: string }) => Promise<Result>,
    read: (result: Result) => { id: string; runs?: string[] },
  ): Promise<Result | null> {
    const request: Request = {
      ...given,
      key: newId(),
      ids: [],
      outcome: null,
      code: null,
      tries: 0,
      failures: [],
      sentAt: Date.now(),
      settledAt: null,
    };
    this.history.requests.push(request);
    const result = await this.#settle(request, send, read);
    // Some clients lose the answer that they got and send the request once more.
    if (result !== null && this.random.chance(0.1)) await this.#settle(request, send, read);
    return result;
  }

  /** Sends a request that may be repeated freely until there is an answer; null if it was refused. */
  async insist<Result>(send: () => Promise<Result>): Promise<Result | null> {
    const began = Date.now();
    for (;;) {
      try {
        const result = await send();
        this.#underWay.delete(send);
        return result;
      } catch (error) {
        this.#underWay.set(send, `${send}: ${error}`);
        if (refusalOf(error) !== null || Date.now() - began > GIVE_UP_MS) {
          this.#underWay.delete(send);
          return null;
        }
        await pause(RESEND_MS);
      }
    }
  }

  async #settle<Result>(
    request: Request,
    send: (options: { idempotencyKey: string }) => Promise<Result>,
    read: (result: Result) => { id: string; runs?: string[] },
  ): Promise<Result | null> {
    const began = Date.now();
    for (;;) {
      request.tries++;
      this.#underWay.set(request, `${request.made} ${request.label}, try ${request.tries}`);
      const tried = Date.now();
      try {
        const result = await send({ idempotencyKey: request.key });
        const { id, runs } = read(result);
        request.ids.push(id);
        request.outcome = 'accepted';
        request.settledAt ??= Date.now();
        if (runs) request.runs ??= runs;
        return result;
      } catch (error) {
        const code = refusalOf(error);
        const kind = error instanceof ApiError ? error.code : String((error as Error).name);
        request.failures.push(`${kind} after ${Date.now() - tried} ms`);
        if (code !== null) {
          // A replay of an accepted request must not be refused; the checker sees both.
          request.code = code;
          request.outcome ??= 'refused';
          request.settledAt ??= Date.now();
          return null;
        }
        this.#underWay.set(request, `${request.made} ${request.label}, try ${request.tries}: ${error}`);
        if (Date.now() - began > GIVE_UP_MS) return null;
        await pause(RESEND_MS);
      } finally {
        if (request.settledAt !== null) this.#underWay.delete(request);
      }
    }
  }
}

/** A refusal inside of a successful answer. */
export class RefusedError extends Error {}

/** The code of an answer that sending again does not change; null if the outcome is unknown. */
export function refusalOf(error: unknown): string | null {
  if (error instanceof RefusedError) return error.message;
  if (!(error instanceof ApiError)) return null;
  if (error.status >= 500 || error.status === 429 || error.code === 'request_under_way') return null;
  return error.code;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
