import {
  type BatchItem,
  type Batch as BatchRow,
  type BodyInputOf,
  batchEndpoints,
  type QueryInputOf,
  type ResultOf,
} from '@troupe/protocol';
import { TimeoutError } from './errors.ts';
import { pause, type RequestOptions, type Transport } from './transport.ts';

export interface BatchWaitOptions {
  signal?: AbortSignal;
  /** For all of it; the batch goes on, whether somebody waits or not. Default: none. */
  timeoutMs?: number;
  /** Hears how far it has come whenever that changes. */
  onProgress?: (batch: BatchRow) => void;
}

const LOOK_MS = 250;
const LONGEST_LOOK_MS = 2_000;

/** A network over many inputs. */
export class Batch {
  readonly id: string;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = id;
  }

  get #params(): { batchId: string } {
    return { batchId: this.id };
  }

  /** How far it has come. */
  get(options?: RequestOptions): Promise<BatchRow> {
    return this.#transport.call(batchEndpoints.get, { params: this.#params }, options);
  }

  /** How far it has come, now and whenever that changes, until it has ended: `for await (const { counts } of batch.progress())`. */
  async *progress({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<BatchRow> {
    let last = '';
    for (let wait = LOOK_MS; ; wait = Math.min(wait * 1.5, LONGEST_LOOK_MS)) {
      const batch = await this.get(signal ? { signal } : {});
      const now = JSON.stringify([batch.status, batch.counts]);
      if (now !== last) yield batch;
      last = now;
      const { queued, running } = batch.counts;
      if (batch.status !== 'running' && queued + running === 0) return;
      await pause(wait, signal);
    }
  }

  /** Waits until every item has ended, well or not, or the batch was canceled. */
  async wait({ signal: given, timeoutMs, onProgress }: BatchWaitOptions = {}): Promise<BatchRow> {
    const limit = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
    const signals = [limit, given].filter((signal) => signal != null);
    let last: BatchRow | undefined;
    try {
      for await (const batch of this.progress({ signal: AbortSignal.any(signals) })) {
        onProgress?.(batch);
        last = batch;
      }
    } catch (error) {
      if (!limit?.aborted || given?.aborted) throw error;
      throw new TimeoutError(`The batch did not end within ${timeoutMs} ms. It goes on by itself.`);
    }
    return last!;
  }

  /** By row and iteration. */
  items(
    query: QueryInputOf<typeof batchEndpoints.items> = {},
    options?: RequestOptions,
  ): Promise<ResultOf<typeof batchEndpoints.items>> {
    return this.#transport.call(batchEndpoints.items, { params: this.#params, query }, options);
  }

  /** All of them, page after page. */
  async *all(
    query: Omit<QueryInputOf<typeof batchEndpoints.items>, 'cursor'> = {},
  ): AsyncGenerator<BatchItem> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: ResultOf<typeof batchEndpoints.items> = await this.items({
        limit: 200,
        ...query,
        ...(cursor ? { cursor } : {}),
      });
      yield* page.data;
      cursor = page.nextCursor;
    }
  }

  /** The results as the text of a file. */
  results(format: 'csv' | 'jsonl' = 'jsonl', options?: RequestOptions): Promise<string> {
    return this.#transport.call(batchEndpoints.results, { params: this.#params, query: { format } }, options);
  }

  cancel(options?: RequestOptions): Promise<BatchRow> {
    return this.#transport.call(batchEndpoints.cancel, { params: this.#params }, options);
  }

  /** Goes on with what was canceled; with `failed`, tries again what failed too. */
  resume(body: BodyInputOf<typeof batchEndpoints.resume> = {}, options?: RequestOptions): Promise<BatchRow> {
    return this.#transport.call(batchEndpoints.resume, { params: this.#params, body }, options);
  }

  /** Once it has ended; its runs stay. */
  async delete(options?: RequestOptions): Promise<void> {
    await this.#transport.call(batchEndpoints.remove, { params: this.#params }, options);
  }
}
