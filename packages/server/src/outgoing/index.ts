/**
 * outgoing: the one guarded client for every request that somebody outside can steer.
 * Imports: base, protocol.
 * Start reading: port.ts (what it promises).
 */
export type { Outgoing, OutgoingRequest, OutgoingResponse } from './port.ts';
