import { messageOf } from '../base/index.ts';

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** The connection went away or the server is not (yet) there; the statement may or may not have been carried out. */
export function isConnectionError(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) {
    if (NETWORK.has(code) || code.startsWith('08') || code.startsWith('57P') || code === '53300') return true;
    if (/^[0-9A-Z]{5}$/.test(code)) return false;
  }
  return /terminated|timeout|not queryable|Client has encountered|socket|Query read/i.test(messageOf(error));
}

/** This process has closed its pools: it is about to end. Not a connection error, since sending the statement again cannot help. */
export function isPoolClosed(error: unknown): boolean {
  return /after calling end on the pool/.test(messageOf(error));
}

/** Deadlock, serialization failure, lock timeout: nothing was written, the same statement may be sent again. */
export function isContention(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40001' || code === '40P01' || code === '55P03';
}

export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === '53100';
}

/** Why the database answers and takes no writes: its disk is full, or it is read-only, as a standby is. */
export type DatabaseShortage = 'storage_full' | 'database_read_only';

export function shortageIn(error: unknown): DatabaseShortage | null {
  const code = codeOf(error);
  if (code === '53100') return 'storage_full';
  return code === '25006' ? 'database_read_only' : null;
}

/** Out of memory, or past another limit of PostgreSQL: nothing was written. */
export function isOverload(error: unknown): boolean {
  const code = codeOf(error);
  return code === '53000' || code === '53200' || code === '53400';
}

/** A call that was to be written as ended is not this worker's to end: it was handed over, and the answer to that got lost. */
export function isNotOpen(error: unknown): boolean {
  return codeOf(error) === 'TR003';
}

/** Another row has what must be there once; `index` is the constraint's or the index's name. */
export function isTaken(error: unknown, index: string): boolean {
  return codeOf(error) === '23505' && (error as { constraint?: unknown }).constraint === index;
}

/** Another row points at the one that was to be deleted. */
export function isPointedAt(error: unknown): boolean {
  return codeOf(error) === '23503';
}
