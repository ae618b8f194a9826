import type { Api } from '@troupe/sdk';
import type { TaskResult, TasksResult } from './results.ts';

export interface TasksFilter {
  /** A session or a space. */
  chat?: string | undefined;
  status?: Api.TaskStatus | undefined;
  /** Those given within a task. */
  parent?: string | undefined;
  type?: 'agent' | 'tool' | undefined;
  limit?: number | undefined;
}

export function useTask(taskId: string): TaskResult {
  throw new Error(`not yet: ${taskId}`);
}

/** Work that was given to sub-agents and tools, newest first. */
export function useTasks(_filter: TasksFilter = {}): TasksResult {
  throw new Error('not yet');
}
