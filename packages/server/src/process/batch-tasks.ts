import { z } from 'zod';
import { advanceBatch, type BatchSealer } from '../doors/networks/index.ts';
import type { Task } from '../jobs/index.ts';
import type { Kernel } from '../kernel/index.ts';

const payload = z.object({ batchId: z.uuid() });

/** The job that begins the runs of a batch, a few at a time. Whoever works is told that there are runs. */
export function batchTasks(kernel: Kernel, sealer: BatchSealer): Record<string, Task> {
  return {
    advance_batch: async (given, { db }) => {
      const { batchId } = payload.parse(given);
      const started = await advanceBatch({ db, kernel, sealer }, batchId);
      if (started > 0) kernel.changed({ started, queued: true });
    },
  };
}
