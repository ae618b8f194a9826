import { type BodyInputOf, type QueryInputOf, type ResultOf, runEndpoints } from '@troupe/protocol';
import { FollowedRun } from './followed-run.ts';
import { insist } from './insist.ts';
import { type ServeToolsOptions, type ToolHandler, ToolServer } from './serve-tools.ts';
import { Session } from './session.ts';
import { type StreamItem, type StreamOptions, streamEvents } from './stream.ts';
import type { RequestOptions, Transport } from './transport.ts';

const ENDS: readonly string[] = ['completed', 'failed', 'canceled'];

/** One run, such as a fork: to look at it, to compare it with another, to go on from it. */
export class Run {
  readonly id: string;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = id;
  }

  get #params(): { runId: string } {
    return { runId: this.id };
  }

  /** With its steps and calls. */
  get(options?: RequestOptions): Promise<ResultOf<typeof runEndpoints.get>> {
    return this.#transport.call(runEndpoints.get, { params: this.#params }, options);
  }

  /** Where its time went. */
  timeline(options?: RequestOptions): Promise<ResultOf<typeof runEndpoints.timeline>> {
    return this.#transport.call(runEndpoints.timeline, { params: this.#params }, options);
  }

  /** What the model was given at a step. */
  prompt(step: number, options?: RequestOptions): Promise<ResultOf<typeof runEndpoints.prompt>> {
    return this.#transport.call(runEndpoints.prompt, { params: { ...this.#params, step } }, options);
  }

  cancel(options?: RequestOptions): Promise<ResultOf<typeof runEndpoints.cancel>> {
    return this.#transport.call(runEndpoints.cancel, { params: this.#params }, options);
  }

  /** After its last step, with the agent as it is now; `modelId` for another model. */
  retry(
    body: BodyInputOf<typeof runEndpoints.retry> = {},
    options?: RequestOptions,
  ): Promise<ResultOf<typeof runEndpoints.retry>> {
    return this.#transport.call(runEndpoints.retry, { params: this.#params, body }, options);
  }

  /** Goes on from a step in a thread of its own, with other messages where `edits` say so. */
  async fork(body: BodyInputOf<typeof runEndpoints.fork>, options?: RequestOptions): Promise<Run> {
    const forked = await this.#transport.call(runEndpoints.fork, { params: this.#params, body }, options);
    return new Run(this.#transport, forked.id);
  }

  /** A session that begins with everything up to the end of this run. */
  async continue(
    body: BodyInputOf<typeof runEndpoints.continue> = {},
    options?: RequestOptions,
  ): Promise<Session> {
    const input = { params: this.#params, body };
    const { agentId, id } = await this.#transport.call(runEndpoints.continue, input, options);
    return new Session(this.#transport, agentId, id);
  }

  /**
   * Executes the calls of client tools of this run and of the tasks that follow from it, such as those of a network, until the run has ended or
   * `signal` is aborted: `troupe.run(id).serveTools({ pick_file: async (args) => … })`. Calls of tools that are not named here are
   * left to others.
   */
  async serveTools(handlers: Record<string, ToolHandler>, options: ServeToolsOptions = {}): Promise<void> {
    const hasEnded = async (signal?: AbortSignal) =>
      ENDS.includes((await this.get(signal ? { signal } : {})).status);
    if (await hasEnded(options.signal)) return;
    await new ToolServer(
      {
        transport: this.#transport,
        of: { runId: this.id },
        // From its beginning: there it is told which tasks it has given.
        stream: (more) => this.stream(more),
        run: {
          hasEnded,
          serveTask: async (runId, signal) => {
            const task = new Run(this.#transport, runId);
            await insist(() => task.serveTools(handlers, { signal }), signal);
          },
        },
      },
      handlers,
    ).serve(options);
  }

  /** Of its thread; with `of: 'run'` only what it was asked and what it said. */
  messages(query: QueryInputOf<typeof runEndpoints.messages> = {}, options?: RequestOptions) {
    return this.#transport.call(runEndpoints.messages, { params: this.#params, query }, options);
  }

  /** What happened in it, as a list. */
  events(query: QueryInputOf<typeof runEndpoints.events> = {}, options?: RequestOptions) {
    return this.#transport.call(runEndpoints.events, { params: this.#params, query }, options);
  }

  /** What happened in it and what happens. Resumes by itself, and goes on when the run has ended: it may be taken up again. */
  stream(options?: StreamOptions): AsyncGenerator<StreamItem> {
    return streamEvents(this.#transport, { endpoint: runEndpoints.events, params: this.#params }, options);
  }
  /** The run as it is, with its steps and calls, kept up to date from its stream until it is closed. */
  follow(options?: { signal?: AbortSignal }): FollowedRun {
    return new FollowedRun(this, options);
  }
}
