import type { ShownTask } from './task-tree.tsx';

interface TaskRow {
  task: ShownTask;
  level: number;
  /** Of how many beside it, which. */
  place: number;
  count: number;
  parent: string | null;
}

const ENDED: readonly string[] = ['success', 'failed', 'canceled'];
export const isEnded = (task: Pick<ShownTask, 'status'>): boolean => ENDED.includes(task.status);

/** Oldest first, each followed by those given within it, as far as they are open. One whose parent is not here is at the top. */
export function rowsOf(tasks: readonly ShownTask[], isOpen: (task: ShownTask) => boolean): TaskRow[] {
  const known = new Set(tasks.map(({ id }) => id));
  const within = new Map<string | null, ShownTask[]>();
  for (const task of tasks) {
    const { parentTaskId = null } = task;
    const parent =
      parentTaskId !== null && known.has(parentTaskId) && parentTaskId !== task.id ? parentTaskId : null;
    within.set(parent, [...(within.get(parent) ?? []), task]);
  }
  for (const list of within.values())
    list.sort((a, b) => (a.createdAt ?? '').localeCompare(b.createdAt ?? ''));
  const rows: TaskRow[] = [];
  const add = (parent: string | null, level: number) => {
    const list = within.get(parent) ?? [];
    list.forEach((task, index) => {
      rows.push({ task, level, place: index + 1, count: list.length, parent });
      if (isOpen(task)) add(task.id, level + 1);
    });
  };
  add(null, 1);
  return rows;
}
