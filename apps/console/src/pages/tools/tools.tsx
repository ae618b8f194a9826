import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus, Wrench } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { buttonClass } from '../../blocks/button.tsx';
import { Select } from '../../blocks/field.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Loaded, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { When } from '../../blocks/when.tsx';
import { useLive } from '../../data/live.ts';
import type { SearchChange } from '../../data/search-change.ts';
import { given } from '../../data/search-values.ts';
import { toolsQuery } from '../agents/queries.ts';
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
      <Plus size={14} aria-hidden="true" /> New tool
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
  const query = useQuery(toolsQuery);
  const word = search.toLowerCase();
  return (
    <Loaded query={query}>
      {(all) => {
        const shown = all.filter(
          (tool) =>
            (!kind || tool.kind === kind) &&
            (!word ||
              `${tool.name} ${tool.displayName ?? ''} ${tool.description}`.toLowerCase().includes(word)),
        );
        const counts = KINDS.map((one) => [one, all.filter((tool) => tool.kind === one).length] as const);
        return (
          <div className="flex flex-col gap-4">
            <div className="flex flex-wrap items-center gap-2">
              <SearchBox label="Search tools" value={search} onSearch={onSearch} className="w-full sm:w-72" />
              <Select
                aria-label="Kind"
                className="max-w-40"
                value={kind ?? ''}
                onChange={({ target }) => onKind((target.value || undefined) as Kind | undefined)}
              >
                <option value="">All kinds</option>
                {counts
                  .filter(([one, count]) => count > 0 || one === kind)
                  .map(([one, count]) => (
                    <option key={one} value={one}>
                      {one} ({count})
                    </option>
                  ))}
              </Select>
            </div>
            <Card flush>
              {all.length === 0 ? (
                <Empty icon={<Wrench size={20} aria-hidden="true" />} title="No tools yet" action={newTool}>
                  Capabilities bring tools of their own; here are yours: requests to a server, what a program
                  or a person answers, functions of workers, tools of MCP servers.
                </Empty>
              ) : shown.length === 0 ? (
                <Empty title="No tool fits">Another word or another kind may.</Empty>
              ) : (
                <Table
                  label="Tools"
                  head={
                    <>
                      <Th>Name</Th>
                      <Th>Kind</Th>
                      <Th>Effect</Th>
                      <Th>Calls</Th>
                      <Th className="text-right">Version</Th>
                      <Th>Changed</Th>
                    </>
                  }
                >
                  {shown.map((tool) => (
                    <Tr key={tool.id}>
                      <Td className="max-w-56 min-w-48 @5xl:max-w-md">
                        <Link
                          to="/tools/$toolId"
                          params={{ toolId: tool.id }}
                          className="block truncate font-mono text-xs font-medium hover:underline"
                        >
                          {tool.name}
                        </Link>
                        <p className="truncate text-xs text-muted" title={tool.description}>
                          {tool.description}
                        </p>
                      </Td>
                      <Td label="Kind">
                        <Tag title={kindWords[tool.kind]}>{tool.kind}</Tag>
                      </Td>
                      <Td label="Effect" className="text-muted">
                        {tool.effect}
                      </Td>
                      <Td label="Calls" className="max-w-72 truncate font-mono text-xs text-muted">
                        {tool.request
                          ? `${tool.request.method} ${tool.request.url}`
                          : (tool.mcp?.tool ??
                            tool.function ??
                            tool.agent?.agent ??
                            tool.network?.network ??
                            '–')}
                        {tool.approval && (
                          <Tag tone="warn" className="ml-2 font-sans">
                            approval
                          </Tag>
                        )}
                      </Td>
                      <Td label="Version" className="text-right @max-2xl:hidden text-muted tabular-nums">
                        {tool.version}
                      </Td>
                      <Td label="Changed" className="text-muted">
                        <When value={tool.updatedAt} />
                      </Td>
                    </Tr>
                  ))}
                </Table>
              )}
            </Card>
          </div>
        );
      }}
    </Loaded>
  );
}
