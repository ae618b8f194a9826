/**
 * runs: actions on a run by its id, whichever door started it: read, cancel, retry, fork, and settle the tool calls that wait
 * for someone outside (the inbox).
 * Imports: kernel, definitions/agents, store, base, protocol.
 * Start reading: runs.ts, inbox.ts.
 */
export { forkRun } from './fork.ts';
export { argumentsHash, decideCall, listWaiting, takeResults } from './inbox.ts';
export { messagesOf } from './messages.ts';
export type { Parts, Who } from './parts.ts';
export { type Retry, takeUpAgain } from './retry.ts';
export { runSeenIn } from './run-seen.ts';
export {
  cancelRun,
  getRun,
  getRunDetails,
  getRunSeen,
  getRunToCopy,
  listRunMessages,
  listRuns,
  retryRun,
} from './runs.ts';
