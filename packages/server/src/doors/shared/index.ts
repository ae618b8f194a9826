/**
 * doors/shared: what doors have in common: how much of a model's context there is, what is shown of more than that, and answers that fit a
 * schema.
 * Imports: kernel, store, base, protocol.
 * Start reading: room.ts.
 */
export { asAsked, formatPart, isRefused, outputOf, refusal } from './answer.ts';
export { changedSince } from './changed-since.ts';
export { apart, beginChild, childIdOf, inputOf } from './child.ts';
export { DEPTH_KEY, noteDepth } from './depth.ts';
export { asNudged, EMPTY_ANSWER, isEmptyAnswer, mayNudge, nudge, stoppedEmpty } from './empty-answer.ts';
export { roomFor, sizeOf } from './room.ts';
export { shortened } from './shorten.ts';
export { REPLY, tasksPart } from './tasks-part.ts';
