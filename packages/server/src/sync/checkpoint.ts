import { createHash } from 'node:crypto';
import type { Collection } from '@troupe/protocol';
import { Refusal } from '../base/index.ts';
import type { Position, SyncScope } from '../store/index.ts';

/** Ids of documents: one id, or two. The position of a scan of messages: a thread and a number. */
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const KEY = new RegExp(`^(${UUID}(:(${UUID}|[0-9]{1,18}))?)?$`);

/** Before everything. */
export const START: Position = { xid: -1, id: '', scans: true };

/** Before everything, for a reader who may have documents: deletions come first, so that a document that exists again stays. */
export const RESTART: Position = { xid: -1, id: '', gone: true };

/** What a position is in: this database, and this copy of it. One person's place says nothing about what another has. */
export function orderOf(
  generation: string,
  collection: Collection,
  { project, entityId, chat }: SyncScope,
): string {
  const copy = createHash('sha256').update([collection, project, entityId, chat?.toLowerCase()].join(' '));
  return `${generation}.${copy.digest('base64url').slice(0, 8)}`;
}

/** A position, and in what. What is in it is nobody's business but ours. */
export function toCheckpoint(order: string, { xid, id, scans, gone }: Position): string {
  const kind = scans ? [1] : gone ? [2] : [];
  return Buffer.from(JSON.stringify([order, xid, id, ...kind])).toString('base64url');
}

export function fromCheckpoint(checkpoint: string): Position & { order: string } {
  try {
    const [order, xid, id, kind] = JSON.parse(Buffer.from(checkpoint, 'base64url').toString()) as unknown[];
    const isPosition = typeof order === 'string' && Number.isSafeInteger(xid) && (xid as number) >= 0;
    if (isPosition && typeof id === 'string' && KEY.test(id))
      return {
        order,
        xid: xid as number,
        id,
        ...(kind === 1 && { scans: true }),
        ...(kind === 2 && { gone: true }),
      };
  } catch {
    // told below
  }
  throw new Refusal('invalid', 'bad_checkpoint', 'The checkpoint is not one of ours.', {
    hint: 'Send the `checkpoint` of the last answer as it is, or none to begin at the beginning.',
    issues: [{ path: 'checkpoint', message: 'is not the checkpoint of an answer' }],
  });
}
