import { useQueryClient } from '@tanstack/react-query';
import { sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';

/** Cancels a task with everything given within it. */
export function useCancelTask(): (taskId: string) => Promise<void> {
  const client = useQueryClient();
  return async (taskId) => {
    await troupe.tasks.cancel({ params: { taskId } }).catch(sayError);
    await client.invalidateQueries({ queryKey: ['tasks'] });
  };
}
