import {
  type BodyInputOf,
  batchEndpoints,
  type Invoked,
  networkEndpoints,
  type QueryInputOf,
  type ResultOf,
} from '@troupe/protocol';
import { Batch } from './batch.ts';
import { TimeoutError, TroupeClientError } from './errors.ts';
import { newId } from './ids.ts';
import { type InvocationItem, type StreamOptions, streamInvocation } from './stream.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** What is asked, or that with everything else that an invocation can have. */
export type Invocation = string | Omit<BodyInputOf<typeof networkEndpoints.invoke>, 'mode' | 'timeoutMs'>;

export interface InvokeOptions extends RequestOptions {
  /** Hears everything that the run's stream brings meanwhile. */
  onItem?: (item: InvocationItem) => void;
}

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
   * run goes on, whether somebody waits or not. Default: 300,000.
   */
  async invokeAndWait(invocation: Invocation, options: InvokeOptions = {}): Promise<Invoked> {
    const { timeoutMs = 300_000, onItem, signal: given, ...rest } = options;
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = given ? AbortSignal.any([limit, given]) : limit;
    let run: string | null = null;
    try {
      for await (const item of this.stream(invocation, { ...rest, signal })) {
        onItem?.(item);
        if (item.kind === 'event') run ??= item.event.runId ?? null;
        if (item.kind !== 'invoked') continue;
        if (item.invoked.status !== 'completed') throw new InvocationFailedError(item.invoked);
        return item.invoked;
      }
    } catch (error) {
      if (!limit.aborted || given?.aborted || error instanceof InvocationFailedError) throw error;
      const which = run === null ? 'The run' : `The run ${run}`;
      throw new TimeoutError(`${which} did not end within ${timeoutMs} ms. It goes on by itself.`);
    }
    throw new TroupeClientError('The stream ended before the run did.');
  }

  /**
   * Starts a run and brings what happens in it, what its models write included; the last item is `invoked`, with the result. A connection that
   * breaks is made again and goes on with the same run. Whoever leaves the loop does not stop the run.
   */
  stream(
    invocation: Invocation,
    { idempotencyKey = newId(), ...options }: Omit<StreamOptions, 'types'> & { idempotencyKey?: string } = {},
  ): AsyncGenerator<InvocationItem> {
    const body = { ...bodyOf(invocation), mode: 'stream' as const };
    return streamInvocation(
      this.#transport,
      { endpoint: networkEndpoints.invoke, params: this.#params, body, idempotencyKey },
      options,
    );
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

function bodyOf(invocation: Invocation): Exclude<Invocation, string> {
  return typeof invocation === 'string' ? { input: invocation } : invocation;
}
