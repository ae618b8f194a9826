import type { Troupe } from '@troupe/sdk';
import type { Connection } from './results.ts';
import { Shared } from './shared.ts';

// A connection that is lost for a moment, as when a server is started anew, is nothing to tell of.
const PATIENCE_MS = { loading: 10_000, reconnecting: 2_000 };

type Status = 'loading' | 'following' | 'reconnecting' | 'ended';

interface Events {
  addEventListener?: (type: string, listener: () => void) => void;
  removeEventListener?: (type: string, listener: () => void) => void;
}
const events = globalThis as Events;

/** Whether the browser says that there is no network. A server on the same machine needs none. */
export function isOffline({ baseUrl }: Pick<Troupe, 'baseUrl'>): boolean {
  const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
  return navigator?.onLine === false && !isOnThisMachine(baseUrl);
}

function isOnThisMachine(address: string): boolean {
  const { location } = globalThis as { location?: { href: string } };
  const { hostname } = new URL(`${address}/`, location?.href);
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Tells of events of the page until the answered function is called. */
export function onPage(types: readonly string[], listener: () => void): () => void {
  for (const type of types) events.addEventListener?.(type, listener);
  return () => {
    for (const type of types) events.removeEventListener?.(type, listener);
  };
}

/** The connection of one thing that is followed. */
export class Line {
  connection: Connection = 'connecting';
  #status: Status = 'loading';
  #isLate = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #troupe: Troupe;
  readonly #changed: (connection: Connection) => void;
  readonly #all: Lines;
  readonly #forget: () => void;

  constructor(troupe: Troupe, changed: (connection: Connection) => void) {
    this.#troupe = troupe;
    this.#changed = changed;
    this.#all = linesOf(troupe);
    this.#all.add(this);
    this.#forget = onPage(['online', 'offline'], () => this.#look());
    this.set('loading');
  }

  set(status: Status): void {
    if (status !== this.#status || this.#timer === undefined) {
      clearTimeout(this.#timer);
      this.#isLate = false;
      if (status === 'loading' || status === 'reconnecting') {
        this.#timer = setTimeout(() => {
          this.#isLate = true;
          this.#look();
        }, PATIENCE_MS[status]);
      }
    }
    this.#status = status;
    this.#look();
  }

  #look(): void {
    const isLost = isOffline(this.#troupe) || this.#isLate || this.#status === 'ended';
    const now = isLost ? 'offline' : this.#status === 'following' ? 'live' : 'connecting';
    if (now === this.connection) return;
    this.connection = now;
    this.#changed(now);
    this.#all.look();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#forget();
    this.#all.remove(this);
  }
}

/** All that a client follows: as bad as the worst of them. */
class Lines extends Shared<{ connection: Connection }> {
  readonly #troupe: Troupe;
  readonly #lines = new Set<Line>();
  #forget = () => {};

  constructor(troupe: Troupe) {
    super({ connection: isOffline(troupe) ? 'offline' : 'live' });
    this.#troupe = troupe;
  }

  add(line: Line): void {
    this.#lines.add(line);
    this.look();
  }

  remove(line: Line): void {
    this.#lines.delete(line);
    this.look();
  }

  look(): void {
    const all = new Set([...this.#lines].map(({ connection }) => connection));
    if (isOffline(this.#troupe)) all.add('offline');
    const worst = all.has('offline') ? 'offline' : all.has('connecting') ? 'connecting' : 'live';
    this.change({ connection: worst });
  }

  protected open(): void {
    this.#forget = onPage(['online', 'offline'], () => this.look());
    this.look();
  }

  protected close(): void {
    this.#forget();
  }
}

const known = new WeakMap<Troupe, Lines>();

export function linesOf(troupe: Troupe): Lines {
  const lines = known.get(troupe) ?? new Lines(troupe);
  known.set(troupe, lines);
  return lines;
}
