/**
 * doors/shared: what doors have in common: how much of a model's context there is, and what is shown of more than that.
 * Imports: kernel, store, base, protocol.
 * Start reading: room.ts.
 */
export { roomFor, sizeOf } from './room.ts';
export { shortened } from './shorten.ts';
