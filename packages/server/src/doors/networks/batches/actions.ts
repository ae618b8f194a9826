import type { BatchItemStatus } from '@troupe/protocol';
import { notFound, Refusal } from '../../../base/index.ts';
import type { Kernel } from '../../../kernel/index.ts';
import * as store from '../../../store/index.ts';
import { cancelRunsOf } from './advance.ts';

interface Parts {
  db: store.Database;
  kernel: Kernel;
}

export async function getBatch(
  { db }: Pick<Parts, 'db'>,
  project: string,
  id: string,
): Promise<store.BatchRecord> {
  const found = await store.readBatch(db.rows, project, id);
  if (!found) throw notFound('batch');
  return found;
}

export async function listBatches(
  { db }: Pick<Parts, 'db'>,
  project: string,
  ref: string,
  asked: { before?: string | undefined; limit: number },
): Promise<store.BatchRecord[]> {
  const network = await store.findNetworkToRun(db, project, ref);
  if (!network) throw notFound('network');
  return store.listBatches(db.rows, project, network.id, asked);
}

export async function listBatchItems(
  { db }: Pick<Parts, 'db'>,
  project: string,
  id: string,
  asked: {
    status?: BatchItemStatus | undefined;
    after?: { row: number; iteration: number } | undefined;
    limit: number;
  },
): Promise<store.BatchItemRecord[]> {
  if (!(await store.hasBatch(db.rows, project, id))) throw notFound('batch');
  return store.listBatchItems(db.rows, id, asked);
}

/** Nothing begins any more from here on; what is under way is canceled, by the job that this adds where our process dies. */
export async function cancelBatch(parts: Parts, project: string, id: string): Promise<store.BatchRecord> {
  await locked(parts.db, project, id, async (transaction, { canceled, pending, open }) => {
    if (canceled || pending + open === 0) return;
    await store.cancelBatch(transaction, id);
    await store.armBatch(transaction, id);
  });
  const batch = await getBatch(parts, project, id);
  if (batch.status === 'canceled') await cancelRunsOf(parts, id);
  return getBatch(parts, project, id);
}

/** Each item that begins again is a new attempt; what became of the one before stays in its run. */
export async function resumeBatch(
  { db }: Pick<Parts, 'db'>,
  { project, request }: { project: string; request?: store.KeyedRequest | undefined },
  id: string,
  asked: { failed: boolean },
): Promise<store.BatchRecord> {
  await locked(db, project, id, async (transaction) => {
    if ((await store.resumeBatch(transaction, id, asked)) === 0) return;
    await store.armBatch(transaction, id);
    if (request) await store.recordEffect(transaction, request, { target: id });
  });
  return getBatch({ db }, project, id);
}

export async function deleteBatch(db: store.Database, author: store.Author, id: string): Promise<void> {
  await locked(db, author.project, id, async (transaction, { name, open, pending }) => {
    if (open + pending > 0) {
      throw new Refusal('conflict', 'batch_under_way', 'The batch has runs that have not ended.', {
        hint: 'Wait until it has ended, or cancel it first.',
      });
    }
    await store.deleteBatch(transaction, id);
    await store.noteChange(transaction, author, { action: 'batch.deleted', target: id, data: { name } });
  });
}

function locked(
  db: store.Database,
  project: string,
  id: string,
  act: (transaction: store.Transaction, batch: store.BatchToAdvance) => Promise<void>,
): Promise<void> {
  return store.inTransaction(db, async (transaction) => {
    const batch = await store.lockBatch(transaction, id, project);
    if (!batch) throw notFound('batch');
    await act(transaction, batch);
  });
}
