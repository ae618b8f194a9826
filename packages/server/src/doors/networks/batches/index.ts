/** A network over many inputs. Start reading: create.ts, then advance.ts (how its runs begin, a few at a time). */
export { cancelBatch, deleteBatch, getBatch, listBatches, listBatchItems, resumeBatch } from './actions.ts';
export { advanceBatch, type BatchSealer } from './advance.ts';
export { createBatch } from './create.ts';
export { batchResults } from './results.ts';
