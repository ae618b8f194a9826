import {
  type BodyInputOf,
  type Event,
  findingEndpoints,
  type Message,
  type PostedMessage,
  type QueryInputOf,
  type Session as SessionRow,
  sessionEndpoints,
  type Task,
  taskEndpoints,
  todoEndpoints,
} from '@troupe/protocol';
import { TimeoutError, TroupeClientError } from './errors.ts';
import { FollowedSession, type FollowSessionOptions } from './followed-session.ts';
import { newId } from './ids.ts';
import { type ServeToolsOptions, type ToolHandler, ToolServer } from './serve-tools.ts';
import { SessionFiles } from './session-files.ts';
import { type StreamItem, type StreamOptions, streamEvents } from './stream.ts';
import { type TaskQuery, tasksOf, watchTasks } from './tasks.ts';
import type { RequestOptions, Transport } from './transport.ts';

type NewMessage = BodyInputOf<typeof sessionEndpoints.postMessage>;

/** How a turn went: what was said in answer, by one run. */
export interface Turn<Output = unknown> {
  posted: PostedMessage;
  status: 'completed' | 'failed' | 'canceled';
  /** The text of the last thing that the agent said; empty where it said nothing. */
  text: string;
  /** The answer as a value, where the agent has a schema for its answers: it fits the schema. */
  output?: Output;
  messages: Message[];
}

/** The run ended without an answer. */
export class TurnFailedError extends TroupeClientError {
  readonly turn: Turn;
  readonly code: string;

  constructor(turn: Turn, end: Event) {
    const { code, message } = end.data as { code?: string; message?: string };
    super(message ?? `The run was ${turn.status}.`);
    this.turn = turn;
    this.code = code ?? `run_${turn.status}`;
  }
}

const ENDS: Record<string, Turn['status']> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.canceled': 'canceled',
  // Another run took it over, and says what is to be said.
  'run.absorbed': 'canceled',
};

export interface WaitOptions extends RequestOptions {
  onItem?: (item: StreamItem, posted: PostedMessage) => void;
}

const PAGE = 1_000;

/** One conversation. */
export class Session {
  readonly id: string;
  readonly agentId: string;
  readonly files: SessionFiles;
  readonly #transport: Transport;

  constructor(transport: Transport, agentId: string, id: string) {
    this.#transport = transport;
    this.agentId = agentId;
    this.id = id;
    this.files = new SessionFiles(transport, { agentId, sessionId: id });
  }

  get #params(): { agentId: string; sessionId: string } {
    return { agentId: this.agentId, sessionId: this.id };
  }

  get(options?: RequestOptions): Promise<SessionRow> {
    return this.#transport.call(sessionEndpoints.get, { params: this.#params }, options);
  }

  update(body: BodyInputOf<typeof sessionEndpoints.update>, options?: RequestOptions): Promise<SessionRow> {
    return this.#transport.call(sessionEndpoints.update, { params: this.#params, body }, options);
  }

  async delete(options?: RequestOptions): Promise<void> {
    await this.#transport.call(sessionEndpoints.remove, { params: this.#params }, options);
  }

  cancel(options?: RequestOptions): Promise<SessionRow> {
    return this.#transport.call(sessionEndpoints.cancel, { params: this.#params }, options);
  }

  /** After the last step, with agent and session as they are now; `modelId` for another model. */
  retry(
    body: BodyInputOf<typeof sessionEndpoints.retry> = {},
    options?: RequestOptions,
  ): Promise<SessionRow> {
    return this.#transport.call(sessionEndpoints.retry, { params: this.#params, body }, options);
  }

  /** A new session that begins with the messages up to this one. */
  async fork(messageId: string, options?: RequestOptions): Promise<Session> {
    const body = { messageId };
    const forked = await this.#transport.call(sessionEndpoints.fork, { params: this.#params, body }, options);
    return new Session(this.#transport, forked.agentId, forked.id);
  }

  /** Stores the message; the answer comes through `stream` or is waited for with `sendAndWait`. */
  send(message: string | NewMessage, options?: RequestOptions): Promise<PostedMessage> {
    const given = typeof message === 'string' ? { content: { text: message } } : message;
    // An id of our own: sent again after a lost answer, it is the same message.
    const body = { id: newId(), ...given };
    return this.#transport.call(sessionEndpoints.postMessage, { params: this.#params, body }, options);
  }

  /**
   * Sends and waits for the end of the run that answers. Throws `TurnFailedError` where it ends without an answer. `onItem`
   * hears everything that the session's stream brings meanwhile, of other runs too. `timeoutMs` is for all of it; the run
   * goes on, whether somebody waits or not. Default: 300,000. `Output` is what the agent's schema describes.
   */
  async sendAndWait<Output = unknown>(
    message: string | NewMessage,
    options: WaitOptions = {},
  ): Promise<Turn<Output>> {
    const { timeoutMs = 300_000, onItem, signal: given, ...rest } = options;
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = given ? AbortSignal.any([limit, given]) : limit;
    let posted: PostedMessage | null = null;
    try {
      const { lastSequence } = await this.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 }, { signal });
      posted = await this.send(message, { ...rest, signal });
      if (!posted.run) throw new TroupeClientError('The message started no run.');
      // A message that was sent before may have been answered long ago.
      const after = posted.run.outcome === 'duplicate' ? 0 : lastSequence;
      for await (const item of this.stream({ after, signal })) {
        onItem?.(item, posted);
        if (item.kind !== 'event' || item.event.runId !== posted.run.id) continue;
        const status = ENDS[item.event.type];
        if (!status) continue;
        const turn = await this.#turnOf(posted, status, signal);
        if (status !== 'completed') throw new TurnFailedError(turn, item.event);
        return turn as Turn<Output>;
      }
    } catch (error) {
      if (!limit.aborted || given?.aborted || error instanceof TurnFailedError) throw error;
      throw new TimeoutError(
        posted
          ? `No answer within ${timeoutMs} ms. The run goes on; read the session later.`
          : `The message could not be sent within ${timeoutMs} ms.`,
      );
    }
    throw new TroupeClientError('The stream ended before the answer came.');
  }

  async #turnOf(posted: PostedMessage, status: Turn['status'], signal: AbortSignal): Promise<Turn> {
    const messages: Message[] = [];
    for (let after = posted.sequence; ; ) {
      const { data } = await this.messages({ after, limit: PAGE }, { signal });
      messages.push(...data.filter((message) => message.runId === posted.run!.id));
      if (data.length < PAGE) break;
      after = data.at(-1)!.sequence;
    }
    const said = messages.filter((message) => message.role === 'assistant').at(-1);
    const content = said?.content as { text?: string } | undefined;
    const text = content?.text ?? '';
    const isJson = status === 'completed' && said?.metadata.format === 'json';
    return { posted, status, text, ...(isJson ? { output: JSON.parse(text) } : {}), messages };
  }

  /** The agent's to-do list, as it is now. */
  todos(options?: RequestOptions) {
    return this.#transport.call(todoEndpoints.get, { params: this.#params }, options);
  }

  /** Work that was given from here to sub-agents and tools, newest first. */
  tasks(query: TaskQuery = {}, options?: RequestOptions) {
    return tasksOf({ id: this.id, transport: this.#transport }, query, options);
  }

  /** Those that have not ended, then every one that begins or changes: `for await (const task of session.watchTasks({ signal }))`. */
  watchTasks(options?: { signal?: AbortSignal }): AsyncGenerator<Task> {
    const lastSequence = async (signal: AbortSignal) =>
      (await this.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 }, { signal })).lastSequence;
    const stream = (more: StreamOptions) => this.stream(more);
    return watchTasks({ id: this.id, transport: this.#transport, lastSequence, stream }, options);
  }

  /** All that have not ended, with everything given within them. */
  cancelTasks(options?: RequestOptions) {
    return this.#transport.call(taskEndpoints.cancelAll, { body: { chat: this.id } }, options);
  }

  /** One of them, as it is now. */
  task(taskId: string, options?: RequestOptions): Promise<Task> {
    return this.#transport.call(taskEndpoints.get, { params: { taskId } }, options);
  }

  /** What its research found. */
  findings(options?: RequestOptions) {
    return this.#transport.call(findingEndpoints.list, { params: this.#params }, options);
  }

  /**
   * Executes the calls of client tools, those of sub-agents and those that wait already too, until `signal` is aborted: `session.serveTools({ pick_file: async
   * (args) => … }, { signal })`. Calls of tools that are not named here are left to others. One program should serve a
   * tool of a session: two would both execute the call, and the first result is taken.
   */
  async serveTools(handlers: Record<string, ToolHandler>, options: ServeToolsOptions = {}): Promise<void> {
    const { lastSequence } = await this.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 }, options);
    const stream = (more: StreamOptions) => this.stream({ after: lastSequence, ...more });
    const place = { transport: this.#transport, of: { sessionId: this.id }, stream };
    await new ToolServer(place, handlers).serve(options);
  }

  messages(query: QueryInputOf<typeof sessionEndpoints.listMessages> = {}, options?: RequestOptions) {
    return this.#transport.call(sessionEndpoints.listMessages, { params: this.#params, query }, options);
  }

  /** What happened, as a list. */
  events(query: QueryInputOf<typeof sessionEndpoints.events> = {}, options?: RequestOptions) {
    return this.#transport.call(sessionEndpoints.events, { params: this.#params, query }, options);
  }

  /** What happened and what happens: `for await (const item of session.stream())`. Resumes by itself. */
  stream(options?: StreamOptions): AsyncGenerator<StreamItem> {
    return streamEvents(
      this.#transport,
      { endpoint: sessionEndpoints.events, params: this.#params },
      options,
    );
  }
  /** The session as it is, kept up to date from its stream until it is closed. */
  follow(options?: FollowSessionOptions): FollowedSession {
    return new FollowedSession(this, options);
  }
}
