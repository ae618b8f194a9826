import { notFound } from '../../base/index.ts';
import * as store from '../../store/index.ts';
import type { Parts } from './acts.ts';

// What people do to tasks. What was given within one ends with it: `follow_run` notes so, and the joins see to it.

/** False where it had ended already. */
export async function cancelTask(
  { db, kernel }: Parts,
  { project, task, by = null }: { project: string; task: string; by?: string | null },
): Promise<boolean> {
  const found = await store.taskRun(db, project, task);
  if (!found) throw notFound('task');
  return (await kernel.cancel(found.runId, 'user', by)).ok;
}

/**
 * All open tasks of a session or space, and with them what was given within; answers with those that it ended. No run starts because of it.
 * Where a person does it, those that were given for them.
 */
export async function cancelChatTasks(
  { db, kernel }: Parts,
  { project, chat, by = null }: { project: string; chat: string; by?: string | null },
): Promise<string[]> {
  const canceled: string[] = [];
  for (const { id, runId } of await store.quietTasks(db, { project, entityId: by }, chat))
    if ((await kernel.cancel(runId, 'user', by)).ok) canceled.push(id);
  return canceled;
}
