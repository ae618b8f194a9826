import {
  type BodyInputOf,
  type Event,
  type Message,
  type PostedMessage,
  type QueryInputOf,
  type Session as SessionRow,
  sessionEndpoints,
} from '@troupe/protocol';
import { TimeoutError, TroupeClientError } from './errors.ts';
import { type StreamItem, type StreamOptions, streamSession } from './stream.ts';
import type { RequestOptions, Transport } from './transport.ts';

type NewMessage = BodyInputOf<typeof sessionEndpoints.postMessage>;

/** How a turn went: what was said in answer, by one run. */
export interface Turn {
  posted: PostedMessage;
  status: 'completed' | 'failed' | 'canceled';
  /** The text of the last thing that the agent said; empty where it said nothing. */
  text: string;
  messages: Message[];
}

/** The run ended without an answer. */
export class TurnFailedError extends TroupeClientError {
  readonly turn: Turn;
  readonly code: string;

  constructor(turn: Turn, end: Event) {
    const error = end.data.error as { code?: string; message?: string } | undefined;
    super(error?.message ?? `The run was ${turn.status}.`);
    this.turn = turn;
    this.code = error?.code ?? `run_${turn.status}`;
  }
}

const ENDS = ['run.completed', 'run.failed', 'run.canceled'];

/** One conversation. */
export class Session {
  readonly id: string;
  readonly agentId: string;
  readonly #transport: Transport;

  constructor(transport: Transport, agentId: string, id: string) {
    this.#transport = transport;
    this.agentId = agentId;
    this.id = id;
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

  retry(options?: RequestOptions): Promise<SessionRow> {
    return this.#transport.call(sessionEndpoints.retry, { params: this.#params }, options);
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
    const body = { id: crypto.randomUUID(), ...given };
    return this.#transport.call(sessionEndpoints.postMessage, { params: this.#params, body }, options);
  }

  /** Sends and waits for the end of the run that answers. Throws `TurnFailedError` where it ends without an answer. */
  async sendAndWait(
    message: string | NewMessage,
    options: RequestOptions & { onItem?: (item: StreamItem) => void } = {},
  ): Promise<Turn> {
    const timeoutMs = options.timeoutMs ?? 300_000;
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = options.signal ? AbortSignal.any([limit, options.signal]) : limit;
    const { timeoutMs: _, onItem, ...rest } = options;
    const { lastSequence } = await this.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 });
    const posted = await this.send(message, rest);
    if (!posted.run) throw new TroupeClientError('The message started no run.');
    try {
      for await (const item of this.stream({ after: lastSequence, signal })) {
        onItem?.(item);
        if (item.kind !== 'event' || item.event.runId !== posted.run.id) continue;
        if (!ENDS.includes(item.event.type)) continue;
        const turn = await this.#turnOf(posted, item.event);
        if (turn.status !== 'completed') throw new TurnFailedError(turn, item.event);
        return turn;
      }
    } catch (error) {
      if (limit.aborted) {
        throw new TimeoutError(`No answer within ${timeoutMs} ms. The run goes on; read the session later.`);
      }
      throw error;
    }
    throw new TroupeClientError('The stream ended before the answer came.');
  }

  async #turnOf(posted: PostedMessage, end: Event): Promise<Turn> {
    const { data } = await this.messages({ after: posted.sequence, limit: 1000 });
    const messages = data.filter((message) => message.runId === posted.run!.id);
    const said = messages.filter((message) => message.role === 'assistant').at(-1);
    const content = said?.content as { text?: string } | undefined;
    return {
      posted,
      status: end.type.slice('run.'.length) as Turn['status'],
      text: content?.text ?? '',
      messages,
    };
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
    return streamSession(this.#transport, this.#params, options);
  }
}
