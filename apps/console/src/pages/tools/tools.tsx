import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus, Wrench } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { buttonClass } from '../../blocks/button.tsx';
import { FilterSelect } from '../../blocks/field.tsx';
import { asList, TableList, Toolbar } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Loading } from '../../blocks/states.tsx';
import { NameCell } from '../../blocks/table.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { toolAddress } from '../../data/addresses.ts';
import { useLive } from '../../data/live.ts';
import { toolsQuery } from '../../data/queries.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { KINDS, type Kind, kindWords } from './words.ts';

const McpServers = lazy(() => import('./mcp-servers.tsx'));
const route = getRouteApi('/tools');

export function ToolsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (part: SearchChange<typeof search>) =>
    void navigate({ search: (now) => given({ ...now, ...part }), replace: true });
  const newTool = (
    <Link to="/tools/new" className={buttonClass('primary')}>
      <Plus size={14} aria-hidden="true" /> Create tool
    </Link>
  );
  return (
    <Page
      title="Tools"
      fill
      about="What agents and networks can do. A tool is defined once and carried by its name."
      actions={newTool}
    >
      <Tabs
        label="Tools"
        value={search.tab ?? 'tools'}
        onChange={(tab) => change({ tab: tab === 'servers' ? tab : undefined })}
        tabs={[
          { value: 'tools', label: 'Tools' },
          { value: 'servers', label: 'MCP servers' },
        ]}
      >
        <TabPanel value={search.tab ?? 'tools'}>
          {search.tab === 'servers' ? (
            <Suspense fallback={<Loading />}>
              <McpServers />
            </Suspense>
          ) : (
            <ToolList
              kind={search.kind}
              search={search.search ?? ''}
              onKind={(kind) => change({ kind })}
              onSearch={(text) => change({ search: text || undefined })}
              newTool={newTool}
            />
          )}
        </TabPanel>
      </Tabs>
    </Page>
  );
}

function ToolList({
  kind,
  search,
  onKind,
  onSearch,
  newTool,
}: {
  kind: Kind | undefined;
  search: string;
  onKind: (kind: Kind | undefined) => void;
  onSearch: (text: string) => void;
  newTool: React.ReactNode;
}) {
  useLive('tools');
  const list = asList(useQuery(toolsQuery));
  const all = list.items ?? [];
  const word = search.toLowerCase();
  const shown = all.filter(
    (tool) =>
      (!kind || tool.kind === kind) &&
      (!word || `${tool.name} ${tool.displayName ?? ''} ${tool.description}`.toLowerCase().includes(word)),
  );
  const counts = KINDS.map((one) => [one, all.filter((tool) => tool.kind === one).length] as const);
  return (
    <div className="flex flex-col gap-4">
      <Toolbar>
        <SearchBox label="Search tools" value={search} onSearch={onSearch} className="w-full sm:w-72" />
        <FilterSelect
          label="Kind"
          all="All kinds"
          value={kind}
          onChange={onKind}
          options={counts.filter(([, count]) => count > 0).map(([one, count]) => [one, `${one} (${count})`])}
        />
      </Toolbar>
      <TableList
        list={{ ...list, items: list.items && shown }}
        empty={
          all.length === 0 ? (
            <Empty icon={Wrench} title="No tools yet" action={newTool}>
              Tools of the project: HTTP requests, functions of workers, tools of MCP servers, and calls that
              a program or a person answers. Capabilities have their own tools.
            </Empty>
          ) : (
            <Empty title="No tools match">Change the search or the kind.</Empty>
          )
        }
        label="Tools"
        keyOf={(tool) => tool.id}
        columns={[
          {
            name: 'Name',
            cellClass: 'max-w-56 min-w-48 @5xl:max-w-md',
            cell: ({ id, name, description }) => (
              <NameCell to={toolAddress(id)} name={name} about={description} mono />
            ),
          },
          { name: 'Kind', cell: (tool) => <Tag title={kindWords[tool.kind]}>{tool.kind}</Tag> },
          { name: 'Effect', cellClass: 'text-muted', cell: (tool) => tool.effect },
          {
            name: 'Calls',
            cellClass: 'max-w-72 truncate font-mono text-xs text-muted',
            cell: (tool) => (
              <>
                {tool.request
                  ? `${tool.request.method} ${tool.request.url}`
                  : (tool.mcp?.tool ?? tool.function ?? tool.agent?.agent ?? tool.network?.network ?? '–')}
                {tool.approval && (
                  <Tag tone="warn" className="ml-2 font-sans">
                    approval
                  </Tag>
                )}
              </>
            ),
          },
          {
            name: 'Version',
            isRight: true,
            cellClass: 'text-muted @max-2xl:hidden',
            cell: (tool) => tool.version,
          },
          { name: 'Changed', time: (tool) => tool.updatedAt },
        ]}
      />
    </div>
  );
}
