import type { SnapshotTool } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import { HANDED_OVER, persistently, type ToolAnswer, type ToolContext } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts } from './acts.ts';
import { byOf } from './give.ts';
import { termsOf } from './terms.ts';

/**
 * What a sub-agent asks goes to whoever gave it the task. What was answered before is answered with that, and what is too much is not
 * asked; either brings the sub-agent nearer to its last turn.
 */
export async function askUser(
  { db, kernel }: Parts,
  _: SnapshotTool,
  { question }: { question: string },
  context: ToolContext,
): Promise<ToolAnswer> {
  const { runId, callId, threadId, signal } = context;
  const run = await store.triggerOfRun(db, context.projectId, runId);
  if (!run) throw lost();
  if (run.taskId === null) {
    throw new TroupeError(
      'nobody_to_ask',
      'This is a copy of the work on a task: nobody gave it who could answer. Go on with what you know.',
    );
  }
  const terms = termsOf(run);
  const before = await store.questionsOf(db, runId, callId);
  const same = before.find((one) => folded(one.question) === folded(question));
  if (same) {
    const note = 'You asked this before. Do not ask it again: go on with this.';
    return { answer: same.answer ?? 'Nobody answered.', repeated: true, note };
  }
  if (before.length >= terms.questions) {
    throw new TroupeError(
      'too_many_questions',
      `You may ask ${terms.questions} questions in all; this one was not asked. Go on with what you know.`,
    );
  }
  const asked = await persistently(() => store.askGiver(db, byOf(context), terms.questionMs), signal);
  if (!asked) throw lost();
  kernel.touched(threadId);
  return HANDED_OVER;
}

/** The same question, however it is written. */
function folded(question: string): string {
  return question
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{P}]+/gu, ' ')
    .trim();
}

function lost(): TroupeError {
  return new TroupeError('run_lost', 'This run is no longer this worker’s: it was stopped or taken over.');
}
