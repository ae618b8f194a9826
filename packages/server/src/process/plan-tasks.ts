import { z } from 'zod';
import { firePlan } from '../doors/spaces/index.ts';
import type { Task } from '../jobs/index.ts';
import type { Kernel } from '../kernel/index.ts';

const payload = z.object({ planId: z.uuid() });

/** The job that a plan adds for the time when it is due. Whoever works is told that there is a run. */
export function planTasks(kernel: Kernel): Record<string, Task> {
  return {
    fire_plan: async (given, { db, logger }) => {
      const { planId } = payload.parse(given);
      if (await firePlan(db, logger, planId)) kernel.changed({ started: 1, queued: true });
    },
  };
}
