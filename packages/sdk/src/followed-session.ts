import type { Connected, Event, Message, RunStatus, Session as SessionRow, Task } from '@troupe/protocol';
import { NotFoundError } from './errors.ts';
import { Followed, type FollowedState } from './followed.ts';
import { type LiveStep, withDelta } from './live-steps.ts';
import type { Session } from './session.ts';
import { callsOf, type OpenRun, type SessionCall, type WaitingFor } from './session-calls.ts';
import type { StreamItem } from './stream.ts';

/** A session at one moment. Nothing in it is ever changed: what changes is replaced. */
export interface SessionState extends FollowedState {
  session: SessionRow | null;
  /** In their order, without gaps: from some message on, all. */
  messages: readonly Message[];
  /** Whether there are older ones, for `loadMore`. */
  hasMore: boolean;
  live: readonly LiveStep[];
  /** Runs that have not ended. */
  runs: readonly OpenRun[];
  /** The calls of the messages that are here. */
  calls: readonly SessionCall[];
  /** Work that was given from here, newest first. */
  tasks: readonly Task[];
}

export interface FollowSessionOptions {
  /** How many messages to begin with, and how many `loadMore` brings. Default: 50. */
  pageSize?: number;
  /** Hears everything that the stream brings, after the state has it. */
  onItem?: (item: StreamItem) => void;
  signal?: AbortSignal;
}

const STATUS: Record<string, RunStatus> = {
  'run.queued': 'queued',
  'run.started': 'running',
  'run.resumed': 'running',
  'run.waiting_tool': 'waiting_tool',
  'run.waiting_reply': 'waiting_reply',
};
const ENDS = ['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'];
const PAGE = 1_000;
const MOST_TASKS = 200;
const MOST_REMEMBERED = 1_000;
/** After every step. */
const ENDED = Number.MAX_SAFE_INTEGER;

/**
 * What a session is, from its stream. Items are taken one after the other, so that a live text is replaced by its message in one
 * change, and nothing is seen out of order.
 */
export class FollowedSession extends Followed<SessionState> {
  protected readonly over = { live: [] };
  readonly #session: Session;
  readonly #options: FollowSessionOptions;
  #more: Promise<void> | null = null;
  /** How far each run has said what it wrote: a piece of theirs that comes late is of no use. */
  readonly #written = new Map<string, number>();
  #waiting: readonly WaitingFor[] = [];
  /** Whether the last run that ended failed; null where none has since it is followed. */
  #failed: boolean | null = null;
  #reading: Promise<void> | null = null;
  #isStale = false;
  /** Events up to here are in what `connected` told of runs and calls. */
  #told = 0;
  #last = 0;

  constructor(session: Session, options: FollowSessionOptions = {}) {
    const nothing = { session: null, messages: [], hasMore: false, live: [], runs: [], calls: [], tasks: [] };
    super({ status: 'loading', error: null, ...nothing }, options.signal);
    this.#session = session;
    this.#options = options;
    this.begin();
  }

  /** Older messages, where there are any. */
  loadMore(): Promise<void> {
    this.#more ??= this.#loadMore().finally(() => {
      this.#more = null;
    });
    return this.#more;
  }

  async #loadMore(): Promise<void> {
    const first = this.state.messages[0];
    if (!first || !this.state.hasMore) return;
    const query = { before: first.sequence, limit: this.#pageSize };
    const { data } = await this.#session.messages(query, { signal: this.signal });
    this.#show([...data, ...this.state.messages], { hasMore: isAfterOthers(data[0]) });
  }

  get #pageSize(): number {
    return this.#options.pageSize ?? 50;
  }

  protected async follow(ready: () => void): Promise<void> {
    const { signal } = this;
    const session = this.#session;
    // The place in the log first: what happens while the rest is read is heard again, and known already.
    const { lastSequence } = await this.ask(() =>
      session.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 }, { signal }),
    );
    const newest = { before: Number.MAX_SAFE_INTEGER, limit: this.#pageSize };
    const [row, { data }, tasks] = await Promise.all([
      this.ask(() => session.get({ signal })),
      this.ask(() => session.messages(newest, { signal })),
      this.ask(() => session.tasks({ limit: MOST_TASKS }, { signal })),
    ]);
    this.#last = lastSequence;
    this.#show(data, { session: row, hasMore: isAfterOthers(data[0]), tasks: tasks.data });
    const onDisconnect = () => this.change({ status: 'reconnecting' });
    for await (const item of session.stream({ after: lastSequence, signal, onDisconnect })) {
      await this.#hear(item);
      if (item.kind === 'connected') ready();
      this.#options.onItem?.(item);
    }
  }

  async #hear(item: StreamItem): Promise<void> {
    if (item.kind === 'connected') await this.#connect(item.connected);
    else if (item.kind === 'delta') {
      const { runId, step } = item.delta;
      if (step <= (this.#written.get(runId) ?? -1)) return;
      const live = withDelta(this.state.live, item.delta);
      if (live !== this.state.live) this.change({ live });
    } else if (item.kind === 'event') {
      await this.#tell(item.event);
      this.#last = item.event.sequence;
    }
  }

  async #connect({ lastSequence, runs, calls }: Connected): Promise<void> {
    const isBehind = lastSequence > this.#last;
    if (isBehind) await this.#catchUp();
    this.#told = lastSequence;
    this.#waiting = calls;
    const open = new Set(runs.map(({ id }) => id));
    for (const id of open) this.#reopen(id);
    const live = this.state.live.filter(({ runId }) => open.has(runId));
    this.#work(runs as OpenRun[], { status: 'following', live });
    if (isBehind) this.#readSession();
  }

  async #tell(event: Event): Promise<void> {
    const { type, runId = '', data, sequence } = event;
    const { messages, session } = this.state;
    if (typeof data.sequence === 'number' && data.sequence > (messages.at(-1)?.sequence ?? 0)) {
      await this.#catchUp();
      // Its title is made of the first message.
      if (session?.title === null) this.#readSession();
    }
    if (type.startsWith('task.')) await this.#task(String(data.id));
    if (sequence > this.#told) this.#goOn(event);
    if (ENDS.includes(type) && runId) this.#readSession();
  }

  /** What is going on, after one more event. */
  #goOn({ type, runId = '', data }: Event): void {
    const others = this.state.runs.filter(({ id }) => id !== runId);
    const status = STATUS[type];
    if (status) {
      this.#reopen(runId);
      const isNew = others.length === this.state.runs.length;
      const now = { id: runId, status };
      this.#work(isNew ? [...others, now] : this.state.runs.map((run) => (run.id === runId ? now : run)));
    } else if (ENDS.includes(type)) {
      this.#failed = type === 'run.failed';
      this.#waiting = this.#waiting.filter((call) => call.runId !== runId);
      this.#remember(runId, ENDED);
      this.#work(others, { live: this.state.live.filter((one) => one.runId !== runId) });
    } else if (type.startsWith('tool.')) {
      const id = String(data.id);
      const rest = this.#waiting.filter((call) => call.runId !== runId || call.id !== id);
      const { waitsFor, deadline } = data as { waitsFor?: WaitingFor['waitsFor']; deadline?: string };
      this.#waiting =
        type === 'tool.waiting' && waitsFor
          ? [...rest, { runId, id, waitsFor, deadline: deadline ?? null }]
          : rest;
      this.#work(this.state.runs);
    }
  }

  /** The runs that are open now, and what follows from them. */
  #work(runs: readonly OpenRun[], more: Partial<SessionState> = {}): void {
    const { messages, calls, session } = this.state;
    this.change({
      ...more,
      runs,
      calls: callsOf(messages, runs, this.#waiting, calls),
      session: session && this.#withStatus(session, runs),
    });
  }

  #show(messages: readonly Message[], more: Partial<SessionState>): void {
    const { runs, calls } = this.state;
    this.change({ ...more, messages, calls: callsOf(messages, runs, this.#waiting, calls) });
  }

  #withStatus(session: SessionRow, runs: readonly OpenRun[]): SessionRow {
    const failed = this.#failed ?? session.status === 'failed';
    const idle = failed ? 'failed' : 'pending';
    const isWaiting = runs.some(({ status }) => status.startsWith('waiting'));
    const status = isWaiting ? 'waiting' : runs.length > 0 ? 'running' : idle;
    return session.status === status ? session : { ...session, status };
  }

  async #catchUp(): Promise<void> {
    const { signal } = this;
    for (let isMore = true; isMore; ) {
      const after = this.state.messages.at(-1)?.sequence ?? 0;
      const { data } = await this.ask(() => this.#session.messages({ after, limit: PAGE }, { signal }));
      isMore = data.length === PAGE;
      if (data.length === 0) return;
      for (const { role, runId, step } of data)
        if (runId && step !== null && (role === 'assistant' || role === 'tool_call'))
          this.#remember(runId, step);
      const live = this.state.live.filter(({ runId, step }) => step > (this.#written.get(runId) ?? -1));
      this.#show([...this.state.messages, ...data], { live });
    }
  }

  #remember(runId: string, step: number): void {
    const known = this.#written.get(runId) ?? -1;
    this.#written.delete(runId);
    this.#written.set(runId, Math.max(step, known));
    if (this.#written.size > MOST_REMEMBERED) this.#written.delete(this.#written.keys().next().value!);
  }

  /** A run that ended and was taken up again writes again, from the step on that it had not finished. */
  #reopen(runId: string): void {
    if (this.#written.get(runId) !== ENDED) return;
    this.#written.delete(runId);
    for (const message of this.state.messages)
      if (message.runId === runId && message.role !== 'user') this.#remember(runId, message.step ?? -1);
  }

  /** Beside the stream, which goes on meanwhile; once more where something happened since it was asked. */
  #readSession(): void {
    this.#isStale = true;
    this.#reading ??= this.#readUntilFresh()
      .catch(() => {}) // The stream will say what is wrong.
      .finally(() => {
        this.#reading = null;
      });
  }

  async #readUntilFresh(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      const row = await this.ask(() => this.#session.get({ signal: this.signal }));
      if (!this.#isStale) this.change({ session: this.#withStatus(row, this.state.runs) });
    }
  }

  async #task(id: string): Promise<void> {
    try {
      const now = await this.ask(() => this.#session.task(id, { signal: this.signal }));
      const { tasks } = this.state;
      const isKnown = tasks.some((task) => task.id === id);
      const changed = isKnown ? tasks.map((task) => (task.id === id ? now : task)) : [now, ...tasks];
      this.change({ tasks: changed.slice(0, MOST_TASKS) });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
}

/** Sequences begin with 1 and have no gaps. */
function isAfterOthers(first: Message | undefined): boolean {
  return first !== undefined && first.sequence > 1;
}
