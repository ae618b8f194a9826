/**
 * sync: copies of what is stored, in the hands of clients that may be offline: pull, push and a stream of changes, as RxDB asks for them.
 * Imports: stream, store, base, protocol. What a push does is done by the doors; whoever serves it brings their actions.
 * Start reading: pull.ts (the order), followers.ts (who is told what changes), push.ts (what may be written).
 */
export { Followers } from './followers.ts';
export { pullChanges } from './pull.ts';
export { type Actions, pushRows, WRITABLE } from './push.ts';
