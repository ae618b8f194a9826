import type { JsonObject, RunError } from '@troupe/protocol';
import type { RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { extraSteps } from '../shared/index.ts';
import { ASK_USER } from './own-tools.ts';
import { termsOf } from './terms.ts';

// A sub-agent that goes on and on is made to answer: one turn without tools, and then it ends in any case.

/** What the run fails with where the turn without tools brings no answer; null: it may go on. */
export function lastTurn(view: RunView): RunError | null {
  const { run, snapshot, transcript, step } = view;
  if (step >= snapshot.limits.steps + extraSteps(view)) {
    return {
      code: 'iteration_limit',
      message: `The sub-agent took ${step} steps, the most it may, and did not answer when it was told to.`,
    };
  }
  const idle = uselessQuestions(transcript, run.id);
  if (idle >= termsOf(run).repeats) {
    return {
      code: 'question_limit',
      message: `The sub-agent asked ${idle} times what was answered before, or more than it may, and did not answer when it was told to.`,
    };
  }
  return null;
}

/** Questions of this run that nobody was asked. */
function uselessQuestions(transcript: readonly StoredMessage[], run: string): number {
  const asked = new Set(
    transcript
      .filter(
        ({ role, runId, content }) =>
          role === 'tool_call' && runId === run && (content as JsonObject).name === ASK_USER,
      )
      .map(({ callId }) => callId),
  );
  return transcript.filter(({ role, runId, callId, content }) => {
    if (role !== 'tool_result' || runId !== run || !asked.has(callId)) return false;
    const { result, error } = content as { result: JsonObject | null; error: { code: string } | null };
    return result?.repeated === true || error?.code === 'too_many_questions';
  }).length;
}
