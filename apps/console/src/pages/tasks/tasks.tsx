import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { ListTree } from 'lucide-react';
import { Button } from '../../blocks/button.tsx';
import { FilterSelect } from '../../blocks/field.tsx';
import { List } from '../../blocks/list.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { TasksOfChat } from './tasks-of-chat.tsx';
import { statusWords, TASK_STATUSES } from './words.ts';

/** All tasks of the project, as trees, by the conversation in which they were given. */
export function TasksPage() {
  const search = useSearch({ from: '/tasks' });
  const navigate = useNavigate({ from: '/tasks' });
  useLive('tasks');
  const list = useCursorPages(['tasks', 'list', search], (page) =>
    troupe.tasks.list({ query: { ...search, ...page } }),
  );
  const change = (values: SearchChange<typeof search>) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace: true });
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Page title="Tasks" about="Work that agents hand to sub-agents and to tools in the background.">
      <div className="mb-4 flex flex-wrap gap-2">
        <FilterSelect
          label="Status"
          all="Any status"
          className="max-w-52 basis-36"
          value={search.status}
          onChange={(status) => change({ status })}
          options={TASK_STATUSES.map((status) => [status, statusWords[status]])}
        />
        <FilterSelect
          label="Type"
          all="Agents and tools"
          className="max-w-52 basis-44"
          value={search.type}
          onChange={(type) => change({ type })}
          options={[
            ['agent', 'Sub-agents'],
            ['tool', 'Background tools'],
          ]}
        />
        {search.chat && (
          <Button kind="quiet" onClick={() => change({ chat: undefined })}>
            Only of {shortId(search.chat)} ×
          </Button>
        )}
      </div>
      <List
        list={list}
        empty={
          <Card>
            <Empty
              icon={ListTree}
              title={isFiltered ? 'No tasks match' : 'No tasks yet'}
              action={
                isFiltered && <Button onClick={() => void navigate({ search: {} })}>Show all tasks</Button>
              }
            >
              {!isFiltered &&
                'An agent with the delegation capability gives tasks to other agents. Try: “delegate to general: what time is it?”'}
            </Empty>
          </Card>
        }
      >
        {(tasks) => (
          <div className="flex flex-col gap-4">
            {groupByChat(tasks).map((ofChat) => (
              <TasksOfChat
                key={ofChat[0]!.chatId}
                tasks={ofChat}
                onOnly={search.chat ? undefined : () => change({ chat: ofChat[0]!.chatId })}
              />
            ))}
          </div>
        )}
      </List>
    </Page>
  );
}

/** By conversation, in the order of their newest task. */
function groupByChat(tasks: readonly Api.Task[]): Api.Task[][] {
  const chats = new Map<string, Api.Task[]>();
  for (const task of tasks) chats.set(task.chatId, [...(chats.get(task.chatId) ?? []), task]);
  return [...chats.values()];
}
