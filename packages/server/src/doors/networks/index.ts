/**
 * doors/networks: agents that hand over to one another, bound by a published graph. What an agent is told, what it may decide, and
 * what becomes of it.
 * Imports: kernel, definitions, store, base, protocol.
 * Start reading: judge.ts (what is allowed), door.ts (a run), position.ts (where it stands), context.ts (what an agent is told), invoke.ts.
 */
export { checkInstruction, promptOf } from './ask.ts';
export {
  advanceBatch,
  type BatchSealer,
  batchResults,
  cancelBatch,
  createBatch,
  deleteBatch,
  getBatch,
  listBatches,
  listBatchItems,
  resumeBatch,
} from './batches/index.ts';
export { createNetworksDoor } from './door.ts';
export { getNetworkRun, invokedRun, invokeNetwork, listNetworkRuns, waitForNetworkRun } from './invoke.ts';
export { sealedName } from './start-item.ts';
export { delegateTask, networkCheck, networkTask } from './tasks.ts';
