import type { AnswerFormat, Json, JsonObject, RunError } from '@troupe/protocol';
import type { ModelCall, RunView } from '../../kernel/index.ts';
import { outputOf } from '../shared/index.ts';
import { FINAL_ANSWER } from './own-tools.ts';

// What a sub-agent ends with, and what becomes of a result that does not fit its role's schema.

/** What a call is told whose result does not fit. */
export const MISFIT = 'answer_invalid';

export type Final = { text: string; output?: Json } | { problem: string };

/** The result, where the call has one that can be taken: others are told what is wrong with them, as any call is. */
export function finalOf(
  { name, arguments: args }: ModelCall,
  answer: AnswerFormat | null | undefined,
): Final | null {
  if (name !== FINAL_ANSWER || args === null || typeof args !== 'object') return null;
  const { result } = args as JsonObject;
  if (!answer) return typeof result === 'string' && result.trim() !== '' ? { text: result } : null;
  if (result === undefined) return null;
  const read = outputOf(answer, { text: JSON.stringify(result), finishReason: 'stop' });
  // Some models write the value down as a text.
  if (!('problem' in read) || typeof result !== 'string') return read;
  const written = outputOf(answer, { text: result, finishReason: 'stop' });
  return 'problem' in written ? read : written;
}

/** What the run fails with where that was one too many. */
export function misfit(
  { tries }: AnswerFormat,
  { run, transcript }: Pick<RunView, 'run' | 'transcript'>,
  problem: string,
): RunError | null {
  const before = transcript.filter(
    ({ role, runId, content }) =>
      role === 'tool_result' &&
      runId === run.id &&
      (content as { error: { code: string } | null }).error?.code === MISFIT,
  ).length;
  if (before + 1 < tries) return null;
  const message = `The sub-agent gave ${before + 1} results that do not fit its schema. Of the last: ${problem}.`;
  return { code: MISFIT, message, retryable: true };
}
