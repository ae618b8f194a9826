/**
 * agents: definitions, versions, snapshots.
 * Imports: store, base, protocol.
 * Start reading: current.ts (what a run of an agent executes now).
 */
export { type CurrentSnapshot, snapshotFor } from './current.ts';
