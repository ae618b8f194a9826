import { useNavigate, useSearch } from '@tanstack/react-router';
import { MessageSquare, Plus } from 'lucide-react';
import { Button } from '../../blocks/button.tsx';
import { Select } from '../../blocks/field.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { useAgents } from '../../data/names.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { NewSession } from './new-session.tsx';
import { SessionTable } from './session-table.tsx';
import { SESSION_STATUSES } from './words.ts';

export function SessionsPage() {
  const search = useSearch({ from: '/sessions' });
  const navigate = useNavigate({ from: '/sessions' });
  const agents = useAgents();
  useLive('sessions');
  const filter = given({
    agentId: search.agent,
    status: search.status,
    search: search.search,
    tag: search.tag,
  });
  const list = useCursorPages(['sessions', 'list', filter], (page) =>
    troupe.sessions.listAll({ query: { ...filter, ...page } }),
  );
  const change = (values: SearchChange<typeof search>, replace = true) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace });
  const open = (agentId = 'any') => change({ new: agentId }, false);
  const isFiltered = Object.keys(filter).length > 0;
  const newButton = (
    <Button kind="primary" icon={<Plus size={16} aria-hidden="true" />} onClick={() => open(search.agent)}>
      New session
    </Button>
  );
  return (
    <Page title="Sessions" about="One person talks with one agent." actions={newButton}>
      <div className="mb-4 flex flex-wrap gap-2">
        <SearchBox
          label="Search titles and ids"
          value={search.search ?? ''}
          onSearch={(text) => change({ search: text || undefined })}
          className="grow basis-56 md:max-w-xs"
        />
        <Select
          aria-label="Agent"
          className="max-w-52 basis-36"
          value={search.agent ?? ''}
          onChange={({ target }) => change({ agent: target.value || undefined })}
        >
          <option value="">All agents</option>
          {agents?.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Status"
          className="max-w-40 basis-32"
          value={search.status ?? ''}
          onChange={({ target }) =>
            change({ status: SESSION_STATUSES.find((status) => status === target.value) })
          }
        >
          <option value="">Any status</option>
          <option value="pending">Ready</option>
          <option value="running">Running</option>
          <option value="waiting">Waiting</option>
          <option value="failed">Failed</option>
        </Select>
        {search.tag && (
          <Button kind="quiet" onClick={() => change({ tag: undefined })}>
            Tag: {search.tag} ×
          </Button>
        )}
      </div>
      {list.items ? (
        list.items.length > 0 ? (
          <SessionTable list={{ ...list, items: list.items }} onTag={(tag) => change({ tag })} />
        ) : (
          <Card>
            {isFiltered ? (
              <Empty
                title="No session is like that"
                action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>}
              >
                Search looks at titles and at the beginning of ids.
              </Empty>
            ) : (
              <Empty
                icon={<MessageSquare size={20} aria-hidden="true" />}
                title="No sessions yet"
                action={newButton}
              >
                A session is a conversation of one person with one agent. Every step of it is stored before
                the next begins.
              </Empty>
            )}
          </Card>
        )
      ) : list.error ? (
        <Failure error={list.error} retry={list.refetch} />
      ) : (
        <Loading />
      )}
      {search.new && (
        <NewSession
          agentId={search.new === 'any' ? null : search.new}
          onClose={() => change({ new: undefined })}
        />
      )}
    </Page>
  );
}
