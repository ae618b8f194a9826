import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { StatusBadge } from '@troupe/ui';
import { lazy, Suspense } from 'react';
import { Page } from '../../../blocks/page.tsx';
import { Failure, Loading } from '../../../blocks/states.tsx';
import { TabPanel, Tabs } from '../../../blocks/tabs.tsx';
import { formatNumber, shortId } from '../../../data/format.ts';
import { askedOf } from '../run-table.tsx';
import type { RunSearch, RunTab } from '../search.ts';
import { Actions, noCopy } from './actions.tsx';
import { Overview } from './overview.tsx';
import { ownMessagesQuery, type RunDetails, runQuery, versionOf } from './queries.ts';

const Fork = lazy(() => import('./fork.tsx'));
const Timeline = lazy(() => import('./timeline.tsx'));
const Steps = lazy(() => import('./steps.tsx'));
const Events = lazy(() => import('./events.tsx'));
const Messages = lazy(() => import('./messages.tsx'));

const crumbs = [{ label: 'Runs', to: '/runs' }];

export function RunPage() {
  const { runId } = useParams({ from: '/runs/$runId' });
  const run = useQuery(runQuery(runId));
  if (run.data) return <Shown key={runId} run={run.data} />;
  return (
    <Page title={`Run ${shortId(runId)}`} crumbs={crumbs}>
      {run.error ? <Failure error={run.error} retry={() => void run.refetch()} /> : <Loading />}
    </Page>
  );
}

export type ChangeSearch = (change: { [Name in keyof RunSearch]?: RunSearch[Name] | undefined }) => void;

function Shown({ run }: { run: RunDetails }) {
  const search = useSearch({ from: '/runs/$runId' });
  const navigate = useNavigate();
  const change: ChangeSearch = (changed) => {
    const next = Object.entries({ ...search, ...changed }).filter(([, value]) => value !== undefined);
    void navigate({
      to: '/runs/$runId',
      params: { runId: run.id },
      search: Object.fromEntries(next) as RunSearch,
      replace: true,
    });
  };
  const go = (tab: RunTab) =>
    void navigate({
      to: '/runs/$runId',
      params: { runId: run.id },
      search: tab === 'overview' ? {} : { tab },
    });
  const messages = useQuery(ownMessagesQuery(run.id, versionOf(run)));
  const first = messages.data?.find(({ role }) => role === 'user');
  const asked = askedOf({ ...run, asked: first?.role === 'user' ? first.content.text.slice(0, 200) : null });
  const tabs: { value: RunTab; label: string }[] = [
    { value: 'overview', label: 'Overview' },
    { value: 'timeline', label: 'Timeline' },
    { value: 'steps', label: run.step > 0 ? `Steps (${formatNumber(run.step)})` : 'Steps' },
    { value: 'events', label: 'Events' },
    { value: 'messages', label: 'Messages' },
  ];
  return (
    <Page
      title={asked}
      crumbs={crumbs}
      fill
      heading={
        <span className="flex min-w-0 items-center gap-2.5">
          <span className="truncate" title={asked}>
            {asked}
          </span>
          <StatusBadge status={run.status} />
        </span>
      }
      actions={
        <Actions
          run={run}
          // A completed run has nothing to go on with after its last step.
          onFork={() => change({ fork: Math.max(0, run.status === 'completed' ? run.step - 1 : run.step) })}
        />
      }
    >
      <Tabs value={search.tab ?? 'overview'} onChange={go} tabs={tabs} label="Of this run">
        <TabPanel value="overview">
          <Overview run={run} messages={messages.data} />
        </TabPanel>
        <TabPanel value="timeline">
          <Suspense fallback={<Loading />}>
            <Timeline runId={run.id} search={search} onChange={change} />
          </Suspense>
        </TabPanel>
        <TabPanel value="steps">
          <Suspense fallback={<Loading />}>
            <Steps run={run} messages={messages.data} search={search} onChange={change} />
          </Suspense>
        </TabPanel>
        <TabPanel value="events" fill>
          <Suspense fallback={<Loading />}>
            <Events run={run} search={search} onChange={change} />
          </Suspense>
        </TabPanel>
        <TabPanel value="messages">
          <Suspense fallback={<Loading />}>
            <Messages run={run} of={search.of ?? 'thread'} onChange={change} />
          </Suspense>
        </TabPanel>
      </Tabs>
      {search.fork !== undefined && noCopy(run) === null && (
        <Suspense>
          <Fork run={run} after={search.fork} onClose={() => change({ fork: undefined })} />
        </Suspense>
      )}
    </Page>
  );
}
