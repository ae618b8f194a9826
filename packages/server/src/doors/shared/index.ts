/**
 * doors/shared: code that doors share: the messages that fit the context of a model, summaries of the others, and answers that
 * match a schema.
 * Imports: kernel, store, base, protocol.
 * Start reading: window.ts.
 */
export { asAsked, formatPart, isRefused, outputOf, refusal } from './answer.ts';
export { calibration, isLimitNotice, lengthRefused } from './calibration.ts';
export { changedSince } from './changed-since.ts';
export { apart, beginChild, childIdOf, inputOf } from './child.ts';
export {
  compactionContext,
  compactionMeaning,
  digestMeaning,
  digestWithAnswer,
  extraSteps,
} from './compaction.ts';
export { DEPTH_KEY, noteDepth } from './depth.ts';
export { asNudged, EMPTY_ANSWER, isEmptyAnswer, mayNudge, nudge, stoppedEmpty } from './empty-answer.ts';
export { firstSentence } from './first-sentence.ts';
export { recallActs } from './recall.ts';
export { recallTools } from './recall-tool.ts';
export { shortened } from './shorten.ts';
export { isSummarising, modelsFor, rememberWindow, shownIn } from './shown.ts';
export { isSummary, SUMMARY_KEY, uncovered } from './summary.ts';
export { REPLY, tasksPart } from './tasks-part.ts';
export { BYTES_PER_TOKEN, roomFor } from './tokens.ts';
export { type Conversation, type Due, MAX_HISTORY, type Window, windowFor } from './window.ts';
