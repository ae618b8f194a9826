import type { Todo } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { Fence } from './files.ts';

/** The whole list anew, if the run is still with the worker that writes. */
export async function writeTodos(db: Database, thread: string, fence: Fence, items: Todo[]): Promise<void> {
  const rows = await db.run(
    {
      name: 'write_todos',
      text: `with held as (select 1 from troupe.run_heads h where h.run_id = $2 and h.epoch = $3 and h.worker_id = $4 for share)
        insert into troupe.todo_lists (thread_id, items) select $1, $5::jsonb from held
          on conflict (thread_id) do update set items = excluded.items, updated_at = now() returning 1`,
      values: [thread, fence.runId, fence.epoch, fence.worker, toJsonText(items)],
    },
    db.pool,
  );
  if (rows.length === 0)
    throw new TroupeError('run_lost', 'The run is no longer with this worker; nothing was written.');
}

export async function readTodos(
  db: Database,
  thread: string,
): Promise<{ todos: Todo[]; updatedAt: Date | null }> {
  const rows = await db.run<{ todos: Todo[]; updatedAt: Date }>(
    {
      name: 'read_todos',
      text: 'select items as todos, updated_at as "updatedAt" from troupe.todo_lists where thread_id = $1',
      values: [thread],
    },
    db.pool,
  );
  return rows[0] ?? { todos: [], updatedAt: null };
}
