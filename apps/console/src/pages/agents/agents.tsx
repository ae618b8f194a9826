import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Bot, Upload } from 'lucide-react';
import type { ReactNode } from 'react';
import { AddButton, Button } from '../../blocks/button.tsx';
import { FilterSelect, Select } from '../../blocks/field.tsx';
import { type ListState, TableList } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty } from '../../blocks/states.tsx';
import { NameCell } from '../../blocks/table.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { agentAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { agentsQuery, modelsQuery } from '../../data/queries.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { ImportAgent } from './import-agent.tsx';
import { NewAgent } from './new-agent.tsx';

const route = getRouteApi('/agents');

export function AgentsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (part: SearchChange<typeof search>) =>
    void navigate({ search: (now) => given({ ...now, ...part }), replace: true });
  useLive('agents');
  const { status = 'active', tag } = search;
  const list = useCursorPages(['agents', 'list', { status, tag, search: search.search }], (page) =>
    troupe.agents.list({
      query: {
        ...page,
        status,
        ...(tag ? { tag } : {}),
        ...(search.search ? { search: search.search } : {}),
      },
    }),
  );
  const isFiltered = !!(search.search || tag || search.status);
  const add = <AddButton onClick={() => change({ new: 'agent' })}>Create agent</AddButton>;
  return (
    <Page
      title="Agents"
      about="Prompts, models, capabilities and tools, under a name."
      actions={
        <>
          <Button icon={Upload} onClick={() => change({ new: 'import' })}>
            Import agent
          </Button>
          {add}
        </>
      }
    >
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <SearchBox
          label="Search agents"
          value={search.search ?? ''}
          onSearch={(text) => change({ search: text || undefined })}
          className="w-full sm:w-72"
        />
        <TagChoice value={tag} onChange={(next) => change({ tag: next })} />
        <Select
          aria-label="Status"
          value={status}
          onChange={({ target }) =>
            change({ status: target.value === 'archived' ? ('archived' as const) : undefined })
          }
          className="max-w-40 basis-32"
        >
          <option value="active">Active</option>
          <option value="archived">Archived</option>
        </Select>
      </div>
      <AgentTable
        list={list}
        empty={
          isFiltered ? (
            <Empty title="No agents match">Change the search, the tag or the status.</Empty>
          ) : (
            <Empty icon={Bot} title="No agents yet" action={add}>
              An agent is a prompt with a model, capabilities and tools. It answers in sessions and spaces,
              and runs on plans and triggers.
            </Empty>
          )
        }
      />
      {search.new === 'agent' && <NewAgent onClose={() => change({ new: undefined })} />}
      {search.new === 'import' && <ImportAgent onClose={() => change({ new: undefined })} />}
    </Page>
  );
}

function AgentTable(props: { list: ListState<Api.Agent>; empty: ReactNode }) {
  const models = useQuery(modelsQuery).data;
  const modelOf = (id: string | null) =>
    id === null ? 'Default' : (models?.find((model) => model.id === id)?.displayName ?? '…');
  return (
    <TableList
      {...props}
      label="Agents"
      keyOf={(agent) => agent.id}
      columns={[
        {
          name: 'Name',
          cellClass: 'max-w-56 min-w-48 sm:max-w-md',
          cell: ({ id, name, description }) => (
            <NameCell to={agentAddress(id)} name={name} about={description} />
          ),
        },
        {
          name: 'Model',
          cellClass: 'max-w-40 truncate text-muted',
          cell: (agent) => modelOf(agent.defaultModelId),
        },
        {
          name: 'Capabilities',
          cellClass: 'max-w-64',
          cell: (agent) => (
            <span className="flex flex-wrap gap-1">
              {agent.capabilities.slice(0, 3).map(({ id }) => (
                <Tag key={id}>{id}</Tag>
              ))}
              {agent.capabilities.length > 3 && <Tag>+{agent.capabilities.length - 3}</Tag>}
              {agent.tools.length > 0 && (
                <Tag tone="info">
                  {agent.tools.length} {agent.tools.length === 1 ? 'tool' : 'tools'}
                </Tag>
              )}
            </span>
          ),
        },
        {
          name: 'Tags',
          cellClass: 'max-w-48',
          cell: (agent) => (
            <span className="flex flex-wrap gap-1">
              {agent.tags.slice(0, 4).map((tag) => (
                <Tag key={tag} tone="accent">
                  {tag}
                </Tag>
              ))}
            </span>
          ),
        },
        {
          name: 'Version',
          isRight: true,
          cellClass: 'text-muted @max-2xl:hidden',
          cell: (agent) => agent.version,
        },
        { name: 'Changed', time: (agent) => agent.updatedAt },
      ]}
    />
  );
}

function TagChoice({
  value,
  onChange,
}: {
  value: string | undefined;
  onChange: (tag: string | undefined) => void;
}) {
  const { data } = useQuery({ ...agentsQuery, placeholderData: keepPreviousData });
  const tags = [...new Set([...(data ?? []).flatMap(({ tags }) => tags), ...(value ? [value] : [])])].sort();
  if (tags.length === 0) return null;
  return (
    <FilterSelect
      label="Tag"
      all="All tags"
      value={value}
      onChange={onChange}
      options={tags.map((tag) => [tag, tag])}
      className="max-w-48 basis-40"
    />
  );
}
