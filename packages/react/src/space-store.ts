import {
  type Api,
  type FollowedSpace,
  newId,
  type SpaceState,
  type StreamItem,
  type Troupe,
} from '@troupe/sdk';
import { type FollowedBase, FollowedStore, pageOf } from './followed-store.ts';
import { hint } from './hints.ts';
import { keepUnsent, type Speaking } from './keeping.ts';
import { meOf } from './me.ts';
import { Outbox, type Outgoing } from './outbox.ts';
import type { Given } from './provider.tsx';
import type { PostOptions, Said, SpaceResult } from './results.ts';
import { contentOf } from './said.ts';
import { sharedOf } from './shared.ts';

type Doing = 'post' | 'setTyping' | 'markRead' | 'loadOlder' | 'loadUpTo';
type State = Omit<SpaceResult, Doing> & FollowedBase;

/** What is sent, and kept until then. */
type SaidInSpace = PostOptions & { content: ReturnType<typeof contentOf> };

/** Others forget after six seconds that somebody is typing. */
const TYPING_MS = 3_000;
const CHANGES_SPACE = ['space.updated', 'space.member.joined', 'space.member.left'];

export function spaceStore(
  { troupe, entityId, keepUnsent }: Given,
  spaceId: string | null,
  as: string | null = entityId,
): SpaceStore {
  return sharedOf(
    troupe,
    `space ${spaceId} ${as} ${keepUnsent}`,
    () => new SpaceStore(troupe, spaceId, { as, keepUnsent }),
  );
}

class SpaceStore extends FollowedStore<SpaceState, FollowedSpace, State> {
  readonly #spaceId: string | null;
  readonly #as: string | null;
  readonly #isKept: boolean;
  #endKeeping = () => {};
  readonly #outbox = new Outbox<Api.SpaceMessage>(this.troupe, () => this.#merge());
  #stored: readonly Api.SpaceMessage[] = [];
  #members: readonly Api.Membership[] = [];
  /** How far one says to have read, while the server does not know it yet. */
  #readUpTo: Api.SpaceMessage | null = null;
  #isMarking: Promise<void> | null = null;
  #typingSince = 0;
  #isReading = false;
  #isStale = false;

  constructor(troupe: Troupe, spaceId: string | null, { as, keepUnsent }: Speaking) {
    super(troupe, {
      space: null,
      members: [],
      messages: [],
      hasOlder: false,
      isLoadingOlder: false,
      live: [],
      activeAgents: [],
      calls: [],
      tasks: [],
      typing: [],
      entityId: as,
      lastSeenMessageId: null,
      connection: 'connecting',
      isLoading: true,
      error: null,
    });
    this.#spaceId = spaceId;
    this.#as = as;
    this.#isKept = keepUnsent;
  }

  protected override open(): void {
    super.open();
    if (!this.#isKept || this.#spaceId === null) return;
    const where = { as: this.#as, place: `space/${this.#spaceId}` };
    this.#endKeeping = keepUnsent(this.troupe, where, this.#outbox, ({ id, said, createdAt }) =>
      this.#outgoing(id, said as SaidInSpace, createdAt),
    );
  }

  protected override close(): void {
    this.#endKeeping();
    super.close();
  }

  get #space() {
    if (this.#spaceId === null) throw new Error('There is no space yet.');
    const space = this.troupe.space(this.#spaceId);
    return this.#as === null ? space : space.as(this.#as);
  }

  protected follow(): FollowedSpace | null {
    if (this.#spaceId === null) return null;
    if (this.#as === null) void meOf(this.troupe).then((entityId) => this.#know(entityId));
    return this.#space.follow({ onItem: (item) => this.#hear(item), pageSize: pageOf(this.#stored) });
  }

  #know(entityId: string | null): void {
    const typing = this.state.typing.filter((one) => one.entityId !== entityId);
    this.change({ entityId, typing, lastSeenMessageId: this.#lastSeen(entityId) });
  }

  #hear(item: StreamItem): void {
    hint(this.troupe, item);
    if (item.kind === 'event' && CHANGES_SPACE.includes(item.event.type)) void this.#readSpace();
  }

  /** Once more where something happened meanwhile. What is wrong with it, the stream says. */
  async #readSpace(): Promise<void> {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        this.change({ space: await this.#space.get() });
      }
    } catch {
      // See above.
    } finally {
      this.#isReading = false;
    }
  }

  protected show(now: SpaceState): Partial<State> {
    const { messages, hasMore, live, activeAgents, pendingCalls: calls, typing, members, tasks } = now;
    this.#stored = messages;
    this.#members = members;
    this.#outbox.confirm(messages);
    const { entityId } = this.state;
    const others = typing.filter((one) => one.entityId !== entityId);
    return {
      messages: this.#outbox.after(messages),
      ...{ hasOlder: hasMore, live, activeAgents, calls, members, tasks },
      typing: others.length === typing.length ? typing : others,
      lastSeenMessageId: this.#lastSeen(entityId),
    };
  }

  #merge(): void {
    this.change({ messages: this.#outbox.after(this.#stored) });
  }

  #sequenceOf(messageId: string | null | undefined): number {
    return this.#stored.find(({ id }) => id === messageId)?.sequence ?? 0;
  }

  #lastSeen(entityId: string | null): string | null {
    const own = this.#members.find((member) => member.entityId === entityId)?.lastSeenMessageId ?? null;
    const said = this.#readUpTo;
    return said && said.sequence > this.#sequenceOf(own) ? said.id : own;
  }

  protected override back(): void {
    this.#outbox.wake();
    void this.#readSpace();
  }

  protected override get isNeeded(): boolean {
    return !this.#outbox.isEmpty || this.#isMarking !== null;
  }

  async #load(older: () => Promise<void>): Promise<void> {
    this.change({ isLoadingOlder: true });
    try {
      await older();
    } finally {
      this.change({ isLoadingOlder: false });
    }
  }

  /** One request at a time, each for the last message that was seen by then. */
  async #mark(): Promise<void> {
    for (let told = 0; this.#readUpTo && this.#readUpTo.sequence > told; ) {
      const { id, sequence } = this.#readUpTo;
      told = sequence;
      await this.#space.read(id);
    }
  }

  #outgoing(id: string, said: SaidInSpace, createdAt: string): Outgoing<Api.SpaceMessage> {
    const space = this.#space;
    const senderId = this.state.entityId;
    const message: Api.SpaceMessage = {
      id,
      spaceId: space.id,
      sequence: 1,
      role: 'user',
      senderId,
      senderName: this.#members.find(({ entityId }) => entityId === senderId)?.name ?? null,
      senderType: 'human',
      content: said.content,
      tool: null,
      runId: null,
      metadata: said.metadata ?? {},
      createdAt,
    };
    const send = async () => {
      const { runs: _, duplicate: __, ...stored } = await space.post({ id, ...said });
      return stored;
    };
    return { message, said, send };
  }

  readonly actions = {
    post: (said: Said, options: PostOptions = {}): Promise<string> => {
      this.#typingSince = 0;
      const whole: SaidInSpace = { content: contentOf(said), ...options };
      return this.#outbox.add(this.#outgoing(newId(), whole, new Date().toISOString()));
    },
    setTyping: (isTyping: boolean): void => {
      const now = Date.now();
      if (isTyping ? now - this.#typingSince < TYPING_MS : this.#typingSince === 0) return;
      this.#typingSince = isTyping ? now : 0;
      // Of no use later, and no harm if it is lost.
      this.#space.typing(isTyping).catch(() => {});
    },
    markRead: async (messageId?: string): Promise<void> => {
      const message = messageId ? this.#stored.find(({ id }) => id === messageId) : this.#stored.at(-1);
      const { entityId, lastSeenMessageId } = this.state;
      if (!message || message.sequence <= this.#sequenceOf(lastSeenMessageId)) return;
      this.#readUpTo = message;
      this.change({ lastSeenMessageId: message.id });
      this.#isMarking ??= this.#mark().finally(() => {
        this.#isMarking = null;
      });
      try {
        await this.#isMarking;
      } catch (error) {
        this.#readUpTo = null;
        this.change({ lastSeenMessageId: this.#lastSeen(entityId) });
        throw error;
      }
    },
    loadOlder: async (): Promise<void> => {
      const { followed } = this;
      if (followed && !this.state.isLoadingOlder) await this.#load(() => followed.loadMore());
    },
    loadUpTo: async (messageId: string): Promise<void> => {
      const { followed } = this;
      if (followed) await this.#load(() => followed.loadUpTo(messageId));
    },
  };
}
