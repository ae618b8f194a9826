import { inboxEndpoints, type Json, type ToolResult, type WaitingCall } from '@troupe/protocol';
import { ConflictError, InvalidRequestError, NotFoundError } from './errors.ts';
import { insist } from './insist.ts';
import { keepPresence } from './presence.ts';
import type { StreamItem, StreamOptions } from './stream.ts';
import type { Transport } from './transport.ts';

export interface ToolCallContext {
  callId: string;
  runId: string;
  tool: string;
  /** When the call expires, as ISO 8601. */
  deadline: string | null;
  /** Aborted when the result is of no use any more: the run was canceled, the call expired, or another client answered it. */
  signal: AbortSignal;
}

/** What it returns is the result; `undefined` counts as null. What it throws is told to the model, with its `code` where it has one. */
export type ToolHandler = (args: Json, context: ToolCallContext) => unknown;

export interface ServeToolsOptions {
  /** Ends it. Calls that are not answered by then go on waiting, for another client or for their deadline. */
  signal?: AbortSignal;
  /** Registers the program as a client under this key, with the tools that it executes, and keeps it online meanwhile. */
  clientKey?: string;
  /** Such as web, mobile or node. */
  clientType?: string;
  displayName?: string;
  /** Whose program it is; only a key may say so, and must. */
  entityId?: string;
}

interface ServedCalls {
  transport: Transport;
  /** Whose calls. */
  of: { sessionId: string } | { runId: string };
  stream(options: StreamOptions): AsyncGenerator<StreamItem>;
  /** Of a run: its tasks are served too, and it ends when the run has. */
  run?: {
    hasEnded(signal: AbortSignal): Promise<boolean>;
    serveTask(runId: string, signal: AbortSignal): Promise<void>;
  };
}

const TYPES = ['tool.waiting', 'tool.completed', 'tool.failed'];
/** What a session is told of the calls of its sub-agents: that one waits, and that one may have ended. */
const TASK_TYPES = ['task.waiting', 'task.updated'];
const ENDS = ['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'];
const LONGEST_MESSAGE = 2_000;
const LONGEST_CODE = 100;

/** Executes the calls of one session and its sub-agents, or of one run, that wait for a client, each once, as long as it goes on. */
export class ToolServer {
  readonly #place: ServedCalls;
  readonly #handlers: Record<string, ToolHandler>;
  /** Calls that were begun here, with what stops them; null once they are answered. */
  readonly #begun = new Map<string, AbortController | null>();
  /** Tasks of a run that are served beside it. */
  readonly #tasks = new Set<string>();
  readonly #end = new AbortController();
  #looking = false;
  #lookAgain = false;

  constructor(place: ServedCalls, handlers: Record<string, ToolHandler>) {
    this.#place = place;
    this.#handlers = handlers;
  }

  /** Until the signal is aborted, or the run has ended. Throws where trying again cannot help: the session is gone, the key does not hold. */
  async serve({ signal, ...client }: ServeToolsOptions): Promise<void> {
    signal?.throwIfAborted();
    const end = () => this.#end.abort(signal!.reason);
    signal?.addEventListener('abort', end, { once: true });
    if (client.clientKey !== undefined) this.#register({ ...client, clientKey: client.clientKey });
    try {
      const types = [...TYPES, ...(this.#place.run ? ENDS : TASK_TYPES)];
      for await (const item of this.#place.stream({ types, signal: this.#end.signal })) {
        this.#hear(item);
        if (await this.#isEnd(item)) return;
      }
    } catch (error) {
      if (!signal?.aborted) throw this.#end.signal.aborted ? this.#end.signal.reason : error;
    } finally {
      signal?.removeEventListener('abort', end);
      this.#end.abort();
      for (const call of this.#begun.values()) call?.abort();
    }
  }

  /** Calls are answered meanwhile: nobody waits for it. */
  #register(client: {
    clientKey: string;
    clientType?: string;
    displayName?: string;
    entityId?: string;
  }): void {
    const { signal } = this.#end;
    const body = { ...client, capabilities: { tools: Object.keys(this.#handlers) } };
    keepPresence(this.#place.transport, body, signal).catch((error) => this.#end.abort(error));
  }

  #hear(item: StreamItem): void {
    // What was missed while there was no connection shows in what waits now.
    if (item.kind === 'connected') void this.#look();
    if (item.kind !== 'event') return;
    const { type, runId, data } = item.event;
    if (ENDS.includes(type)) return;
    if (TASK_TYPES.includes(type)) {
      const key = keyOf({ runId: String(data.runId), callId: String(data.callId) });
      if (
        type === 'task.waiting'
          ? data.waitsFor === 'client' && !this.#begun.has(key)
          : this.#works(data.runId)
      )
        void this.#look();
      return;
    }
    const key = keyOf({ runId: runId!, callId: String(data.id) });
    if (type !== 'tool.waiting') this.#begun.get(key)?.abort();
    else if (data.waitsFor === 'task' && typeof data.runId === 'string') this.#serveTask(data.runId);
    else if (data.waitsFor === 'client' && !this.#begun.has(key)) void this.#look();
  }

  /** The end of an earlier try of the run, which was taken up again, is none. */
  async #isEnd(item: StreamItem): Promise<boolean> {
    const { run } = this.#place;
    if (!run || item.kind !== 'event' || !ENDS.includes(item.event.type)) return false;
    return this.#insist(() => run.hasEnded(this.#end.signal));
  }

  /** Whether a call of this run is being executed here. */
  #works(runId: unknown): boolean {
    return [...this.#begun].some(([key, call]) => call !== null && key.startsWith(`${runId} `));
  }

  /**
   * Beside the others, until it has ended: its calls stand with it, not with the run that gave it. A sub-agent that was answered is
   * told of once more.
   */
  #serveTask(runId: string): void {
    const { run } = this.#place;
    if (!run || this.#tasks.has(runId)) return;
    this.#tasks.add(runId);
    run.serveTask(runId, this.#end.signal).then(
      () => this.#tasks.delete(runId),
      (error) => this.#end.abort(error),
    );
  }

  /** One look at a time; what happens meanwhile is seen by the next one. */
  async #look(): Promise<void> {
    this.#lookAgain = true;
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (this.#lookAgain) {
        this.#lookAgain = false;
        const before = [...this.#begun];
        const waiting = await this.#waiting();
        const open = new Set(waiting.map(keyOf));
        for (const [key, call] of before) {
          if (open.has(key)) continue;
          call?.abort();
          this.#begun.delete(key);
        }
        for (const call of waiting) this.#begin(call);
      }
    } catch (error) {
      this.#end.abort(error);
    } finally {
      this.#looking = false;
    }
  }

  async #waiting(): Promise<WaitingCall[]> {
    const found: WaitingCall[] = [];
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const query = { waitsFor: 'client' as const, ...this.#place.of, limit: 200 };
      const page: { data: WaitingCall[]; nextCursor: string | null } = await this.#insist(() =>
        this.#place.transport.call(
          inboxEndpoints.list,
          { query: cursor ? { ...query, cursor } : query },
          { signal: this.#end.signal },
        ),
      );
      found.push(...page.data);
      cursor = page.nextCursor;
    }
    return found;
  }

  #begin(call: WaitingCall): void {
    const key = keyOf(call);
    if (this.#begun.has(key) || !Object.hasOwn(this.#handlers, call.tool)) return;
    const stop = new AbortController();
    this.#begun.set(key, stop);
    this.#answer(call, stop.signal).then(
      () => this.#begun.has(key) && this.#begun.set(key, null),
      (error) => this.#end.abort(error),
    );
  }

  async #answer(call: WaitingCall, signal: AbortSignal): Promise<void> {
    const { callId, runId, tool, deadline } = call;
    let result: ToolResult;
    try {
      const given = await this.#handlers[tool]!(call.arguments, { callId, runId, tool, deadline, signal });
      // As it will be sent: what is no JSON is the handler's mistake, and told as such.
      result = { callId, result: JSON.parse(JSON.stringify(given ?? null) ?? 'null') };
    } catch (error) {
      result = { callId, error: told(error) };
    }
    if (signal.aborted) return;
    // Where it does not fit, why; where that is refused as well, that it was. Without an answer the run would wait until the deadline.
    const last = { code: 'tool_error', message: 'The tool was carried out, but its result was refused.' };
    for (const next of [told, () => last, () => null]) {
      try {
        return await this.#send(runId, result);
      } catch (error) {
        if (!(error instanceof InvalidRequestError)) throw error;
        const instead = next(error);
        // One call that cannot be answered is no reason to stop the others; it waits for its deadline.
        if (instead === null) return;
        result = { callId, error: instead };
      }
    }
  }

  async #send(runId: string, result: ToolResult): Promise<void> {
    const { transport } = this.#place;
    try {
      await this.#insist(() =>
        transport.call(
          inboxEndpoints.results,
          { params: { runId }, body: result },
          { signal: this.#end.signal },
        ),
      );
    } catch (error) {
      // Answered, canceled or expired meanwhile.
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
    }
  }

  /** For as long as it takes: whoever goes away for an hour still has the result of an hour ago. */
  #insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return insist(ask, this.#end.signal);
  }
}

function keyOf({ runId, callId }: { runId: string; callId: string }): string {
  return `${runId} ${callId}`;
}

/** Whatever it is that was thrown: its own properties may throw, and its text may be one that cannot be stored. */
function told(error: unknown): { code: string; message: string } {
  const silent = { code: 'tool_error', message: 'The tool failed without saying why.' };
  try {
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
    const text = plain(typeof message === 'string' ? message : String(error), LONGEST_MESSAGE);
    const isCode =
      typeof code === 'string' && code.length <= LONGEST_CODE && code === plain(code, LONGEST_CODE);
    return { code: (isCode && code) || silent.code, message: text || silent.message };
  } catch {
    return silent;
  }
}

/** Without control characters other than tabs and the ends of lines, and without half characters. */
function plain(text: string, most: number): string {
  return (
    text
      .slice(0, most * 2)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in it
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, ' ')
      .trim()
      .slice(0, most)
      .replace(/[\ud800-\udbff]$/, '')
      .toWellFormed()
      .trim()
  );
}
