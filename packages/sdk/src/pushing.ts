import { type Collection, syncEndpoints } from '@troupe/protocol';
import { ApiError, TroupeClientError } from './errors.ts';
import { pause, type Transport } from './transport.ts';

export interface Row {
  newDocumentState: { id: string; _deleted: boolean } & Record<string, unknown>;
  assumedMasterState: Record<string, unknown> | null;
}

export interface Refused {
  id: string;
  code: string;
  message: string;
  document: Record<string, unknown>;
}

interface Pushed {
  conflicts: Row['newDocumentState'][];
  refused: Refused[];
}

export interface PushingOptions {
  user?: string | undefined;
  patienceMs?: number | undefined;
  onRefused?: ((refused: Refused) => void) | undefined;
}

/** What one request carries at most; the server takes ten million bytes. */
const MOST_BYTES = 4_000_000;
const LARGEST_ROW = 9_000_000;
/** How often a message whose session is not there is sent before RxDB is asked to come again: mostly it is on its way. */
const TRIES = 4;
const PATIENCE_MS = 120_000;

/**
 * Collections are pushed independently of each other, so a message may come before the session that it is in. What a client knows of the
 * sessions that it opens: those that are on their way, and those that the server does not want.
 */
interface Opening {
  underWay: Set<string>;
  refused: Set<string>;
}
const openings = new WeakMap<Transport, Opening>();
function openingOf(transport: Transport): Opening {
  const opening = openings.get(transport) ?? { underWay: new Set(), refused: new Set() };
  openings.set(transport, opening);
  return opening;
}

/** A push handler: what was written here, to the server; answers with what it has instead. */
export function pusher(
  transport: Transport,
  collection: Collection,
  { user, patienceMs = PATIENCE_MS, onRefused }: PushingOptions,
): (rows: Row[]) => Promise<Row['newDocumentState'][]> {
  const opening = openingOf(transport);
  /** Since when the server has said of a message that its chat is not there. */
  const early = new Map<string, number>();

  const send = async (rows: Row[]): Promise<Pushed> => {
    const query = user === undefined ? {} : { user };
    const request = { params: { collection }, query, body: { rows } };
    const answer = await transport.call(syncEndpoints.push, request).catch((error: unknown) => {
      if (!isOfRow(error)) throw error;
      return error;
    });
    // One of them can never be sent, and would keep all others from it: which is it?
    if (answer instanceof ApiError) {
      if (rows.length === 1) return refusedHere(rows[0]!, answer);
      const half = Math.ceil(rows.length / 2);
      const [first, second] = [await send(rows.slice(0, half)), await send(rows.slice(half))];
      return {
        conflicts: [...first.conflicts, ...second.conflicts],
        refused: [...first.refused, ...second.refused],
      };
    }
    const { conflicts, refused } = answer;
    const documents = new Map(rows.map(({ newDocumentState }) => [newDocumentState.id, newDocumentState]));
    return {
      conflicts: conflicts as Row['newDocumentState'][],
      refused: refused.map((one) => ({ ...one, document: { ...documents.get(one.id) } })),
    };
  };

  const isYetToCome = ({ id, code, document }: Refused): boolean => {
    const chat = String(document.chatId).toLowerCase();
    if (code !== 'chat_not_found' || opening.refused.has(chat)) return false;
    if (opening.underWay.has(chat)) return true;
    const since = early.get(id) ?? performance.now();
    early.set(id, since);
    return performance.now() - since < patienceMs;
  };

  /** Messages and tasks, whose session may be created later. */
  const pushIntoChats = async (rows: Row[]): Promise<Pushed> => {
    for (let tries = 1; ; tries++) {
      // All of it again: what was done by now is found done.
      const pushed = await send(rows);
      const waiting = pushed.refused.filter(isYetToCome);
      if (waiting.length === 0) {
        for (const { newDocumentState } of rows) early.delete(newDocumentState.id);
        return pushed;
      }
      // RxDB keeps what it wrote, and sends it again.
      if (tries >= TRIES)
        throw new TroupeClientError(
          `The session or space of ${waiting.length} documents does not exist yet; they are sent again.`,
        );
      await pause(100 * 2 ** tries);
    }
  };

  const pushSessions = async (rows: Row[]): Promise<Pushed> => {
    const ids = rows.map(({ newDocumentState }) => newDocumentState.id.toLowerCase());
    for (const id of ids) opening.underWay.add(id);
    const pushed = await send(rows);
    const unwanted = new Set(pushed.refused.map(({ id }) => id.toLowerCase()));
    for (const id of ids) {
      opening.underWay.delete(id);
      if (unwanted.has(id)) opening.refused.add(id);
      else opening.refused.delete(id);
    }
    return pushed;
  };

  const push =
    { messages: pushIntoChats, tasks: pushIntoChats, sessions: pushSessions }[collection as string] ?? send;
  return async (rows) => {
    const conflicts: Row['newDocumentState'][] = [];
    const refused: Refused[] = [];
    for (const part of partsOf(rows)) {
      const [row] = part;
      const pushed = isTooLarge(row!) ? refusedHere(row!, TOO_LARGE) : await push(part);
      conflicts.push(...pushed.conflicts);
      refused.push(...pushed.refused);
    }
    for (const one of refused) onRefused?.(one);
    return conflicts;
  };
}

const bytesOf = (row: Row) => new TextEncoder().encode(JSON.stringify(row)).length;
const isTooLarge = (row: Row) => bytesOf(row) > LARGEST_ROW;

/** In order, each small enough for one request; what is too large for any is alone. */
function partsOf(rows: Row[]): Row[][] {
  const parts: Row[][] = [];
  let room = 0;
  for (const row of rows) {
    const bytes = bytesOf(row);
    if (bytes > room) {
      parts.push([]);
      room = MOST_BYTES;
    }
    parts.at(-1)!.push(row);
    room -= bytes;
  }
  return parts;
}

const TOO_LARGE = { code: 'too_large', message: 'The document is too large to be sent.' };

/** The request could not even be read, because of what is in a document. */
function isOfRow(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return error.status === 413 || (error.issues ?? []).some(({ path }) => path.startsWith('rows'));
}

/** Sent again and again, it would keep everything else from being sent. */
function refusedHere(
  { newDocumentState: document, assumedMasterState }: Row,
  { code, message }: { code: string; message: string },
): Pushed {
  const { id } = document;
  const refused = { id, code, message, document };
  const master = assumedMasterState
    ? { ...document, ...assumedMasterState }
    : { ...document, _deleted: true };
  return { conflicts: [master], refused: [refused] };
}
