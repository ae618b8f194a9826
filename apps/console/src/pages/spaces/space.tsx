import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { Page } from '../../blocks/page.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { useWide } from '../../blocks/use-wide.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { useMe } from '../../data/me.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { MembersPanel } from './members-panel.tsx';
import { spaceQuery } from './queries.ts';
import { RunsPanel } from './runs-panel.tsx';
import { SearchPanel } from './search-panel.tsx';
import { SettingsPanel } from './settings-panel.tsx';
import { TasksPanel } from './tasks-panel.tsx';
import { WhoAmI } from './who-am-i.tsx';
import type { SpacePanel } from './words.ts';

const SpaceTalk = lazy(() => import('./space-talk.tsx'));
const SpaceEvents = lazy(() => import('./space-events.tsx'));

const tabs: { value: SpacePanel; label: string }[] = [
  { value: 'members', label: 'Members' },
  { value: 'search', label: 'Search' },
  { value: 'tasks', label: 'Tasks' },
  { value: 'runs', label: 'Runs' },
  { value: 'settings', label: 'Settings' },
  { value: 'events', label: 'Events' },
];

export function SpacePage() {
  const { spaceId } = useParams({ from: '/spaces/$spaceId' });
  const search = useSearch({ from: '/spaces/$spaceId' });
  const navigate = useNavigate({ from: '/spaces/$spaceId' });
  const isWide = useWide();
  const me = useMe();
  const space = useQuery(spaceQuery(spaceId));
  useLive('spaces');
  // The same hit leads there once more, for whoever has gone elsewhere since.
  const [asked, setAsked] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const goTo = useMemo(
    () => (search.message ? { messageId: search.message } : null),
    [search.message, asked],
  );
  if (!space.data)
    return (
      <Page title="Space" crumbs={[{ label: 'Spaces', to: '/spaces' }]} fill>
        {space.error ? <Failure error={space.error} retry={() => void space.refetch()} /> : <Loading />}
      </Page>
    );
  const name = space.data.name ?? `Unnamed ${shortId(spaceId)}`;
  const change = (values: SearchChange<typeof search>) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace: true });
  const talk = (
    <Suspense fallback={<Loading />}>
      {/* Another person is another reader: with another mark, and other new messages. */}
      <SpaceTalk key={`${spaceId} ${me.entityId}`} space={space.data} me={me} goTo={goTo} />
    </Suspense>
  );
  const panels: Record<Exclude<SpacePanel, 'chat'>, ReactNode> = {
    members: <MembersPanel spaceId={spaceId} me={me} />,
    search: (
      <SearchPanel
        spaceId={spaceId}
        text={search.search ?? ''}
        onSearch={(text) => change({ search: text || undefined })}
        onOpen={(message) => {
          setAsked(asked + 1);
          change({ message, ...(isWide ? {} : { panel: 'chat' }) });
        }}
      />
    ),
    tasks: <TasksPanel spaceId={spaceId} entityId={me.entityId} />,
    runs: <RunsPanel spaceId={spaceId} />,
    settings: <SettingsPanel key={spaceId} space={space.data} />,
    events: (
      <SpaceEvents
        spaceId={spaceId}
        filter={search.events ?? ''}
        onFilter={(events) => change({ events: events || undefined })}
      />
    ),
  };
  const panel = search.panel ?? (isWide ? 'members' : 'chat');
  const shown = isWide && panel === 'chat' ? 'members' : panel;
  const beside = (
    <Tabs
      label="Of this space"
      value={shown}
      onChange={(next) => change({ panel: next })}
      tabs={isWide ? tabs : [{ value: 'chat', label: 'Talk' }, ...tabs]}
    >
      <TabPanel value={shown} fill>
        {shown === 'chat' ? (
          talk
        ) : (
          <div className="h-full overflow-y-auto">
            <Suspense fallback={<Loading />}>{panels[shown]}</Suspense>
          </div>
        )}
      </TabPanel>
    </Tabs>
  );
  return (
    <Page
      title={name}
      heading={<span title={name}>{name}</span>}
      crumbs={[{ label: 'Spaces', to: '/spaces' }]}
      about={
        space.data.description && (
          <span className="block truncate" title={space.data.description}>
            {space.data.description}
          </span>
        )
      }
      actions={<WhoAmI />}
      fill
    >
      {isWide ? (
        <div className="flex h-full min-h-0">
          <div className="min-w-0 flex-1">{talk}</div>
          <aside aria-label="Beside the space" className="w-[26rem] shrink-0 border-l border-line bg-surface">
            {beside}
          </aside>
        </div>
      ) : (
        beside
      )}
    </Page>
  );
}
