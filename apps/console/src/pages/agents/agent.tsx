import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useRef } from 'react';
import { Page } from '../../blocks/page.tsx';
import { Loaded, Loading, Notice } from '../../blocks/states.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { useLive } from '../../data/live.ts';
import { AgentActions } from './actions.tsx';
import { EditTab } from './edit-tab.tsx';
import { agentQuery } from './queries.ts';

const PreviewTab = lazy(() => import('./preview-tab.tsx'));
const VersionsTab = lazy(() => import('./versions-tab.tsx'));
const MemoriesTab = lazy(() => import('./memories-tab.tsx'));
const GoalsTab = lazy(() => import('./goals-tab.tsx'));
const PlansTab = lazy(() => import('./plans-tab.tsx'));

const route = getRouteApi('/agents/$agentId');

export function AgentPage() {
  const { agentId } = route.useParams();
  const { tab = 'edit' } = route.useSearch();
  const navigate = route.useNavigate();
  useLive('agents');
  const query = useQuery(agentQuery(agentId));
  // The form stays while one looks at another tab: what is not saved must not be lost by that.
  const hasEdited = useRef(false);
  if (tab === 'edit') hasEdited.current = true;
  const agent = query.data;
  return (
    <Page
      title={agent?.name ?? 'Agent'}
      fill
      crumbs={[{ label: 'Agents', to: '/agents' }]}
      heading={
        agent && (
          <span className="flex min-w-0 items-center gap-2">
            <span className="truncate" title={agent.name}>
              {agent.name}
            </span>
            <Tag className="shrink-0">version {agent.version}</Tag>
            {agent.status === 'archived' && (
              <Tag tone="warn" className="shrink-0">
                archived
              </Tag>
            )}
          </span>
        )
      }
      actions={agent && <AgentActions agent={agent} />}
    >
      <Loaded query={query}>
        {(agent) => (
          <Tabs
            label="About the agent"
            value={tab}
            onChange={(next) =>
              void navigate({ search: next === 'edit' ? {} : { tab: next }, replace: true })
            }
            tabs={[
              { value: 'edit', label: 'Edit' },
              { value: 'preview', label: 'Preview' },
              { value: 'versions', label: 'Versions' },
              { value: 'memories', label: 'Memories' },
              { value: 'goals', label: 'Goals' },
              { value: 'plans', label: 'Plans' },
            ]}
          >
            <TabPanel value={tab} fill>
              <div className="h-full min-h-0 overflow-y-auto px-4 py-5 md:px-6">
                {agent.status === 'archived' && (
                  <Notice tone="warn" className="mb-4">
                    It takes no new work. Its sessions stay readable; bring it back by the menu.
                  </Notice>
                )}
                <Suspense fallback={<Loading />}>
                  {hasEdited.current && (
                    <div hidden={tab !== 'edit'}>
                      <EditTab key={agentId} agent={agent} />
                    </div>
                  )}
                  {tab === 'preview' && <PreviewTab agent={agent} />}
                  {tab === 'versions' && <VersionsTab agent={agent} />}
                  {tab === 'memories' && <MemoriesTab agentId={agentId} />}
                  {tab === 'goals' && <GoalsTab agentId={agentId} />}
                  {tab === 'plans' && <PlansTab agentId={agentId} />}
                </Suspense>
              </div>
            </TabPanel>
          </Tabs>
        )}
      </Loaded>
    </Page>
  );
}
