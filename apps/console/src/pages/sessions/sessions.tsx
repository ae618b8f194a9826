import { useNavigate, useSearch } from '@tanstack/react-router';
import { MessageSquare } from 'lucide-react';
import { AddButton, Button } from '../../blocks/button.tsx';
import { FilterSelect } from '../../blocks/field.tsx';
import { Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { useAgents } from '../../data/names.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { NewSession } from './new-session.tsx';
import { SessionTable } from './session-table.tsx';

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
  const newButton = <AddButton onClick={() => open(search.agent)}>Create session</AddButton>;
  return (
    <Page title="Sessions" about="One person talks with one agent." actions={newButton}>
      <div className="mb-4 flex flex-wrap gap-2">
        <SearchBox
          label="Search titles and ids"
          value={search.search ?? ''}
          onSearch={(text) => change({ search: text || undefined })}
          className="grow basis-56 md:max-w-xs"
        />
        <FilterSelect
          label="Agent"
          all="All agents"
          className="max-w-52 basis-36"
          value={search.agent}
          onChange={(agent) => change({ agent })}
          options={(agents ?? []).map(({ id, name }) => [id, name])}
        />
        <FilterSelect
          label="Status"
          all="Any status"
          className="max-w-40 basis-32"
          value={search.status}
          onChange={(status) => change({ status })}
          options={[
            ['pending', 'Ready'],
            ['running', 'Running'],
            ['waiting', 'Waiting'],
            ['failed', 'Failed'],
          ]}
        />
        {search.tag && (
          <Button kind="quiet" onClick={() => change({ tag: undefined })}>
            Tag: {search.tag} ×
          </Button>
        )}
      </div>
      <SessionTable
        list={list}
        onTag={(tag) => change({ tag })}
        empty={
          isFiltered ? (
            <Empty
              title="No sessions match"
              action={<Button onClick={() => void navigate({ search: {} })}>Show all sessions</Button>}
            >
              Search matches titles and the start of ids.
            </Empty>
          ) : (
            <Empty icon={MessageSquare} title="No sessions yet" action={newButton}>
              A session is a conversation of one person with one agent. Each step is stored before the next
              one starts.
            </Empty>
          )
        }
      />
      {search.new && (
        <NewSession
          agentId={search.new === 'any' ? null : search.new}
          onClose={() => change({ new: undefined })}
        />
      )}
    </Page>
  );
}
