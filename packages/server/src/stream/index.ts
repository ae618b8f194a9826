/**
 * stream: the log of a thread as it is written. Events are read from their table by sequence; hints only say when to look.
 * What a model is writing right now goes past beside them and is kept nowhere.
 * Imports: store, base, protocol.
 * Start reading: stream.ts (who is told what), topic.ts (one thread), reader.ts (one reader), live.ts (what is being written).
 */
export { presentEvent } from './envelope.ts';
export { likePatterns } from './filter.ts';
export { disconnectingFrame, frame, HEARTBEAT } from './frame.ts';
export { pulled } from './pulled.ts';
export { Stream } from './stream.ts';
