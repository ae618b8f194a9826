import type { Delivery, DeliveryDetails } from '@troupe/protocol';
import { z } from 'zod';
import { fromCursor, notFound, Refusal, toPage } from '../base/index.ts';
import * as store from '../store/index.ts';
import { found } from './rules.ts';

/** With the trigger by id or name. */
export type DeliveriesAsked = store.DeliveriesAsked;

export async function listDeliveries(
  db: store.Database,
  project: string,
  { limit, cursor, ...asked }: DeliveriesAsked & { limit: number; cursor?: string | undefined },
): Promise<{ data: Delivery[]; nextCursor: string | null }> {
  const before = fromCursor(z.uuid(), cursor) ?? null;
  const filter = await filterOf(db, project, asked);
  const rows = await store.listDeliveries(db.rows, project, filter, { before, limit: limit + 1 });
  return toPage(rows, limit, ({ id }) => id, present);
}

export async function getDelivery(db: store.Database, project: string, id: string): Promise<DeliveryDetails> {
  const { before, document, log, ...row } = await whole(db, project, id);
  const attempts = log.map((attempt) => ({
    ...attempt,
    startedAt: new Date(attempt.startedAt).toISOString(),
  }));
  return { ...present(row), before, document, log: attempts };
}

export async function redeliverOne(db: store.Database, project: string, id: string): Promise<Delivery> {
  await whole(db, project, id);
  const again = await store.redeliver(db.rows, project, { id }, 1);
  const { before: _, document: __, log: ___, ...row } = await whole(db, project, id);
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
  return present(row);
}

export async function redeliverMany(
  db: store.Database,
  project: string,
  { limit, ...asked }: DeliveriesAsked & { limit: number },
): Promise<number> {
  const filter = await filterOf(db, project, asked);
  return (await store.redeliver(db.rows, project, filter, limit)).length;
}

async function filterOf(
  db: store.Database,
  project: string,
  asked: DeliveriesAsked,
): Promise<DeliveriesAsked> {
  if (asked.trigger === undefined) return asked;
  return { ...asked, trigger: (await found(db.rows, project, asked.trigger)).id };
}

async function whole(db: store.Database, project: string, id: string): Promise<store.DeliveryWhole> {
  const row = await store.readDelivery(db.rows, project, id);
  if (!row) throw notFound('delivery');
  return row;
}

function present(row: store.DeliveryRow): Delivery {
  return {
    ...row,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    endedAt: row.endedAt?.toISOString() ?? null,
  };
}
