import type { JsonObject } from '@troupe/protocol';
import { type IdRange, type ListQuery, notFound, type Page, Refusal, readPageById } from '../base/index.ts';
import * as store from '../store/index.ts';
import { found } from './rules.ts';

/** With the trigger by id or name. */
export type DeliveriesAsked = store.DeliveriesAsked;

export async function listDeliveries(
  db: store.Database,
  project: string,
  { limit, cursor, ...asked }: DeliveriesAsked & ListQuery,
): Promise<Page<store.DeliveryRow>> {
  const list = async (range: IdRange) =>
    store.listDeliveries(db.rows, project, await filterOf(db, project, asked), range);
  return readPageById({ limit, cursor }, list);
}

export async function getDelivery(
  db: store.Database,
  project: string,
  id: string,
): Promise<store.DeliveryWhole> {
  const row = await store.readDelivery(db.rows, project, id);
  if (!row) throw notFound('delivery');
  return row;
}

export async function redeliverOne(
  db: store.Database,
  author: store.Author,
  id: string,
): Promise<store.DeliveryRow> {
  const { project } = author;
  const { trigger } = await getDelivery(db, project, id);
  const again = await redeliver(db, author, { id }, { limit: 1, target: id, data: { trigger } });
  const { before: _, document: __, log: ___, ...row } = await getDelivery(db, project, id);
  if (again.length === 0 && row.erased) {
    throw new Refusal('conflict', 'delivery_erased', 'What the delivery tells of was deleted.', {
      hint: 'Only what is still known can be delivered again.',
    });
  }
  if (again.length === 0) {
    throw new Refusal(
      'conflict',
      'delivery_open',
      `The delivery is ${row.status}: it is being made anyway.`,
      {
        hint: 'Only what was delivered or given up can be delivered again.',
      },
    );
  }
  return row;
}

export async function redeliverMany(
  db: store.Database,
  author: store.Author,
  { limit, ...asked }: DeliveriesAsked & { limit: number },
): Promise<number> {
  const filter = await filterOf(db, author.project, asked);
  const told = Object.entries(asked).filter(([, value]) => value !== undefined);
  const how = { limit, target: filter.trigger ?? 'deliveries', data: Object.fromEntries(told) as JsonObject };
  return (await redeliver(db, author, filter, how)).length;
}

/** With a note of who asked for it, where there was anything to deliver. */
function redeliver(
  db: store.Database,
  author: store.Author,
  filter: DeliveriesAsked & { id?: string },
  { limit, target, data }: { limit: number; target: string; data: JsonObject },
): Promise<string[]> {
  return store.inTransaction(db, async (transaction) => {
    const again = await store.redeliver(transaction, author.project, filter, limit);
    if (again.length > 0) {
      const noted = { ...data, count: again.length };
      await store.noteChange(transaction, author, { action: 'delivery.redelivered', target, data: noted });
    }
    return again;
  });
}

async function filterOf(
  db: store.Database,
  project: string,
  asked: DeliveriesAsked,
): Promise<DeliveriesAsked> {
  if (asked.trigger === undefined) return asked;
  return { ...asked, trigger: (await found(db.rows, project, asked.trigger)).id };
}
