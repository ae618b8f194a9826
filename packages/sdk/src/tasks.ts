import { type QueryInputOf, type ResultOf, type Task, taskEndpoints } from '@troupe/protocol';
import { NotFoundError } from './errors.ts';
import { insist } from './insist.ts';
import type { StreamItem, StreamOptions } from './stream.ts';
import type { RequestOptions, Transport } from './transport.ts';

export const TASK_EVENTS = ['task.created', 'task.updated'];

/** Where tasks are given: a session or a space. */
interface Chat {
  id: string;
  transport: Transport;
  lastSequence(signal: AbortSignal): Promise<number>;
  stream(options: StreamOptions): AsyncGenerator<StreamItem>;
}

export type TaskQuery = Omit<QueryInputOf<typeof taskEndpoints.list>, 'chat'>;

export function tasksOf(
  { id, transport }: Pick<Chat, 'id' | 'transport'>,
  query: TaskQuery,
  options?: RequestOptions,
) {
  return transport.call(taskEndpoints.list, { query: { ...query, chat: id } }, options);
}

/** Those that have not ended, then every task that begins or changes, as it is by then. */
export async function* watchTasks(
  chat: Chat,
  { signal = new AbortController().signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Task> {
  // The place in the log first: what changes while the list is read is told again.
  const after = await chat.lastSequence(signal);
  const told = new Map<string, string>();
  const isNews = ({ id, updatedAt, status }: Task) => {
    const now = `${updatedAt} ${status}`;
    return told.get(id) !== now && told.set(id, now);
  };
  for (const status of ['waiting', 'running', 'pending'] as const)
    for (const task of await everyTask(chat, { status }, signal)) if (isNews(task)) yield task;
  for await (const item of chat.stream({ after, types: TASK_EVENTS, signal })) {
    if (item.kind !== 'event') continue;
    const task = await taskOfEvent(chat.transport, item.event.data, signal);
    if (task && isNews(task)) yield task;
  }
}

async function everyTask(chat: Chat, query: TaskQuery, signal: AbortSignal): Promise<Task[]> {
  const all: Task[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = { ...query, limit: 200, ...(cursor ? { cursor } : {}) };
    const page: ResultOf<typeof taskEndpoints.list> = await insist(
      () => tasksOf(chat, asked, { signal }),
      signal,
    );
    all.push(...page.data);
    cursor = page.nextCursor;
  }
  return all;
}

/** The task as it is now; null where it is gone, or somebody else's. */
export async function taskOfEvent(
  transport: Transport,
  { id }: { id?: unknown },
  signal: AbortSignal,
): Promise<Task | null> {
  try {
    const params = { taskId: String(id) };
    return await insist(() => transport.call(taskEndpoints.get, { params }, { signal }), signal);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
