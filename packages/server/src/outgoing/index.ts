/**
 * outgoing: the one guarded client for every request that somebody outside can steer.
 * Imports: base, protocol.
 * Start reading: port.ts (what it promises), client.ts (how it keeps it), addresses.ts (what is public),
 * hidden.ts (how secrets are kept out of what people are shown of it).
 */
export { isAllowEntry } from './addresses.ts';
export { createOutgoing } from './client.ts';
export { type Hidden, hiddenOf } from './hidden.ts';
export type { Outgoing, OutgoingResponse } from './port.ts';
