import {
  type BodyInputOf,
  type Event,
  inboxEndpoints,
  type Json,
  type Membership,
  type PostedSpaceMessage,
  type QueryInputOf,
  type ResultOf,
  type SpaceMessage,
  type Space as SpaceRow,
  spaceEndpoints,
  type Task,
  taskEndpoints,
} from '@troupe/protocol';
import { TimeoutError } from './errors.ts';
import { FollowedSpace, type FollowOptions } from './followed-space.ts';
import { newId } from './ids.ts';
import { type StreamItem, type StreamOptions, streamEvents } from './stream.ts';
import { type TaskQuery, tasksOf, watchTasks } from './tasks.ts';
import type { RequestOptions, Transport } from './transport.ts';

type NewMessage = BodyInputOf<typeof spaceEndpoints.post>;

/** A run that a message started, and how it ended. */
export interface EndedRun {
  id: string;
  entityId: string;
  /** `left`: it went on to another space, and says here nothing more. */
  status: 'completed' | 'failed' | 'canceled' | 'left';
  /** It had nothing to say. */
  silent: boolean;
  /** The run that took over what it was about. */
  absorbedBy?: string;
  error?: { code: string; message: string };
}

/** What came of a message: what the runs said that it started, and how they ended. */
export interface SpaceTurn {
  posted: PostedSpaceMessage;
  /** In the order of the space, calls of visible tools among them. */
  messages: SpaceMessage[];
  runs: EndedRun[];
}

export interface SpaceWaitOptions extends RequestOptions {
  /** Entities: only their runs are waited for. */
  from?: string[];
  /** Hears everything that the stream of the space brings meanwhile. */
  onItem?: (item: StreamItem, posted: PostedSpaceMessage) => void;
}

const ENDS: Record<string, EndedRun['status']> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.canceled': 'canceled',
  'run.absorbed': 'canceled',
};
const PAGE = 1_000;

/** A conversation that many people and many agents share. */
export class Space {
  readonly id: string;
  readonly #transport: Transport;
  readonly #entityId: string | undefined;

  /** `entityId`: for whom it speaks, where a key asks. */
  constructor(transport: Transport, id: string, entityId?: string) {
    this.#transport = transport;
    this.id = id;
    this.#entityId = entityId;
  }

  get #params(): { spaceId: string } {
    return { spaceId: this.id };
  }

  /** The same space, for a program with a key that speaks, reads and types for this person. */
  as(entityId: string): Space {
    return new Space(this.#transport, this.id, entityId);
  }

  get(options?: RequestOptions): Promise<SpaceRow> {
    return this.#transport.call(spaceEndpoints.get, { params: this.#params }, options);
  }

  update(body: BodyInputOf<typeof spaceEndpoints.update>, options?: RequestOptions): Promise<SpaceRow> {
    return this.#transport.call(spaceEndpoints.update, { params: this.#params, body }, options);
  }

  async delete(options?: RequestOptions): Promise<void> {
    await this.#transport.call(spaceEndpoints.remove, { params: this.#params }, options);
  }

  /** All of them, in the order in which they joined. */
  async members(options?: RequestOptions): Promise<Membership[]> {
    const all: Membership[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { limit: 200, ...(cursor ? { cursor } : {}) };
      const page: ResultOf<typeof spaceEndpoints.members> = await this.#transport.call(
        spaceEndpoints.members,
        { params: this.#params, query },
        options,
      );
      all.push(...page.data);
      cursor = page.nextCursor;
    }
    return all;
  }

  /** By `entityId`, `agentId` or `user`. One who is there already gets the role and the ordering. */
  addMember(
    body: BodyInputOf<typeof spaceEndpoints.addMember>,
    options?: RequestOptions,
  ): Promise<Membership> {
    return this.#transport.call(spaceEndpoints.addMember, { params: this.#params, body }, options);
  }

  async removeMember(entityId: string, options?: RequestOptions): Promise<void> {
    const params = { ...this.#params, entityId };
    await this.#transport.call(spaceEndpoints.removeMember, { params }, options);
  }

  messages(query: QueryInputOf<typeof spaceEndpoints.messages> = {}, options?: RequestOptions) {
    return this.#transport.call(spaceEndpoints.messages, { params: this.#params, query }, options);
  }

  message(messageId: string, options?: RequestOptions): Promise<SpaceMessage> {
    const params = { ...this.#params, messageId };
    return this.#transport.call(spaceEndpoints.message, { params }, options);
  }

  /** Stores the message and the runs that it starts; what they say comes through `follow`, `stream` or `sendAndWait`. */
  post(message: string | NewMessage, options?: RequestOptions): Promise<PostedSpaceMessage> {
    const given = typeof message === 'string' ? { content: { text: message } } : message;
    const isSaid = given.senderId !== undefined || given.user !== undefined;
    const speaker = isSaid || this.#entityId === undefined ? {} : { senderId: this.#entityId };
    // An id of our own: sent again after a lost answer, it is the same message.
    const body = { id: newId(), ...speaker, ...given };
    return this.#transport.call(spaceEndpoints.post, { params: this.#params, body }, options);
  }

  /**
   * Posts and waits until the runs that it started have ended; one that ends without a word has ended too. Where a run is taken over
   * by another of its agent, that one is waited for. `timeoutMs` is for all of it; the runs go on, whether somebody waits or
   * not. Default: 300,000.
   */
  async sendAndWait(message: string | NewMessage, options: SpaceWaitOptions = {}): Promise<SpaceTurn> {
    const { timeoutMs = 300_000, from, onItem, signal: given, ...rest } = options;
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = given ? AbortSignal.any([limit, given]) : limit;
    let posted: PostedSpaceMessage | null = null;
    try {
      const { lastSequence } = await this.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 }, { signal });
      posted = await this.post(message, { ...rest, signal });
      const waiting = new Map(posted.runs.map(({ id, entityId }) => [id, entityId]));
      for (const [id, entityId] of waiting) if (from && !from.includes(entityId)) waiting.delete(id);
      const runs: EndedRun[] = [];
      // A message that was sent before may have been answered long ago.
      const after = posted.duplicate ? 0 : lastSequence;
      const types = onItem ? {} : { types: [...Object.keys(ENDS), 'agent.inactive'] };
      if (waiting.size > 0) {
        for await (const item of this.stream({ after, signal, ...types })) {
          onItem?.(item, posted);
          const entityId = item.kind === 'event' ? waiting.get(item.event.runId ?? '') : undefined;
          const ended = entityId && item.kind === 'event' ? endOf(item.event, entityId) : null;
          if (!ended) continue;
          waiting.delete(ended.id);
          runs.push(ended);
          const { absorbedBy } = ended;
          const isNew = absorbedBy !== undefined && runs.every(({ id }) => id !== absorbedBy);
          if (isNew && (await this.#began(absorbedBy, entityId!, signal))) waiting.set(absorbedBy, entityId!);
          if (waiting.size === 0) break;
        }
      }
      return { posted, messages: await this.#saidBy(runs, posted.sequence, signal), runs };
    } catch (error) {
      if (!limit.aborted || given?.aborted) throw error;
      throw new TimeoutError(
        posted
          ? `Not all runs ended within ${timeoutMs} ms. They go on; read the space later.`
          : `The message could not be sent within ${timeoutMs} ms.`,
      );
    }
  }

  /** Whether a run began here: only then is its end told here for certain. */
  async #began(runId: string, entityId: string, signal: AbortSignal): Promise<boolean> {
    const query = { entityId, limit: 200 };
    const { data } = await this.#transport.call(
      spaceEndpoints.runs,
      { params: this.#params, query },
      { signal },
    );
    return data.some(({ id }) => id === runId);
  }

  async #saidBy(runs: EndedRun[], sequence: number, signal: AbortSignal): Promise<SpaceMessage[]> {
    const ids = new Set(runs.map(({ id }) => id));
    const said: SpaceMessage[] = [];
    for (let after = sequence, isMore = ids.size > 0; isMore; ) {
      const { data, hasMore } = await this.messages({ after, limit: PAGE }, { signal });
      said.push(...data.filter(({ runId }) => runId !== null && ids.has(runId)));
      isMore = hasMore && data.length > 0;
      after = data.at(-1)?.sequence ?? after;
    }
    return said;
  }

  /** How far the person has read; it never goes back. */
  read(messageId: string, options?: RequestOptions): Promise<ResultOf<typeof spaceEndpoints.read>> {
    const body = { messageId, ...this.#person };
    return this.#transport.call(spaceEndpoints.read, { params: this.#params, body }, options);
  }

  /** Others forget it after some seconds: say it again while it lasts. */
  async typing(isTyping = true, options?: RequestOptions): Promise<void> {
    const body = { typing: isTyping, ...this.#person };
    await this.#transport.call(spaceEndpoints.typing, { params: this.#params, body }, options);
  }

  get #person(): { entityId?: string } {
    return this.#entityId === undefined ? {} : { entityId: this.#entityId };
  }

  /** Answers a call that waits for somebody in the space, such as one of a tool with a UI. */
  answer(runId: string, callId: string, output: Json, options?: RequestOptions) {
    const body = { callId, result: output };
    return this.#transport.call(inboxEndpoints.results, { params: { runId }, body }, options);
  }

  /** Runs that messages of the space started, newest first. */
  runs(query: QueryInputOf<typeof spaceEndpoints.runs> = {}, options?: RequestOptions) {
    return this.#transport.call(spaceEndpoints.runs, { params: this.#params, query }, options);
  }

  /** Work that was given from here to sub-agents and tools, newest first; for a person, what was given for them. */
  tasks(query: TaskQuery = {}, options?: RequestOptions) {
    return tasksOf({ id: this.id, transport: this.#transport }, query, options);
  }

  /** Those that have not ended, then every one that begins or changes. */
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

  /** What happened, as a list. */
  events(query: QueryInputOf<typeof spaceEndpoints.events> = {}, options?: RequestOptions) {
    return this.#transport.call(spaceEndpoints.events, { params: this.#params, query }, options);
  }

  /** What happened and what happens: `for await (const item of space.stream())`. Resumes by itself. */
  stream(options?: StreamOptions): AsyncGenerator<StreamItem> {
    return streamEvents(this.#transport, { endpoint: spaceEndpoints.events, params: this.#params }, options);
  }

  /** The space as it is, kept up to date from its stream until it is closed. */
  follow(options?: FollowOptions): FollowedSpace {
    return new FollowedSpace(this, options);
  }
}

/** How the run of the event ended; null where it has not. */
function endOf({ type, runId, data }: Event, entityId: string): EndedRun | null {
  // It comes with the end, behind it; alone, the run has turned to another space.
  const status = type === 'agent.inactive' ? 'left' : ENDS[type];
  if (!status) return null;
  const { code, message, absorbedBy } = data as { code?: string; message?: string; absorbedBy?: string };
  return {
    id: runId!,
    entityId,
    status,
    silent: data.silent === true,
    ...(absorbedBy ? { absorbedBy } : {}),
    ...(status === 'failed'
      ? { error: { code: code ?? 'failed', message: message ?? 'The run failed.' } }
      : {}),
  };
}
