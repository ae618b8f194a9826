import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { StatusBadge } from '@troupe/ui';
import { lazy, Suspense } from 'react';
import { Page } from '../../blocks/page.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';
import type { SearchChange } from '../../data/search-values.ts';
import { type Graph, useDraft } from './draft/use-draft.ts';
import { useTrial } from './draft/use-trial.ts';
import { NetworkActions } from './network-actions.tsx';
import type { NetworkSearch, NetworkTab } from './search.ts';

const GraphTab = lazy(() => import('./graph/graph-tab.tsx'));
const PlaygroundTab = lazy(() => import('./playground/playground-tab.tsx'));
const VersionsTab = lazy(() => import('./versions-tab.tsx'));
const BatchesTab = lazy(() => import('./batches/batches-tab.tsx'));
const RunsTab = lazy(() => import('./runs-tab.tsx'));
const SettingsTab = lazy(() => import('./settings-tab.tsx'));

const labels: Record<NetworkTab, string> = {
  graph: 'Graph',
  playground: 'Playground',
  versions: 'Versions',
  batches: 'Batches',
  runs: 'Runs',
  settings: 'Settings',
};

export function NetworkPage() {
  const { network } = useParams({ from: '/networks/$network' });
  useLive('networks');
  const query = useQuery({
    queryKey: ['networks', network, 'graph'],
    queryFn: () => troupe.networks.graph({ params: { network } }),
  });
  if (query.data) return <Loaded key={query.data.network.id} graph={query.data} />;
  return (
    <Page title="Network" crumbs={[{ label: 'Networks', to: '/networks' }]}>
      {query.error ? (
        <Failure error={query.error} retry={() => void query.refetch()} />
      ) : (
        <Loading label="Reading the network…" />
      )}
    </Page>
  );
}

/** What is undefined goes from the address. */
export type GoTo = (change: SearchChange<NetworkSearch>, options?: { replace?: boolean }) => void;

function Loaded({ graph }: { graph: Graph }) {
  const { network } = graph;
  const search = useSearch({ from: '/networks/$network' });
  const navigate = useNavigate({ from: '/networks/$network' });
  const draft = useDraft(graph);
  const checked = useTrial(draft);
  const tab = search.tab ?? 'graph';
  const go: GoTo = (change, { replace = true } = {}) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...change }), replace });
  return (
    <Page
      fill
      title={network.name}
      crumbs={[{ label: 'Networks', to: '/networks' }]}
      heading={
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate" title={network.name}>
            {network.name}
          </span>
          <StatusBadge status={network.status} />
          {network.currentVersion !== null && (
            <Tag className="shrink-0">version {network.currentVersion}</Tag>
          )}
        </span>
      }
      actions={<NetworkActions network={network} draft={draft} checked={checked} go={go} />}
    >
      <Unsaved when={draft.isChanged} />
      <Tabs
        label="Parts of the network"
        value={tab}
        onChange={(next) => go({ tab: next }, { replace: false })}
        tabs={(Object.keys(labels) as NetworkTab[]).map((value) => ({ value, label: labels[value] }))}
      >
        <Suspense fallback={<Loading />}>
          <TabPanel value="graph" fill>
            <GraphTab draft={draft} checked={checked} search={search} go={go} />
          </TabPanel>
          <TabPanel value="playground" fill>
            <PlaygroundTab network={network} draft={draft} search={search} go={go} />
          </TabPanel>
          <TabPanel value="versions">
            <VersionsTab network={network} search={search} go={go} />
          </TabPanel>
          <TabPanel value="batches">
            <BatchesTab network={network} search={search} go={go} />
          </TabPanel>
          <TabPanel value="runs">
            <RunsTab network={network} />
          </TabPanel>
          <TabPanel value="settings">
            <SettingsTab draft={draft} />
          </TabPanel>
        </Suspense>
      </Tabs>
    </Page>
  );
}

function withoutEmpty(search: object): NetworkSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
}
