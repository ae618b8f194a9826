import type { JsonObject } from '@troupe/protocol';
import { delegationConfig } from '../../definitions/capabilities/index.ts';

/** On what terms a sub-agent works; kept in the trigger of its runs, so that they stay the same whatever becomes of the giver. */
export interface Terms {
  /** How long a question may wait for its answer. */
  questionMs: number;
  /** How many questions it may ask in all, and how often one that was answered before. */
  questions: number;
  repeats: number;
}

const DEFAULTS = delegationConfig.parse({});

export function termsOf({ trigger }: { trigger: JsonObject }): Terms {
  const { questionMs, questions, repeats } = { ...DEFAULTS, ...(trigger.terms as object | undefined) };
  return { questionMs, questions, repeats };
}
