import { ApiError, type Troupe } from '@troupe/sdk';

// What was said and is not sent yet, in the storage of the browser: one item for each message, so that two tabs never overwrite each other's. Under
// whose name it stands (`Unsent`) nobody else's is found. Neither keys nor tokens are written.

const PREFIX = 'troupe.unsent ';
/** Whoever comes back later would not expect that it is still said. */
const LONGEST_MS = 3 * 86_400_000;
/** Of all that is kept, and of one message. Storage has room for about five million characters, for the whole origin. */
const MOST = 200;
const MOST_CHARACTERS = 1_000_000;
const LONGEST_MESSAGE = 200_000;
/** What other tabs are told of a message that nobody wants to be sent any more. */
const DISCARDED = 'discarded';
/** After a try that did not reach the server, for as long as it takes. */
const AGAIN_MS = 1_000;

/** A message as it was said. */
export interface KeptMessage {
  id: string;
  /** What is sent: the content and all that goes with it. */
  said: object;
  createdAt: string;
  /** Why it was refused, where it was. */
  error: { code: string; message: string } | null;
}

/** With its place in the order, which ids do not tell. */
type Stored = KeptMessage & { at: number };

/** Null where the page may not have any, as with cookies turned off, or where there is no page. */
function storage(): Storage | null {
  try {
    return (globalThis as { localStorage?: Storage }).localStorage ?? null;
  } catch {
    return null;
  }
}

/** Whether anything is kept for this session or space, whoever said it. */
export function mayHaveUnsent(place: string): boolean {
  return keysIn(storage()).some((key) => key.includes(` ${place} `));
}

/** What one person said in one session or space. */
export class Unsent {
  readonly identity: string;
  readonly #storage: Storage | null;
  readonly #prefix: string;

  constructor(identity: string, place: string) {
    this.identity = identity;
    this.#storage = storage();
    this.#prefix = `${PREFIX}${identity} ${place} `;
    tidy(this.#storage);
  }

  /** In the order in which they were said. */
  list(): KeptMessage[] {
    return this.#stored();
  }

  #stored(): Stored[] {
    return keysIn(this.#storage)
      .filter((key) => key.startsWith(this.#prefix))
      .flatMap((key) => read(this.#storage, key) ?? [])
      .sort((one, other) => one.at - other.at);
  }

  /** Behind all that is kept, or where it is already. Where there is no room for it, it is in the page alone. */
  keep(message: KeptMessage): void {
    const stored = this.#stored();
    const known = stored.find(({ id }) => id === message.id);
    const at = known?.at ?? Math.max(Date.now(), (stored.at(-1)?.at ?? 0) + 1);
    const text = JSON.stringify({ ...message, at } satisfies Stored);
    const key = this.#prefix + message.id;
    const others = keysIn(this.#storage).filter((other) => other !== key);
    const size = others.reduce((sum, other) => sum + (this.#storage?.getItem(other)?.length ?? 0), 0);
    if (text.length > LONGEST_MESSAGE || others.length >= MOST || size + text.length > MOST_CHARACTERS)
      return;
    try {
      this.#storage?.setItem(key, text);
    } catch {
      // Others have filled it.
    }
  }

  remove(id: string): void {
    this.#storage?.removeItem(this.#prefix + id);
  }

  /** Also in the other tabs that took it up. */
  discard(id: string): void {
    const key = this.#prefix + id;
    if (this.#storage?.getItem(key) == null) return;
    try {
      this.#storage.setItem(key, DISCARDED);
    } catch {
      // It is removed all the same.
    }
    this.#storage.removeItem(key);
  }

  /** Until the answered function is called: what another tab discards. */
  onDiscard(listener: (id: string) => void): () => void {
    const page = globalThis as Partial<Pick<Window, 'addEventListener' | 'removeEventListener'>>;
    const hear = ({ key, newValue }: StorageEvent) => {
      if (newValue === DISCARDED && key?.startsWith(this.#prefix)) listener(key.slice(this.#prefix.length));
    };
    page.addEventListener?.('storage', hear);
    return () => page.removeEventListener?.('storage', hear);
  }
}

function keysIn(found: Storage | null): string[] {
  if (!found) return [];
  return Array.from({ length: found.length }, (_, at) => found.key(at) ?? '').filter((key) =>
    key.startsWith(PREFIX),
  );
}

function read(found: Storage | null, key: string): Stored | null {
  try {
    const message = JSON.parse(found?.getItem(key) ?? 'null') as Stored | null;
    return typeof message?.id === 'string' && typeof message.said === 'object' ? message : null;
  } catch {
    return null;
  }
}

/** Away with what is too old or no message, whoever it is of. */
function tidy(found: Storage | null): void {
  for (const key of keysIn(found)) {
    const message = read(found, key);
    const age = Date.now() - Date.parse(message?.createdAt ?? '');
    if (!(age < LONGEST_MS)) found?.removeItem(key);
  }
}

/**
 * Under whose name it is kept: the server, the project, and the key or the person, as the server itself names them. Asked until it answers; null
 * where it does not say. Not remembered: the token of a client may be somebody else's by the next time.
 */
export async function identityOf(
  troupe: Troupe,
  as: string | null,
  { signal }: { signal: AbortSignal },
): Promise<string | null> {
  while (!signal.aborted) {
    try {
      const { project, caller } = await troupe.system.get({}, { signal });
      const { href } = (globalThis as { location?: { href: string } }).location ?? {};
      const server = new URL(`${troupe.baseUrl}/`, href).href;
      const who = caller.kind === 'user' ? caller.entityId : caller.keyId;
      return [server, project.id, caller.kind, who, as]
        .map((part) => encodeURIComponent(part ?? ''))
        .join('/');
    } catch (error) {
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) return null;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
  return null;
}
