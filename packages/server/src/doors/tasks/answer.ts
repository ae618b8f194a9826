import { notFound, Refusal } from '../../base/index.ts';
import { patiently } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts } from './acts.ts';
import { getTask } from './seen.ts';

interface Answer {
  task: string;
  answer: string;
  questionId?: string | undefined;
  /** The settler of the call. */
  by: string;
}

/** Answers a sub-agent from outside. In a space, only members answer. */
export async function answerTask(
  { db, kernel }: Parts,
  who: store.TaskScope,
  { task: id, ...given }: Answer,
): Promise<void> {
  const { runId } = await getTask({ db }, who, id);
  if (runId === null || !(await store.findRun(db, who, runId))) throw notFound('task');
  const answered = await patiently(() => store.answerTask(db, id, given));
  if (!answered.ok) throw answered.code === 'not_asked' ? refusalOf(answered) : notFound('task');
  if (answered.repeated) return;
  kernel.changed({ queued: answered.queued, joins: true });
  kernel.touched(answered.thread);
}

function refusalOf({ status, call, settledBy }: Extract<store.AnsweredTask, { code: 'not_asked' }>): Refusal {
  const sentence =
    call === 'completed'
      ? `The question was answered by ${settledBy?.startsWith('run:') ? 'the agent that gave the task' : settledBy}.`
      : call === 'expired'
        ? 'The question expired before it was answered.'
        : call === 'canceled'
          ? 'The task was canceled.'
          : status === 'waiting'
            ? 'The open question of the task has another `questionId`.'
            : `The task has no open question: it is ${status}.`;
  const hint = 'GET /v1/tasks/{taskId} shows its state. The answer was not used.';
  return new Refusal('conflict', 'not_asked', sentence, { hint });
}
