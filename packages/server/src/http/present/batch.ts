import type { Batch, BatchItem } from '@troupe/protocol';
import { MILLIONTHS } from '../../base/index.ts';
import type { BatchItemRecord, BatchRecord } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentBatch(record: BatchRecord): Batch {
  const { id, network, agent, name, status, iterations, concurrency, metadata } = record;
  const { rows, bad, total, queued, running, completed, failed, canceled } = record;
  return {
    ...{ id, network, agent, name, status, iterations, concurrency },
    counts: { rows, bad, total, queued, running, completed, failed, canceled },
    usage: { inputTokens: record.inputTokens, outputTokens: record.outputTokens },
    cost: record.cost / MILLIONTHS,
    metadata,
    createdAt: record.createdAt.toISOString(),
    startedAt: record.startedAt?.toISOString() ?? null,
    completedAt: record.completedAt?.toISOString() ?? null,
    canceledAt: record.canceledAt?.toISOString() ?? null,
  };
}

export function presentBatchItem({ inputTokens, outputTokens, ...item }: BatchItemRecord): BatchItem {
  return { ...isoTimes(item), usage: { inputTokens, outputTokens }, cost: item.cost / MILLIONTHS };
}
