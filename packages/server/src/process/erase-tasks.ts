import { z } from 'zod';
import type { Task } from '../jobs/index.ts';
import type { Kernel } from '../kernel/index.ts';
import { erasePerson } from '../lifecycle/index.ts';

const payload = z.object({ project: z.uuid(), entityId: z.uuid() });

/** The job that erases a person. */
export function eraseTasks(kernel: Kernel): Record<string, Task> {
  return {
    erase_person: async (given, { db }) => {
      const { project, entityId } = payload.parse(given);
      await erasePerson({ db, kernel }, { project, entity: entityId });
    },
  };
}
