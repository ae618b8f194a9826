import type { Json, Todo } from '@troupe/protocol';
import type { ToolExecute } from '../../kernel/ports.ts';
import type { Todos } from '../ports.ts';
import { argumentsOf } from './files/arguments.ts';

/** The list is written as a whole, so that what was written is what there is. */
export function todoTools(todos: Todos): Record<string, ToolExecute> {
  return {
    write_todos: async (args, context) => {
      const list = argumentsOf(args).todos as unknown as Todo[];
      await todos.write(context, list);
      return summaryOf(list);
    },
    read_todos: async (_, { threadId }) => summaryOf(await todos.read(threadId)),
  };
}

function summaryOf(todos: Todo[]) {
  const count = (status: Todo['status']) => todos.filter((todo) => todo.status === status).length;
  const counts = {
    total: todos.length,
    pending: count('pending'),
    inProgress: count('in_progress'),
    completed: count('completed'),
  };
  const warning =
    counts.inProgress > 1
      ? 'More than one is in progress: work on one at a time.'
      : counts.inProgress === 0 && counts.pending > 0
        ? 'None is in progress: mark the one that you work on.'
        : null;
  return { todos: todos as unknown as Json[], counts, ...(warning ? { warning } : {}) };
}
