import { ApiError, type Troupe } from '@troupe/sdk';
import { errorOf } from './followed-store.ts';
import { type Noun, onHint } from './hints.ts';
import { onPage } from './line.ts';
import { Shared } from './shared.ts';
import { watch } from './watching.ts';

/** Between two times that it is asked for, however much happens. */
const PAUSE_MS = 250;
/** While nobody tells what changes, and while somebody does: some changes are told by nobody. */
const POLL_MS = 3_000;
const SLOW_POLL_MS = 10_000;
const MOST = 200;

interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

export interface ListState<Item> {
  items: readonly Item[];
  hasMore: boolean;
  isLoading: boolean;
  error: Error | null;
}

interface Listed<Item> {
  noun: Noun;
  /** Null: there is nothing to ask for yet. */
  ask: ((page: { limit: number; cursor?: string }) => Promise<Page<Item>>) | null;
  pageSize: number;
  nameOf(item: Item): string;
}

/**
 * A list that is asked for again when something tells that it may have changed, and every few seconds while the page is
 * visible.
 */
export class ListStore<Item> extends Shared<ListState<Item>> {
  protected readonly troupe: Troupe;
  readonly #listed: Listed<Item>;
  /** How many are wanted: more with every page that was asked for. */
  #wanted: number;
  /** How many pages may be read for them: those of a search have few, or none, and others follow. */
  #pages = 1;
  #read: readonly Item[] = [];
  #reading: Promise<void> | null = null;
  #isStale = false;
  #isTold = false;
  #soon: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #ends: (() => void)[] = [];

  constructor(troupe: Troupe, listed: Listed<Item>) {
    super({ items: [], hasMore: false, isLoading: true, error: null });
    this.troupe = troupe;
    this.#listed = listed;
    this.#wanted = listed.pageSize;
  }

  protected open(): void {
    const { noun, ask } = this.#listed;
    if (!ask) {
      this.change({ isLoading: false });
      return;
    }
    const tell = () => {
      this.#isTold = true;
      this.#later();
    };
    const lose = () => {
      this.#isTold = false;
    };
    this.#ends = [
      watch(this.troupe, { noun, tell, lose }),
      onHint(this.troupe, (nouns) => nouns.includes(noun) && this.#later()),
      onPage(['online', 'focus', 'visibilitychange'], () => isVisible() && this.#later()),
    ];
    void this.refresh().catch(() => {});
  }

  protected close(): void {
    for (const end of this.#ends) end();
    clearTimeout(this.#soon);
    clearTimeout(this.#poll);
    this.#soon = undefined;
  }

  #later(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.refresh().catch(() => {});
    }, PAUSE_MS);
  }

  /** Asks again; where it is being asked, once more after that. */
  refresh = (): Promise<void> => {
    this.#isStale = true;
    this.#reading ??= this.#readUntilFresh().finally(() => {
      this.#reading = null;
      this.#schedule();
    });
    return this.#reading;
  };

  loadMore = (): Promise<void> => {
    if (!this.state.hasMore) return Promise.resolve();
    this.#wanted += this.#listed.pageSize;
    this.#pages++;
    return this.refresh();
  };

  /** For those who only look. */
  readonly listing = { loadMore: this.loadMore, refresh: this.refresh };

  #schedule(): void {
    clearTimeout(this.#poll);
    if (!this.isOpen) return;
    this.#poll = setTimeout(
      () => (isVisible() ? void this.refresh().catch(() => {}) : this.#schedule()),
      this.#isTold || this.state.error ? SLOW_POLL_MS : POLL_MS,
    );
  }

  async #readUntilFresh(): Promise<void> {
    const { ask } = this.#listed;
    while (this.#isStale && ask) {
      this.#isStale = false;
      try {
        const { items, hasMore } = await this.#readPages(ask);
        this.#read = this.#same(items);
        this.change({ items: this.shown(this.#read), hasMore, isLoading: false, error: null });
      } catch (error) {
        // Whoever is offline sees what was there; what is refused is told.
        if (error instanceof ApiError && error.status < 500)
          this.change({ isLoading: false, error: errorOf(error) });
        throw error;
      }
    }
  }

  async #readPages(ask: NonNullable<Listed<Item>['ask']>): Promise<{ items: Item[]; hasMore: boolean }> {
    const items = new Map<string, Item>();
    let cursor: string | null | undefined;
    for (let pages = 1; ; pages++) {
      const limit = Math.min(this.#wanted - items.size, MOST);
      const page: Page<Item> = await ask({ limit, ...(cursor ? { cursor } : {}) });
      for (const item of page.data) items.set(this.#listed.nameOf(item), item);
      cursor = page.nextCursor;
      if (!cursor || items.size >= this.#wanted || pages >= this.#pages)
        return { items: [...items.values()], hasMore: cursor !== null };
    }
  }

  /** Those that are as they were are the same objects, so that nobody is drawn again for them. */
  #same(items: readonly Item[]): readonly Item[] {
    const before = new Map(this.#read.map((item) => [this.#listed.nameOf(item), item]));
    const now = items.map((item) => {
      const known = before.get(this.#listed.nameOf(item));
      return known !== undefined && JSON.stringify(known) === JSON.stringify(item) ? known : item;
    });
    const isUnchanged = now.length === this.#read.length && now.every((item, at) => item === this.#read[at]);
    return isUnchanged ? this.#read : now;
  }

  /** What is shown of what was read. */
  protected shown(items: readonly Item[]): readonly Item[] {
    return items;
  }

  /** What is shown may be another now. */
  protected showAgain(): void {
    this.change({ items: this.shown(this.#read) });
  }

  /** Gone, before the server was asked again. */
  protected drop(name: string): void {
    this.#read = this.#read.filter((item) => this.#listed.nameOf(item) !== name);
    this.showAgain();
  }
}

function isVisible(): boolean {
  const { document } = globalThis as { document?: { visibilityState?: string } };
  return document?.visibilityState !== 'hidden';
}
