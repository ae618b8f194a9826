import * as store from '../../store/index.ts';
import type { Parts } from './acts.ts';

/** Notifies the agent of a session about the question or the end of a task from outside, once. */
export async function requestTaskNotice(
  { db, kernel }: Parts,
  project: string,
  { task, what }: { task: string; what: 'question' | 'end' },
): Promise<void> {
  if (await store.requestNotice(db, project, task, what)) kernel.changed({ joins: true });
}
