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
import { Outbox } from './outbox.ts';
import type { Said, SendOptions, SessionResult } from './results.ts';
import { contentOf } from './said.ts';
import { sharedOf } from './shared.ts';

type State = Omit<SessionResult, 'send' | 'stop' | 'retry' | 'loadOlder'> & FollowedBase;

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

export function sessionStore(troupe: Troupe, agentId: string | null, sessionId: string | null): SessionStore {
  return sharedOf(
    troupe,
    `session ${agentId} ${sessionId}`,
    () => new SessionStore(troupe, agentId, sessionId),
  );
}

export class SessionStore extends FollowedStore<SessionState, FollowedSession, State> {
  readonly #agentId: string | null;
  readonly #sessionId: string | null;
  readonly #outbox = new Outbox<Api.Message>(this.troupe, () => this.#merge());

  constructor(troupe: Troupe, agentId: string | null, sessionId: string | null) {
    super(troupe, NOTHING);
    this.#agentId = agentId;
    this.#sessionId = sessionId;
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

  readonly actions = {
    send: (said: Said, options: SendOptions = {}): Promise<string> => {
      const session = this.#session;
      const content = contentOf(said);
      const id = newId();
      const { policy = null, modelId = null, reasoningEffort = null, metadata = {} } = options;
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
        createdAt: new Date().toISOString(),
        ...{ policy, modelId, reasoningEffort },
      };
      return this.#outbox.add(message, async () => {
        const { run: _, ...stored } = await session.send({ id, content, ...options });
        return stored;
      });
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
