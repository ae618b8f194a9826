import { type Collection, tombstoneOf } from '@troupe/protocol';
import { type Changed, changesAfter, type Database, type Position, type SyncScope } from '../store/index.ts';
import { fromCheckpoint, orderOf, RESTART, START, toCheckpoint } from './checkpoint.ts';

export interface Pulled {
  documents: ({ id: string; _deleted: boolean } & Record<string, unknown>)[];
  checkpoint: string;
  /** The checkpoint was too old, or of another database or another copy, and it was begun at the beginning. */
  restarted: boolean;
}

/** A page as it is sent. Fewer documents than asked for means that there are no more, so rows without one are made up for. */
export async function pullChanges(
  db: Database,
  collection: Collection,
  scope: SyncScope,
  { checkpoint, limit }: { checkpoint?: string | undefined; limit: number },
): Promise<Pulled> {
  const given = checkpoint === undefined ? null : fromCheckpoint(checkpoint);
  let after: Position = given ?? START;
  let restarted = false;
  const documents = new Map<string, Pulled['documents'][number]>();
  for (;;) {
    const room = limit - documents.size;
    const { rows, below, generation, purged } = await changesAfter(db, collection, scope, after, room);
    const order = orderOf(generation, collection, scope);
    // Of another database or another copy, or from a time that this one has not come to: nothing that it says holds here.
    const isOfAnother = after === given && (given.order !== order || given.xid > below);
    // Or from so long ago that what was deleted since is not known any more; also where that was forgotten between two statements.
    if (isOfAnother || (after !== START && !after.gone && after.xid <= purged)) {
      restarted = true;
      documents.clear();
      after = RESTART;
      continue;
    }
    for (const row of rows) {
      // The later state of one that is in the page twice.
      documents.delete(row.id);
      documents.set(row.id, documentOf(collection, row));
    }
    const isLast = rows.length < room;
    // What is there was given: now what has changed since that was begun. The same request goes on with it, since an answer that is not full means the end.
    const floor = after.scans && after.xid < 0 ? below : after.xid;
    const continues = after.scans === true || after.gone === true;
    // The scan reads as of the horizon at which the deletions ended: later ones are among the changes after it.
    if (after.gone) after = isLast ? { xid: below, id: '', scans: true } : { ...rows.at(-1)!, gone: true };
    else if (after.scans)
      after = isLast ? { xid: floor, id: '' } : { xid: floor, id: rows.at(-1)!.place, scans: true };
    else after = isLast ? { xid: below, id: '' } : rows.at(-1)!;
    if ((isLast && !continues) || documents.size >= limit) {
      return { documents: [...documents.values()], checkpoint: toCheckpoint(order, after), restarted };
    }
  }
}

function documentOf(collection: Collection, { id, document }: Changed): Pulled['documents'][number] {
  return document ? { ...document, id, _deleted: false } : tombstoneOf(collection, id);
}
