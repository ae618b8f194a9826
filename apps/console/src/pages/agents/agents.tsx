import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Bot, Plus, Upload } from 'lucide-react';
import { Button } from '../../blocks/button.tsx';
import { Select } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { agentsQuery } from '../../data/queries.ts';
import type { SearchChange } from '../../data/search-change.ts';
import { given } from '../../data/search-values.ts';
import { ImportAgent } from './import-agent.tsx';
import { NewAgent } from './new-agent.tsx';
import { modelsQuery } from './queries.ts';

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
  const actions = (
    <>
      <Button icon={<Upload size={14} aria-hidden="true" />} onClick={() => change({ new: 'import' })}>
        Import
      </Button>
      <Button
        kind="primary"
        icon={<Plus size={14} aria-hidden="true" />}
        onClick={() => change({ new: 'agent' })}
      >
        New agent
      </Button>
    </>
  );
  return (
    <Page title="Agents" about="Prompts, models, capabilities and tools, under a name." actions={actions}>
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
      <Card flush>
        {list.items === undefined ? (
          list.error ? (
            <Failure error={list.error} retry={list.refetch} />
          ) : (
            <Loading />
          )
        ) : list.items.length === 0 ? (
          isFiltered ? (
            <Empty title="No agent fits">Another word, another tag, or the other status may.</Empty>
          ) : (
            <Empty
              icon={<Bot size={20} aria-hidden="true" />}
              title="No agents yet"
              action={
                <Button kind="primary" onClick={() => change({ new: 'agent' })}>
                  New agent
                </Button>
              }
            >
              An agent is a prompt with a model, capabilities and tools. It answers in sessions and spaces,
              and works by plan or when something changes.
            </Empty>
          )
        ) : (
          <>
            <AgentTable agents={list.items} />
            <MoreButton list={list} />
          </>
        )}
      </Card>
      {search.new === 'agent' && <NewAgent onClose={() => change({ new: undefined })} />}
      {search.new === 'import' && <ImportAgent onClose={() => change({ new: undefined })} />}
    </Page>
  );
}

function AgentTable({ agents }: { agents: Awaited<ReturnType<typeof troupe.agents.list>>['data'] }) {
  const models = useQuery(modelsQuery).data;
  const modelOf = (id: string | null) =>
    id === null ? 'Default' : (models?.find((model) => model.id === id)?.displayName ?? '…');
  return (
    <Table
      label="Agents"
      head={
        <>
          <Th>Name</Th>
          <Th>Model</Th>
          <Th>Capabilities</Th>
          <Th>Tags</Th>
          <Th className="text-right">Version</Th>
          <Th>Changed</Th>
        </>
      }
    >
      {agents.map((agent) => (
        <Tr key={agent.id}>
          <Td className="max-w-56 min-w-48 sm:max-w-md">
            <Link
              to="/agents/$agentId"
              params={{ agentId: agent.id }}
              title={agent.name}
              className="block truncate font-medium hover:underline"
            >
              {agent.name}
            </Link>
            {agent.description && (
              <p className="truncate text-xs text-muted" title={agent.description}>
                {agent.description}
              </p>
            )}
          </Td>
          <Td label="Model" className="max-w-40 truncate text-muted">
            {modelOf(agent.defaultModelId)}
          </Td>
          <Td label="Capabilities" className="max-w-64">
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
          </Td>
          <Td label="Tags" className="max-w-48">
            <span className="flex flex-wrap gap-1">
              {agent.tags.slice(0, 4).map((tag) => (
                <Tag key={tag} tone="accent">
                  {tag}
                </Tag>
              ))}
            </span>
          </Td>
          <Td label="Version" className="text-right @max-2xl:hidden text-muted tabular-nums">
            {agent.version}
          </Td>
          <Td label="Changed" className="text-muted">
            <When value={agent.updatedAt} />
          </Td>
        </Tr>
      ))}
    </Table>
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
    <Select
      aria-label="Tag"
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value || undefined)}
      className="max-w-48 basis-40"
    >
      <option value="">All tags</option>
      {tags.map((tag) => (
        <option key={tag}>{tag}</option>
      ))}
    </Select>
  );
}
