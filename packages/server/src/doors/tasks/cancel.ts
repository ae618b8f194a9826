import type { Kernel } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { getTask } from './seen.ts';

type Parts = { db: store.Database; kernel: Kernel };

/** With everything given within it, the outermost first: what is canceled gives no more. One that has ended stays as it is. */
export async function cancelTask(parts: Parts, who: store.TaskScope, id: string): Promise<void> {
  const { id: task } = await getTask(parts, who, id);
  for (const { run } of await store.openTasksWithin(parts.db, task))
    await parts.kernel.cancel(run, 'user', who.entityId);
}

/** Those of a chat that the caller may see; answers which. */
export async function cancelChatTasks(parts: Parts, who: store.TaskScope, chat: string): Promise<string[]> {
  const open = await store.openTasksOfChat(parts.db, who, chat);
  for (const { run } of open) await parts.kernel.cancel(run, 'user', who.entityId);
  return open.map(({ id }) => id);
}
