import {
  type Api,
  type FollowedSession,
  newId,
  type SessionState,
  type StreamItem,
  type Troupe,
} from '@troupe/sdk';
import { type FollowedBase, FollowedStore, pageOf } from './followed-store.ts';
import { hint } from './hints.ts';
import { keepUnsent, type Speaking } from './keeping.ts';
import { Outbox, type Outgoing } from './outbox.ts';
import type { Given } from './provider.tsx';
import type { Said, SendOptions, SessionResult } from './results.ts';
import { contentOf } from './said.ts';
import { sharedOf } from './shared.ts';

type State = Omit<SessionResult, 'send' | 'stop' | 'retry' | 'loadOlder'> & FollowedBase;

/** What is sent, and kept until then. */
type SaidInSession = SendOptions & { content: ReturnType<typeof contentOf> };

const NOTHING: State = {
  session: null,
  messages: [],
  hasOlder: false,
  isLoadingOlder: false,
  live: [],
  runs: [],
  run: null,
  calls: [],
  tasks: [],
  connection: 'connecting',
  isLoading: true,
  error: null,
};

export function sessionStore(
  { troupe, entityId, keepUnsent }: Given,
  agentId: string | null,
  sessionId: string | null,
): SessionStore {
  return sharedOf(
    troupe,
    `session ${agentId} ${sessionId} ${entityId} ${keepUnsent}`,
    () => new SessionStore(troupe, agentId, sessionId, { as: entityId, keepUnsent }),
  );
}

class SessionStore extends FollowedStore<SessionState, FollowedSession, State> {
  readonly #agentId: string | null;
  readonly #sessionId: string | null;
  readonly #outbox = new Outbox<Api.Message>(this.troupe, () => this.#merge());

  readonly #speaking: Speaking;
  #endKeeping = () => {};

  constructor(troupe: Troupe, agentId: string | null, sessionId: string | null, speaking: Speaking) {
    super(troupe, NOTHING);
    this.#agentId = agentId;
    this.#sessionId = sessionId;
    this.#speaking = speaking;
  }

  protected override open(): void {
    super.open();
    const { as, keepUnsent: isKept } = this.#speaking;
    if (!isKept || this.#sessionId === null) return;
    const where = { as, place: `session/${this.#sessionId}` };
    this.#endKeeping = keepUnsent(this.troupe, where, this.#outbox, ({ id, said, createdAt }) =>
      this.#outgoing(id, said as SaidInSession, createdAt),
    );
  }

  protected override close(): void {
    this.#endKeeping();
    super.close();
  }

  get #session() {
    if (this.#agentId === null || this.#sessionId === null) throw new Error('There is no session yet.');
    return this.troupe.session(this.#agentId, this.#sessionId);
  }

  protected follow(): FollowedSession | null {
    if (this.#agentId === null || this.#sessionId === null) return null;
    const onItem = (item: StreamItem) => hint(this.troupe, item);
    return this.#session.follow({ onItem, pageSize: pageOf(this.#stored) });
  }

  protected override isThere({ session }: SessionState): boolean {
    return session !== null;
  }

  protected show({ session, messages, hasMore, live, runs, calls, tasks }: SessionState): Partial<State> {
    this.#stored = messages;
    this.#outbox.confirm(messages);
    const run = runs.find(({ status }) => status !== 'queued') ?? runs[0] ?? null;
    return { session, messages: this.#merged(), hasOlder: hasMore, live, runs, run, calls, tasks };
  }

  #stored: readonly Api.Message[] = [];

  #merged() {
    return this.#outbox.after(this.#stored);
  }

  #merge(): void {
    this.change({ messages: this.#merged() });
  }

  protected override back(): void {
    this.#outbox.wake();
  }

  protected override get isNeeded(): boolean {
    return !this.#outbox.isEmpty;
  }

  #outgoing(id: string, said: SaidInSession, createdAt: string): Outgoing<Api.Message> {
    const session = this.#session;
    const { content, policy = null, modelId = null, reasoningEffort = null, metadata = {} } = said;
    const message: Api.Message = {
      id,
      sessionId: session.id,
      sequence: 1,
      role: 'user',
      content,
      toolCallId: null,
      senderId: this.state.session?.entityId ?? null,
      runId: null,
      step: null,
      metadata,
      createdAt,
      ...{ policy, modelId, reasoningEffort },
    };
    const send = async () => {
      const { run: _, ...stored } = await session.send({ id, ...said });
      return stored;
    };
    return { message, said, send };
  }

  readonly actions = {
    send: (said: Said, options: SendOptions = {}): Promise<string> => {
      const whole: SaidInSession = { content: contentOf(said), ...options };
      return this.#outbox.add(this.#outgoing(newId(), whole, new Date().toISOString()));
    },
    stop: async (): Promise<void> => {
      await this.#session.cancel();
    },
    retry: async (options: { modelId?: string } = {}): Promise<void> => {
      await this.#session.retry(options);
    },
    loadOlder: async (): Promise<void> => {
      if (!this.followed || this.state.isLoadingOlder) return;
      this.change({ isLoadingOlder: true });
      try {
        await this.followed.loadMore();
      } finally {
        this.change({ isLoadingOlder: false });
      }
    },
  };
}
