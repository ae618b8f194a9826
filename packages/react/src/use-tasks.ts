import type { Api, Troupe } from '@troupe/sdk';
import { hintOf } from './hints.ts';
import { ListStore } from './list-store.ts';
import { useTroupe } from './provider.tsx';
import type { TaskResult, TasksResult } from './results.ts';
import { sharedOf, useShared } from './shared.ts';

export interface TasksFilter {
  /** A session or a space. */
  chat?: string | undefined;
  status?: Api.TaskStatus | undefined;
  /** Those given within a task. */
  parent?: string | undefined;
  type?: 'agent' | 'tool' | undefined;
  /** How many a page has. Default: 50. */
  limit?: number | undefined;
}

class Tasks extends ListStore<Api.Task> {
  constructor(troupe: Troupe, { limit = 50, ...filter }: TasksFilter) {
    super(troupe, {
      noun: 'tasks',
      ask: (page) => troupe.tasks.list({ query: { ...filter, ...page } }),
      pageSize: limit,
      nameOf: ({ id }) => id,
    });
    this.actions = {
      ...this.listing,
      answer: async ({ id: taskId, questionId }: Pick<Api.Task, 'id' | 'questionId'>, answer: string) => {
        const body = { answer, ...(questionId === null ? {} : { questionId }) };
        await troupe.tasks.answer({ params: { taskId }, body });
        await this.refresh();
        hintOf(troupe, ['inbox']);
      },
      cancel: async (taskId: string) => {
        await troupe.tasks.cancel({ params: { taskId } });
        await this.refresh();
      },
      cancelAll: async () => {
        if (filter.chat) await troupe.tasks.cancelAll({ body: { chat: filter.chat } });
        await this.refresh();
      },
    };
  }

  readonly actions: Pick<TasksResult, 'loadMore' | 'refresh' | 'answer' | 'cancel' | 'cancelAll'>;
}

/** Work that was given to sub-agents and tools, newest first. */
export function useTasks(filter: TasksFilter = {}): TasksResult {
  const troupe = useTroupe();
  const store = sharedOf(troupe, `tasks ${JSON.stringify(filter)}`, () => new Tasks(troupe, filter));
  return useShared(store, store.actions);
}

/** One of them. Null: there is none yet. */
export function useTask(taskId: string | null): TaskResult {
  const troupe = useTroupe();
  const store = sharedOf(troupe, `task ${taskId}`, () => new OneTask(troupe, taskId));
  const { items, isLoading, error } = useShared(store, store.actions);
  return { task: items[0] ?? null, isLoading, error, ...store.actions };
}

class OneTask extends ListStore<Api.Task> {
  readonly actions: Pick<TaskResult, 'cancel'>;

  constructor(troupe: Troupe, taskId: string | null) {
    const one = taskId === null ? null : { params: { taskId } };
    super(troupe, {
      noun: 'tasks',
      ask: one && (async () => ({ data: [await troupe.tasks.get(one)], nextCursor: null })),
      pageSize: 1,
      nameOf: ({ id }) => id,
    });
    this.actions = {
      cancel: async () => {
        if (one) await troupe.tasks.cancel(one);
        await this.refresh();
      },
    };
  }
}
