import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import { type Logger, messageOf } from '../base/index.ts';
import type { Telemetry } from '../kernel/index.ts';
import type { EndedRun } from '../store/index.ts';
import { traceId } from './ids.ts';
import { samplerOf } from './sampler.ts';
import { type Told, toSpan } from './span.ts';
import { modelTold, runTold, toolTold } from './told.ts';

export interface SpansOptions {
  serviceName: string;
  version: string;
  sampler: string;
  ratio: number;
  /** How long spans are gathered before they are sent. */
  delayMs: number;
  logger: Logger;
  /** Those of the runs that have ended. */
  read(runs: readonly string[]): Promise<EndedRun[]>;
}

/** Runs whose spans are still to be made. More are not told of: memory is bounded, whatever the database and the collector do. */
const MOST_PENDING = 5_000;
const READ_AFTER_MS = 200;
const MOST_PER_READ = 100;
/** One request of the exporter. It is tried again only within this. */
const EXPORT_MS = 10_000;

/**
 * Makes spans of what the kernel tells and sends them by OTLP over HTTP. The address, headers and so on are the standard variables, which the
 * exporter reads by itself. It keeps 2,048 spans at most; what does not fit is lost, and nobody waits for a collector.
 */
export class Spans implements Telemetry {
  readonly #options: SpansOptions;
  readonly #isSampled: (trace: string) => boolean;
  readonly #processor: BatchSpanProcessor;
  readonly #resource;
  readonly #scope;
  readonly #pending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: SpansOptions) {
    const { serviceName, version, sampler, ratio, delayMs } = options;
    this.#options = options;
    this.#isSampled = samplerOf(sampler, ratio);
    this.#resource = defaultResource().merge(
      resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    );
    this.#scope = { name: 'troupe', version };
    this.#processor = new BatchSpanProcessor({
      exporter: new OTLPTraceExporter({ timeoutMillis: EXPORT_MS }),
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: EXPORT_MS,
    });
  }

  modelCalled(...told: Parameters<Telemetry['modelCalled']>): void {
    this.#tell(() => modelTold(...told));
  }

  toolCalled(...told: Parameters<Telemetry['toolCalled']>): void {
    this.#tell(() => toolTold(...told));
  }

  ended(runs: readonly string[]): void {
    if (this.#closed || this.#pending.size + runs.length > MOST_PENDING) return;
    for (const run of runs) this.#pending.add(run);
    this.#timer ??= setTimeout(() => void this.#readSoon(), READ_AFTER_MS).unref();
  }

  /** What is to be told is sent, as far as there is time. */
  async close(withinMs: number): Promise<void> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref());
    const all = this.#readSoon().then(() => this.#processor.shutdown());
    await Promise.race([all.catch(() => {}), late]);
    this.#closed = true;
  }

  /** One read at a time. */
  #readSoon(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#reading = this.#reading.then(() => this.#read());
    return this.#reading;
  }

  async #read(): Promise<void> {
    while (this.#pending.size > 0) {
      const runs = [...this.#pending].slice(0, MOST_PER_READ);
      for (const run of runs) this.#pending.delete(run);
      try {
        for (const run of await this.#options.read(runs))
          if (this.#isSampled(traceId(run.rootRunId))) for (const told of runTold(run)) this.#send(told);
      } catch (error) {
        this.#options.logger.debug({ error: messageOf(error) }, 'spans of ended runs are lost');
      }
    }
  }

  #tell(make: () => Told): void {
    if (this.#closed) return;
    try {
      const told = make();
      if (this.#isSampled(told.trace)) this.#send(told);
    } catch (error) {
      this.#options.logger.debug({ error: messageOf(error) }, 'a span is lost');
    }
  }

  #send(told: Told): void {
    this.#processor.onEnd(toSpan(told, this.#resource, this.#scope));
  }
}
