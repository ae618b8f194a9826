import type { Evidence, Rule, Violation } from './evidence.ts';
import { answersOnce, makersMakeAll, spaceAnswersOnce, startedRunsEnd } from './rules/answers.ts';
import { copiesAreEqual } from './rules/copies.ts';
import { effectsAreInTheLedger, idempotentEffects, onceEffects } from './rules/effects.ts';
import { readersAreExact } from './rules/readers.ts';
import { keysAreStable, requestsAreAnswered } from './rules/requests.ts';
import { invariantsHold, nothingIsStuck, usageAddsUp } from './rules/rest.ts';
import { changesAreDelivered, webhooksArrive, webhooksInOrder } from './rules/webhooks.ts';

/** Every promise that a run of chaos is held to. */
export const RULES: Record<string, Rule> = {
  'each accepted message is answered exactly once or failed visibly': answersOnce,
  'each run of a space answers once': spaceAnswersOnce,
  'each run that was started ends': startedRunsEnd,
  'each plan and each row of a batch makes one run': makersMakeAll,
  'an idempotency key stands for one id and one row': keysAreStable,
  'each request is answered': requestsAreAnswered,
  'a once effect happens at most once': onceEffects,
  'an idempotent effect repeats with the same key and arguments': idempotentEffects,
  'no effect without a call in the ledger': effectsAreInTheLedger,
  'each reader gets every event once and in order': readersAreExact,
  'webhooks arrive at least once': webhooksArrive,
  'webhooks arrive in order per document': webhooksInOrder,
  'accepted changes are told by webhooks': changesAreDelivered,
  'nothing is in a state that nobody waits for': nothingIsStuck,
  'the rows are consistent': invariantsHold,
  'usage is the sum of the steps': usageAddsUp,
  'copies are equal to the server': copiesAreEqual,
};

export function check(evidence: Evidence): Violation[] {
  return Object.entries(RULES).flatMap(([rule, judge]) =>
    judge(evidence).map((found) => ({ rule, ...found })),
  );
}
