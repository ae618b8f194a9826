import type { Connected, Delta, Event, Membership, SpaceMessage, Task, Typing } from '@troupe/protocol';
import { NotFoundError } from './errors.ts';
import { Followed, type FollowedState } from './followed.ts';
import type { Space } from './space.ts';
import type { StreamItem } from './stream.ts';

/** Text that an agent is writing. The message that it becomes has the same id. */
export interface LiveText {
  id: string;
  runId: string;
  entityId: string | null;
  text: string;
}

/** An agent is at work for as long as one of its runs is. */
export interface ActiveAgent {
  entityId: string;
  agentName: string | null;
  runIds: readonly string[];
}

export type PendingCall = Connected['calls'][number];

/** A space at one moment. Nothing in it is ever changed: what changes is replaced. */
export interface SpaceState extends FollowedState {
  /** In their order, without gaps: from some message on, all. */
  messages: readonly SpaceMessage[];
  /** Whether there are older ones, for `loadMore`. */
  hasMore: boolean;
  live: readonly LiveText[];
  activeAgents: readonly ActiveAgent[];
  pendingCalls: readonly PendingCall[];
  typing: readonly Pick<Typing, 'entityId' | 'name'>[];
  members: readonly Membership[];
  /** Work that was given from here, newest first: what had not ended when it was first read, and all that changed since. */
  tasks: readonly Task[];
}

export interface FollowOptions {
  /** How many messages to begin with, and how many `loadMore` brings. Default: 50. */
  pageSize?: number;
  /** For how long somebody is typing who does not say so again. Default: 6,000. */
  typingMs?: number;
  /** Hears everything that the stream brings, after the state has it. */
  onItem?: (item: StreamItem) => void;
  signal?: AbortSignal;
}

const ENDS = ['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'];
const TOLD = ['message.created', 'tool.started', 'tool.waiting', 'tool.completed', 'tool.failed'];
const SETTLED_OUTSIDE = ['client', 'approval', 'person'];
const PAGE = 1_000;
const MOST_ENDED = 1_000;
const MOST_TASKS = 200;

/**
 * What a space is, from its stream. Items are taken one after the other, so that a live text is replaced by its message in one
 * change, and nothing is seen out of order.
 */
export class FollowedSpace extends Followed<SpaceState> {
  protected readonly over = { live: [], typing: [] };
  readonly #space: Space;
  readonly #options: FollowOptions;
  readonly #typists = new Map<string, ReturnType<typeof setTimeout>>();
  /** Runs whose end was told: a piece of theirs that comes late is of no use. */
  readonly #ended = new Set<string>();
  #more: Promise<void> | null = null;
  /** Messages that changed and are not here, while older ones are loaded. */
  readonly #missed = new Set<string>();
  /** Events up to here are in what `connected` told of runs and calls. */
  #told = 0;
  #last = 0;

  constructor(space: Space, options: FollowOptions = {}) {
    const nothing = { live: [], activeAgents: [], pendingCalls: [], typing: [], members: [], tasks: [] };
    super({ status: 'loading', error: null, messages: [], hasMore: false, ...nothing }, options.signal);
    this.#space = space;
    this.#options = options;
    this.begin();
  }

  /** Older messages, where there are any. */
  loadMore(): Promise<void> {
    return this.#loadOnce(this.#pageSize);
  }

  /** Older messages, until this one is there and some before it. Rejects where the space has no such message. */
  async loadUpTo(messageId: string): Promise<void> {
    const isThere = () => this.state.messages.some(({ id }) => id === messageId);
    if (isThere()) return;
    const { sequence } = await this.#space.message(messageId, { signal: this.signal });
    while (!isThere() && this.state.hasMore) {
      const missing = (this.state.messages[0]?.sequence ?? 0) - sequence;
      // What is not here though it is newer than the first is still to be told by the stream.
      if (missing < 0) return;
      await this.#loadOnce(Math.min(missing + this.#pageSize, PAGE));
    }
  }

  #loadOnce(limit: number): Promise<void> {
    this.#more ??= this.#loadMore(limit).finally(() => {
      this.#more = null;
    });
    return this.#more;
  }

  async #loadMore(limit: number): Promise<void> {
    const first = this.state.messages[0];
    if (!first || !this.state.hasMore) return;
    const query = { before: first.sequence, limit };
    const { data, hasMore } = await this.#space.messages(query, { signal: this.signal });
    this.change({ messages: [...data, ...this.state.messages], hasMore });
    // Those that changed while they were on their way may have been read before.
    const changed = data.filter(({ id }) => this.#missed.has(id));
    this.#missed.clear();
    for (const { id } of changed) await this.#refresh(id);
  }

  get #pageSize(): number {
    return this.#options.pageSize ?? 50;
  }

  protected async follow(ready: () => void): Promise<void> {
    const { signal } = this;
    // The place in the log first: what happens while the rest is read is heard again, and known already.
    const { lastSequence } = await this.ask(() =>
      this.#space.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 }, { signal }),
    );
    const [{ data, hasMore }, members, tasks] = await Promise.all([
      this.ask(() => this.#space.messages({ limit: this.#pageSize }, { signal })),
      this.ask(() => this.#space.members({ signal })),
      this.ask(() => this.#space.tasks({ limit: MOST_TASKS }, { signal })),
    ]);
    this.#last = lastSequence;
    this.change({ messages: data, hasMore, members, tasks: tasks.data.filter(isOpen) });
    const onDisconnect = () => this.change({ status: 'reconnecting' });
    try {
      for await (const item of this.#space.stream({ after: lastSequence, signal, onDisconnect })) {
        await this.#hear(item);
        if (item.kind === 'connected') ready();
        this.#options.onItem?.(item);
      }
    } finally {
      for (const timer of this.#typists.values()) clearTimeout(timer);
    }
  }

  async #hear(item: StreamItem): Promise<void> {
    if (item.kind === 'connected') await this.#connect(item.connected);
    else if (item.kind === 'delta') this.#write(item.delta);
    else if (item.kind === 'typing') this.#type(item.typing);
    else {
      await this.#tell(item.event);
      this.#last = item.event.sequence;
    }
  }

  async #connect({ lastSequence, runs, activeAgents = [], calls }: Connected): Promise<void> {
    if (lastSequence > this.#last) await this.#catchUp();
    this.#told = lastSequence;
    let active: readonly ActiveAgent[] = [];
    for (const { runId, entityId, agentName } of activeAgents) {
      // Taken up again while nobody listened.
      this.#ended.delete(runId);
      active = joined(active, { runId, entityId, agentName });
    }
    const open = new Set(runs.map(({ id }) => id));
    const live = this.state.live.filter(({ runId }) => open.has(runId));
    this.change({ status: 'following', activeAgents: active, pendingCalls: calls, live });
  }

  async #tell(event: Event): Promise<void> {
    const { type, runId = '', data, sequence } = event;
    if (TOLD.includes(type) && typeof data.sequence === 'number')
      await this.#see(data.sequence, String(data.messageId), type !== 'message.created');
    if (type === 'space.member.joined') {
      const members = await this.ask(() => this.#space.members({ signal: this.signal }));
      this.change({ members });
    } else if (type === 'space.member.left') {
      const entityId = String(data.entityId);
      this.change({ members: this.state.members.filter((member) => member.entityId !== entityId) });
    } else if (type.startsWith('task.')) await this.#task(String(data.id));
    else if (type === 'space.read') this.#haveRead(String(data.entityId), String(data.messageId));
    else if (type === 'message.failed') {
      const id = data.streamId ?? data.messageId;
      const isOver = (one: LiveText) => (id === undefined ? one.runId === runId : one.id === id);
      this.change({ live: this.state.live.filter((one) => !isOver(one)) });
    }
    if (sequence > this.#told) this.#work(event);
  }

  /** Who is at work, and what waits for somebody. */
  #work({ type, runId = '', data }: Event): void {
    const { activeAgents, pendingCalls, live } = this.state;
    if (type === 'agent.active') {
      this.#ended.delete(runId);
      const entityId = String(data.entityId);
      const agentName = (data.agentName as string | null | undefined) ?? null;
      this.change({ activeAgents: joined(activeAgents, { runId, entityId, agentName }) });
    } else if (type === 'agent.inactive' || ENDS.includes(type)) {
      this.#ended.add(runId);
      if (this.#ended.size > MOST_ENDED) this.#ended.delete(this.#ended.values().next().value!);
      this.change({
        activeAgents: left(activeAgents, runId),
        pendingCalls: pendingCalls.filter((call) => call.runId !== runId),
        live: live.filter((one) => one.runId !== runId),
      });
    } else if (type === 'run.resumed') {
      // What becomes of a call that the space does not see shows only in the run: it goes on when the last one is settled.
      const isSeen = ({ id }: PendingCall) =>
        this.state.messages.some((message) => message.runId === runId && message.tool?.callId === id);
      this.change({ pendingCalls: pendingCalls.filter((call) => call.runId !== runId || isSeen(call)) });
    } else if (type.startsWith('tool.')) {
      const id = String(data.id);
      const others = pendingCalls.filter((call) => call.runId !== runId || call.id !== id);
      const waits = type === 'tool.waiting' && SETTLED_OUTSIDE.includes(String(data.waitsFor));
      if (!waits && others.length === pendingCalls.length) return;
      this.change({ pendingCalls: waits ? [...others, this.#callOf(runId, id, data)] : others });
    }
  }

  #callOf(runId: string, id: string, data: Event['data']): PendingCall {
    const shown = this.state.messages.find((message) => message.id === data.messageId)?.tool;
    return {
      id,
      runId,
      tool: String(data.tool),
      waitsFor: data.waitsFor as PendingCall['waitsFor'],
      deadline: (data.deadline as string | undefined) ?? null,
      ...(shown?.arguments === undefined ? {} : { arguments: shown.arguments }),
    };
  }

  /** A message that is new, or one that is another than before: a call of a visible tool. */
  async #see(sequence: number, id: string, isChanged: boolean): Promise<void> {
    const { messages } = this.state;
    if (sequence > (messages.at(-1)?.sequence ?? 0)) return this.#catchUp();
    if (!isChanged) return;
    if (messages.some((message) => message.id === id)) await this.#refresh(id);
    else if (this.#more) this.#missed.add(id);
  }

  async #refresh(id: string): Promise<void> {
    try {
      const now = await this.ask(() => this.#space.message(id, { signal: this.signal }));
      const replaced = this.state.messages.map((message) => (message.id === id ? now : message));
      this.change({ messages: replaced });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  async #catchUp(): Promise<void> {
    const { signal } = this;
    for (let isMore = true; isMore; ) {
      const after = this.state.messages.at(-1)?.sequence ?? 0;
      const page = await this.ask(() => this.#space.messages({ after, limit: PAGE }, { signal }));
      isMore = page.hasMore;
      if (page.data.length === 0) return;
      const stored = new Set(page.data.map(({ id }) => id));
      const senders = new Set(page.data.map(({ senderId }) => senderId));
      for (const { entityId } of this.state.typing) if (senders.has(entityId)) this.#forget(entityId);
      this.change({
        messages: [...this.state.messages, ...page.data],
        live: this.state.live.filter(({ id }) => !stored.has(id)),
        // Whoever says something has read up to there.
        members: page.data.reduce((members, { role, senderId, id }) => {
          return role === 'user' ? withMarker(members, senderId, id) : members;
        }, this.state.members),
      });
    }
  }

  /** As it is by now; one that is for somebody else is not told of. */
  async #task(id: string): Promise<void> {
    try {
      const now = await this.ask(() => this.#space.task(id, { signal: this.signal }));
      const others = this.state.tasks.filter((task) => task.id !== id);
      const isNew = others.length === this.state.tasks.length;
      const tasks = isNew ? [now, ...others] : this.state.tasks.map((task) => (task.id === id ? now : task));
      this.change({ tasks: tasks.slice(0, MOST_TASKS) });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  #haveRead(entityId: string, messageId: string): void {
    this.change({ members: withMarker(this.state.members, entityId, messageId) });
  }

  #write({ type, streamId: id, entityId, runId, offset, text }: Delta): void {
    if (type !== 'message.delta' || id === undefined || this.#ended.has(runId)) return;
    const { live, messages } = this.state;
    const known = live.find((one) => one.id === id);
    // A piece whose beginning was missed says nothing; the message will.
    if (offset > (known?.text.length ?? 0) || messages.some((message) => message.id === id)) return;
    const now = { id, runId, entityId: entityId ?? null, text: (known?.text.slice(0, offset) ?? '') + text };
    this.change({ live: known ? live.map((one) => (one === known ? now : one)) : [...live, now] });
  }

  #type({ entityId, name, typing }: Typing): void {
    this.#forget(entityId);
    if (!typing) return;
    const timer = setTimeout(() => this.#forget(entityId), this.#options.typingMs ?? 6_000);
    this.#typists.set(entityId, timer);
    this.change({ typing: [...this.state.typing, { entityId, name }] });
  }

  #forget(entityId: string): void {
    clearTimeout(this.#typists.get(entityId));
    if (!this.#typists.delete(entityId)) return;
    this.change({ typing: this.state.typing.filter((one) => one.entityId !== entityId) });
  }
}

function joined(
  active: readonly ActiveAgent[],
  { runId, entityId, agentName }: { runId: string; entityId: string; agentName: string | null },
): readonly ActiveAgent[] {
  const known = active.find((agent) => agent.entityId === entityId);
  if (!known) return [...active, { entityId, agentName, runIds: [runId] }];
  if (known.runIds.includes(runId)) return active;
  const runIds = [...known.runIds, runId];
  return active.map((agent) => (agent === known ? { ...known, runIds } : agent));
}

function left(active: readonly ActiveAgent[], runId: string): readonly ActiveAgent[] {
  return active.flatMap((agent) => {
    if (!agent.runIds.includes(runId)) return [agent];
    const runIds = agent.runIds.filter((id) => id !== runId);
    return runIds.length > 0 ? [{ ...agent, runIds }] : [];
  });
}

function withMarker(
  members: readonly Membership[],
  entityId: string | null,
  lastSeenMessageId: string,
): readonly Membership[] {
  return members.map((one) => (one.entityId === entityId ? { ...one, lastSeenMessageId } : one));
}

function isOpen({ status }: Task): boolean {
  return status === 'pending' || status === 'running' || status === 'waiting';
}
