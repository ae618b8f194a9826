import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { ListTree } from 'lucide-react';
import { useMemo } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Select } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { TasksOfChat } from './tasks-of-chat.tsx';
import { statusWords, TASK_STATUSES, TASK_TYPES } from './words.ts';

/** All tasks of the project, as trees, by the conversation in which they were given. */
export function TasksPage() {
  const search = useSearch({ from: '/tasks' });
  const navigate = useNavigate({ from: '/tasks' });
  useLive('tasks');
  const list = useCursorPages(['tasks', 'list', search], (page) =>
    troupe.tasks.list({ query: { ...search, ...page } }),
  );
  const chats = useMemo(() => chatsOf(list.items ?? []), [list.items]);
  const change = (values: SearchChange<typeof search>) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace: true });
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Page title="Tasks" about="Work that agents hand to sub-agents and to tools in the background.">
      <div className="mb-4 flex flex-wrap gap-2">
        <Select
          aria-label="Status"
          className="max-w-52 basis-36"
          value={search.status ?? ''}
          onChange={({ target }) => change({ status: TASK_STATUSES.find((one) => one === target.value) })}
        >
          <option value="">Any status</option>
          {TASK_STATUSES.map((status) => (
            <option key={status} value={status}>
              {statusWords[status]}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Type"
          className="max-w-52 basis-44"
          value={search.type ?? ''}
          onChange={({ target }) => change({ type: TASK_TYPES.find((one) => one === target.value) })}
        >
          <option value="">Agents and tools</option>
          <option value="agent">Sub-agents</option>
          <option value="tool">Background tools</option>
        </Select>
        {search.chat && (
          <Button kind="quiet" onClick={() => change({ chat: undefined })}>
            Only of {shortId(search.chat)} ×
          </Button>
        )}
      </div>
      {list.items ? (
        list.items.length === 0 ? (
          <Card>
            <Empty
              icon={<ListTree size={20} aria-hidden="true" />}
              title={isFiltered ? 'No task is like that' : 'No tasks yet'}
              action={isFiltered && <Button onClick={() => void navigate({ search: {} })}>Show all</Button>}
            >
              {isFiltered
                ? 'Others may be.'
                : 'An agent with the capability to delegate gives tasks to others. Say to one: “delegate to general: what time is it?”'}
            </Empty>
          </Card>
        ) : (
          <div className="flex flex-col gap-4">
            {chats.map((tasks) => (
              <TasksOfChat
                key={tasks[0]!.chatId}
                tasks={tasks}
                onOnly={search.chat ? undefined : () => change({ chat: tasks[0]!.chatId })}
              />
            ))}
            <MoreButton list={list} />
          </div>
        )
      ) : list.error ? (
        <Failure error={list.error} retry={list.refetch} />
      ) : (
        <Loading />
      )}
    </Page>
  );
}

/** By conversation, in the order of their newest task. */
function chatsOf(tasks: Api.Task[]): Api.Task[][] {
  const chats = new Map<string, Api.Task[]>();
  for (const task of tasks) chats.set(task.chatId, [...(chats.get(task.chatId) ?? []), task]);
  return [...chats.values()];
}
