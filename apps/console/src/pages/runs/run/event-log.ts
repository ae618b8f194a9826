import type { Api } from '@troupe/sdk';
import { troupe } from '../../../data/client.ts';

const FIRST = 300;
const PAGE = 1_000;
/** Sequences are below this, whatever happens. */
const BEYOND = Number.MAX_SAFE_INTEGER;
/** What comes live is shown so often at most. */
const GATHER_MS = 100;

interface LogState {
  /** From the first event on, without a gap. */
  head: readonly Api.Event[];
  /** Up to the last event, without a gap; null while nobody has jumped there, and once it has met the head. */
  tail: readonly Api.Event[] | null;
  /** The head reaches the end of what there was. */
  isWhole: boolean;
  loading: 'down' | 'up' | 'start' | 'end' | null;
  error: unknown;
  /** How many rows were put in before the tail in all, so that whoever looks at it can stay where they are. */
  putBefore: number;
}

/**
 * The events of a run, of which there may be fifty thousand, read from both ends: on from the start, and back from the end once somebody
 * jumps there. Where the two meet, they are one.
 */
export class EventLog {
  readonly #runId: string;
  readonly #types: string | undefined;
  readonly #listeners = new Set<() => void>();
  #state: LogState = { head: [], tail: null, isWhole: false, loading: null, error: null, putBefore: 0 };
  #closed = false;
  /** What is being loaded. */
  #under: Promise<void> | null = null;

  constructor(runId: string, types: string | undefined) {
    this.#runId = runId;
    this.#types = types;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly state = (): LogState => this.#state;

  /** A page that is left asks for no more. */
  close(): void {
    this.#closed = true;
  }

  open(): void {
    this.#closed = false;
  }

  async start(): Promise<void> {
    await this.#free();
    if (this.#state.head.length > 0 || this.#state.isWhole) return;
    return this.#load('start', async () => {
      const page = await this.#ask({ after: 0, limit: FIRST });
      this.#set({ head: page, isWhole: page.length < FIRST });
    });
  }

  /** The next ones after the head. */
  down(): Promise<void> {
    const { head, tail, isWhole } = this.#state;
    if (isWhole || head.length === 0) return Promise.resolve();
    return this.#load('down', async () => {
      const first = tail?.[0]?.sequence ?? BEYOND;
      const page = await this.#ask({ after: head.at(-1)!.sequence, limit: PAGE });
      const between = page.filter(({ sequence }) => sequence < first);
      if (page.length < PAGE || between.length < page.length) this.#join([...head, ...between]);
      else this.#set({ head: [...head, ...between] });
    });
  }

  /** The last ones of all. */
  async end(): Promise<void> {
    await this.#free();
    const { head, tail, isWhole } = this.#state;
    if (isWhole || tail) return;
    return this.#load('end', async () => {
      const after = head.at(-1)?.sequence ?? 0;
      const page = await this.#ask({ after, before: BEYOND, limit: FIRST });
      this.#set({ tail: page });
      if (page.length < FIRST) this.#join(head);
    });
  }

  /** The last ones before the tail. */
  up(): Promise<void> {
    const { head, tail } = this.#state;
    if (!tail || tail.length === 0) return Promise.resolve();
    return this.#load('up', async () => {
      const after = head.at(-1)?.sequence ?? 0;
      const page = await this.#ask({ after, before: tail[0]!.sequence, limit: PAGE });
      const now = this.#state;
      this.#set({
        tail: [...page, ...(now.tail ?? [])],
        putBefore: now.putBefore + page.length,
      });
      // The row that stood for the gap goes.
      if (page.length < PAGE) this.#join(now.head, -1);
    });
  }

  /** All that there is, page after page: what a search needs. */
  async all(signal: AbortSignal): Promise<void> {
    await this.start();
    while (!this.#state.isWhole && !this.#state.error && !signal.aborted && !this.#closed) {
      if (this.#state.loading) await new Promise((resolve) => setTimeout(resolve, 20));
      else await this.down();
    }
  }

  /** What happens from now on. Begins at the end. */
  async follow(signal: AbortSignal): Promise<void> {
    await this.start();
    await this.end();
    const last = (this.#state.tail ?? this.#state.head).at(-1)?.sequence ?? 0;
    let gathered: Api.Event[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = () => {
      timer = undefined;
      this.#append(gathered);
      gathered = [];
    };
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    const types = this.#types?.split(',');
    const stream = troupe.run(this.#runId).stream({ after: last, signal, ...(types ? { types } : {}) });
    for await (const item of stream) {
      if (item.kind !== 'event') continue;
      gathered.push(item.event);
      timer ??= setTimeout(tell, GATHER_MS);
    }
  }

  #append(events: Api.Event[]): void {
    const { head, tail, isWhole } = this.#state;
    const end = tail ?? head;
    const last = end.at(-1)?.sequence ?? 0;
    const added = events.filter(({ sequence }) => sequence > last);
    if (added.length === 0) return;
    if (tail) this.#set({ tail: [...tail, ...added] });
    else if (isWhole) this.#set({ head: [...head, ...added] });
  }

  #join(head: readonly Api.Event[], rows = 0): void {
    const { tail, putBefore } = this.#state;
    this.#set({ head: [...head, ...(tail ?? [])], tail: null, isWhole: true, putBefore: putBefore + rows });
  }

  async #ask(query: { after: number; before?: number; limit: number }): Promise<Api.Event[]> {
    const types = this.#types ? { types: this.#types } : {};
    return (await troupe.runs.events({ params: { runId: this.#runId }, query: { ...query, ...types } })).data;
  }

  /** Whoever says once where to go is not to be passed over since something is on its way. */
  async #free(): Promise<void> {
    while (this.#under) await this.#under;
  }

  /** One at a time: what scrolling asks for meanwhile is asked for again, as long as it is wanted. */
  async #load(loading: LogState['loading'], act: () => Promise<void>): Promise<void> {
    if (this.#under || this.#closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#under = promise;
    const done = (error: unknown) => {
      this.#under = null;
      this.#set({ loading: null, error });
      resolve();
    };
    this.#set({ loading, error: null });
    await act().then(() => done(null), done);
  }

  #set(change: Partial<LogState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
