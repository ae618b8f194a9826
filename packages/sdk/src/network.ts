import {
  type BodyInputOf,
  batchEndpoints,
  type Invoked,
  type Json,
  networkEndpoints,
  type QueryInputOf,
  type ResultOf,
} from '@troupe/protocol';
import { Batch } from './batch.ts';
import { TimeoutError, TroupeClientError } from './errors.ts';
import { newId } from './ids.ts';
import { insist } from './insist.ts';
import { type InvocationItem, type StreamOptions, streamInvocation } from './stream.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** What is asked, or that with everything else that an invocation can have. */
export type Invocation = string | Omit<BodyInputOf<typeof networkEndpoints.invoke>, 'mode' | 'timeoutMs'>;

export interface InvokeOptions extends RequestOptions {
  /** Hears everything that the run's stream brings meanwhile. */
  onItem?: (item: InvocationItem) => void;
}

/** A run of a network that has responded; `Response` is what its contract describes. */
export type Responded<Response = Json> = Omit<Invoked, 'response'> & { response: Response };

const ENDS: readonly string[] = ['completed', 'failed', 'canceled'];
/** How long one request waits for the end of a run: shorter than what lies in between has patience. */
const WAIT_MS = 20_000;

/** The run of a network ended without a response. */
export class InvocationFailedError extends TroupeClientError {
  readonly invoked: Invoked;
  readonly code: string;

  constructor(invoked: Invoked) {
    super(invoked.error?.message ?? `The run was ${invoked.status}.`);
    this.invoked = invoked;
    this.code = invoked.error?.code ?? `run_${invoked.status}`;
  }
}

/** A network, by its id or its name: to run it, and to ask what it would do. */
export class Network {
  readonly ref: string;
  readonly #transport: Transport;

  constructor(transport: Transport, ref: string) {
    this.#transport = transport;
    this.ref = ref;
  }

  get #params(): { network: string } {
    return { network: this.ref };
  }

  get(options?: RequestOptions): Promise<ResultOf<typeof networkEndpoints.get>> {
    return this.#transport.call(networkEndpoints.get, { params: this.#params }, options);
  }

  /** Starts a run and does not wait for it. */
  invoke(invocation: Invocation, options?: RequestOptions): Promise<Invoked> {
    const body = { ...bodyOf(invocation), mode: 'background' as const };
    return this.#transport.call(networkEndpoints.invoke, { params: this.#params, body }, options);
  }

  /**
   * Starts a run and waits for its end. Throws `InvocationFailedError` where it ends without a response. `timeoutMs` is for all of it; the
   * run goes on, whether somebody waits or not. Default: 300,000. `Response` is what the network's contract describes.
   */
  async invokeAndWait<Response = Json>(
    invocation: Invocation,
    options: InvokeOptions = {},
  ): Promise<Responded<Response>> {
    const { onItem, ...rest } = options;
    let run: string | null = null;
    const follow = async (signal: AbortSignal) => {
      const { idempotencyKey } = rest;
      for await (const item of this.stream(invocation, {
        signal,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      })) {
        onItem?.(item);
        if (item.kind === 'event') run ??= item.event.runId ?? null;
        if (item.kind === 'invoked') return item.invoked;
      }
      throw new TroupeClientError('The stream ended before the run did.');
    };
    const ended = await within(rest, follow, () => run);
    return respondedIn<Response>(ended);
  }

  /**
   * Waits for the end of a run that was begun before, with `invoke` or by somebody else, and throws `InvocationFailedError` where it ends
   * without a response. `timeoutMs` is for all of it. Default: 300,000.
   */
  async wait<Response = Json>(
    runId: string,
    options: Omit<RequestOptions, 'idempotencyKey'> = {},
  ): Promise<Responded<Response>> {
    const params = { ...this.#params, runId };
    const query = { waitMs: WAIT_MS };
    const look = async (signal: AbortSignal) => {
      for (;;) {
        // The server may be away for a while; the run is still there afterwards.
        const ask = () =>
          this.#transport.call(
            networkEndpoints.run,
            { params, query },
            { signal, timeoutMs: WAIT_MS + 10_000 },
          );
        const invoked = await insist(ask, signal);
        if (ENDS.includes(invoked.status)) return invoked;
      }
    };
    const ended = await within(options, look, () => runId);
    return respondedIn<Response>(ended);
  }

  /**
   * Starts a run and brings what happens in it, what its models write included; the last item is `invoked`, with the result. A connection that
   * breaks is made again and goes on with the same run. Whoever leaves the loop does not stop the run.
   */
  stream<Response = Json>(
    invocation: Invocation,
    { idempotencyKey = newId(), ...options }: Omit<StreamOptions, 'types'> & { idempotencyKey?: string } = {},
  ): AsyncGenerator<InvocationItem<Response>> {
    const body = { ...bodyOf(invocation), mode: 'stream' as const };
    return streamInvocation(
      this.#transport,
      { endpoint: networkEndpoints.invoke, params: this.#params, body, idempotencyKey },
      options,
    ) as AsyncGenerator<InvocationItem<Response>>;
  }

  /** What the runtime would say to one decision of an agent. */
  check(
    body: BodyInputOf<typeof networkEndpoints.check>,
    options?: RequestOptions,
  ): Promise<ResultOf<typeof networkEndpoints.check>> {
    return this.#transport.call(networkEndpoints.check, { params: this.#params, body }, options);
  }

  /** What an agent would be told. */
  prompt(
    body: BodyInputOf<typeof networkEndpoints.prompt> = {},
    options?: RequestOptions,
  ): Promise<ResultOf<typeof networkEndpoints.prompt>> {
    return this.#transport.call(networkEndpoints.prompt, { params: this.#params, body }, options);
  }

  /** Newest first. */
  runs(query: QueryInputOf<typeof networkEndpoints.runs> = {}, options?: RequestOptions) {
    return this.#transport.call(networkEndpoints.runs, { params: this.#params, query }, options);
  }

  /** Runs it over many inputs: `rows`, or a file as `format` and `data`. */
  async batch(body: BodyInputOf<typeof batchEndpoints.create>, options?: RequestOptions): Promise<Batch> {
    const made = await this.#transport.call(batchEndpoints.create, { params: this.#params, body }, options);
    return new Batch(this.#transport, made.id);
  }

  /** Newest first. */
  batches(query: QueryInputOf<typeof batchEndpoints.list> = {}, options?: RequestOptions) {
    return this.#transport.call(batchEndpoints.list, { params: this.#params, query }, options);
  }
}

/** Within `timeoutMs` and until the caller's own signal. */
async function within<Result>(
  { timeoutMs = 300_000, signal: given }: RequestOptions,
  work: (signal: AbortSignal) => Promise<Result>,
  runOf: () => string | null,
): Promise<Result> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await work(given ? AbortSignal.any([limit, given]) : limit);
  } catch (error) {
    if (!limit.aborted || given?.aborted) throw error;
    const run = runOf();
    const which = run === null ? 'The run' : `The run ${run}`;
    throw new TimeoutError(`${which} did not end within ${timeoutMs} ms. It goes on by itself.`);
  }
}

function respondedIn<Response>(ended: Invoked): Responded<Response> {
  if (ended.status !== 'completed') throw new InvocationFailedError(ended);
  return ended as Responded<Response>;
}

function bodyOf(invocation: Invocation): Exclude<Invocation, string> {
  return typeof invocation === 'string' ? { input: invocation } : invocation;
}
