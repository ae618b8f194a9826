import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Time } from '@troupe/ui';
import { Circle, CircleCheck, CircleDot, ListTodo } from 'lucide-react';
import { cx } from '../../blocks/cx.ts';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { todosQuery } from './queries.ts';

const marks = {
  pending: { icon: Circle, word: 'to do', className: 'text-faint' },
  in_progress: { icon: CircleDot, word: 'being done', className: 'text-info' },
  completed: { icon: CircleCheck, word: 'done', className: 'text-good' },
};

export function TodosPanel({ agentId, sessionId }: { agentId: string; sessionId: string }) {
  const todos = useQuery(todosQuery(agentId, sessionId));
  return (
    <Loaded query={todos}>
      {({ todos: list, updatedAt }) =>
        list.length === 0 ? (
          <Empty icon={ListTodo} title="No to-dos">
            An agent with the capability for to-do lists writes here what it is about to do.
          </Empty>
        ) : (
          <div className="p-4">
            <p className="mb-2 text-xs text-faint">
              {list.filter(({ status }) => status === 'completed').length} of {list.length} done
              {updatedAt && (
                <>
                  , changed <Time value={updatedAt} />
                </>
              )}
            </p>
            <ul className="flex flex-col gap-1.5">
              {list.map((todo, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: they have no ids, and are replaced together
                <TodoLine key={at} todo={todo} />
              ))}
            </ul>
          </div>
        )
      }
    </Loaded>
  );
}

function TodoLine({ todo }: { todo: Api.Todo }) {
  const { icon: Icon, word, className } = marks[todo.status];
  return (
    <li className="flex items-start gap-2 text-sm">
      <Icon size={16} aria-hidden="true" className={cx('mt-0.5 shrink-0', className)} />
      <span className={cx('min-w-0 break-words', todo.status === 'completed' && 'text-muted line-through')}>
        <span className="sr-only">{word}: </span>
        {todo.status === 'in_progress' ? (todo.activeForm ?? todo.content) : todo.content}
      </span>
    </li>
  );
}
