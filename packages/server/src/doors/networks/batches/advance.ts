import type { Json, JsonObject } from '@troupe/protocol';
import { idFrom } from '../../../base/index.ts';
import type { Kernel } from '../../../kernel/index.ts';
import * as store from '../../../store/index.ts';
import { type Sealer, startItem } from '../start-item.ts';
import { batchSealedName, groupOf } from './sealed-rows.ts';

/** Runs of one batch that are in the queue or at work, at most: a large one neither floods the queue nor makes others wait. */
const MOST_OPEN = 200;
/** When to look again whether there is room for more. */
const AGAIN_MS = 1_000;

export interface BatchSealer extends Sealer {
  open(project: string, name: string, envelope: Json): string;
}

/**
 * Begins as many of its runs as there is room for, and sees to it that this is done again while there is more. The runs, what the items know
 * of them and the next job are one transaction, so it may be done twice, at once too, and be broken off anywhere. Of a canceled batch: cancels
 * what is under way. Answers how many runs were begun.
 */
export async function advanceBatch(
  { db, kernel, sealer }: { db: store.Database; kernel: Kernel; sealer: BatchSealer },
  id: string,
): Promise<number> {
  const { begun, canceled } = await store.inTransaction(db, async (transaction) => {
    const batch = await store.lockBatch(transaction, id);
    if (!batch) return { begun: 0, canceled: false };
    if (batch.canceled) return { begun: 0, canceled: true };
    const items = await store.pendingBatchItems(transaction, id, Math.max(0, MOST_OPEN - batch.open));
    if (items.length > 0) {
      const groups = [...new Set(items.map(({ row }) => groupOf(row)))];
      const params = opened(sealer, batch, await store.sealedOfBatch(transaction, id, groups));
      const starts = items.map((item) => ({ ...item, item: startOf(sealer, batch, params(item.row), item) }));
      await store.beginBatchItems(transaction, id, starts);
    }
    if (batch.pending > items.length) await store.armBatch(transaction, id, AGAIN_MS);
    return { begun: items.length, canceled: false };
  });
  if (canceled) await cancelRunsOf({ db, kernel }, id);
  return begun;
}

/** The ids follow from the attempt: begun again, it is the same run. */
function startOf(
  sealer: BatchSealer,
  batch: store.BatchToAdvance,
  systemParams: JsonObject,
  { row, iteration, attempt, input, metadata }: store.PendingItem,
): store.BatchStart['item'] {
  const key = `${batch.id}:${row}:${iteration}:${attempt}`;
  const item = startItem(sealer, {
    project: batch.project,
    ids: {
      run: idFrom(key, batch.id),
      thread: idFrom(`${key}:thread`, batch.id),
      message: idFrom(`${key}:message`, batch.id),
    },
    of: {
      id: batch.networkId,
      name: batch.networkName,
      version: batch.networkVersion,
      snapshotId: batch.snapshotId,
      agent: batch.agent,
      wallMs: batch.wallMs,
    },
    input,
    systemParams,
    metadata,
  });
  const trigger = { ...item.run.trigger, batch: { id: batch.id, row, iteration, attempt } };
  const lane = { lane: `batch:${batch.id}`, laneLimit: batch.concurrency };
  return { ...item, run: { ...item.run, ...lane, trigger } };
}

/** What the system gives to the tools of a row: what the batch has for all, and the row's own. */
function opened(
  sealer: BatchSealer,
  { id, project, sealed }: store.BatchToAdvance,
  groups: store.NewSealedRows[],
): (row: number) => JsonObject {
  const open = (envelope: JsonObject, group?: number): JsonObject =>
    JSON.parse(sealer.open(project, batchSealedName(id, group), envelope));
  const shared = sealed === null ? {} : open(sealed);
  const own = groups.map(({ group, sealed: envelope }) => open(envelope, group));
  const rows: JsonObject = Object.assign({}, ...own);
  return (row) => ({ ...shared, ...(rows[row] as JsonObject | undefined) });
}

/** One that has ended meanwhile stays as it is. */
export async function cancelRunsOf(
  { db, kernel }: { db: store.Database; kernel: Kernel },
  id: string,
): Promise<void> {
  for (const run of await store.runsToCancel(db.rows, id))
    if (await store.isCanceling(db.rows, run)) await kernel.cancel(run);
}
