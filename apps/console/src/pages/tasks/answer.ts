import { useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';

/** Answers the open question of a task. */
export function useAnswerTask() {
  const client = useQueryClient();
  return async (
    { id: taskId, questionId }: Pick<Api.Task, 'id'> & { questionId?: string | null | undefined },
    answer: string,
  ) => {
    try {
      const body = { answer, ...(questionId ? { questionId } : {}) };
      await troupe.tasks.answer({ params: { taskId }, body });
      say('Answer sent.');
    } finally {
      void client.invalidateQueries({ queryKey: ['tasks'] });
      void client.invalidateQueries({ queryKey: ['inbox'] });
    }
  };
}
