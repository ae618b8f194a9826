import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, useMemo, useState } from 'react';
import { Page } from '../../blocks/page.tsx';
import { SplitView } from '../../blocks/split-view.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
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
      <SplitView<Exclude<SpacePanel, 'chat'>>
        label="Panels of the space"
        mainLabel="Talk"
        main={
          // Another person is another reader: with another mark, and other new messages.
          <SpaceTalk key={`${spaceId} ${me.entityId}`} space={space.data} me={me} goTo={goTo} />
        }
        panel={search.panel}
        onPanel={(panel) => change({ panel })}
        panels={[
          { value: 'members', label: 'Members', content: <MembersPanel spaceId={spaceId} me={me} /> },
          {
            value: 'search',
            label: 'Search',
            content: (
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
          },
          {
            value: 'tasks',
            label: 'Tasks',
            content: <TasksPanel spaceId={spaceId} entityId={me.entityId} />,
          },
          { value: 'runs', label: 'Runs', content: <RunsPanel spaceId={spaceId} /> },
          {
            value: 'settings',
            label: 'Settings',
            content: <SettingsPanel key={spaceId} space={space.data} />,
          },
          {
            value: 'events',
            label: 'Events',
            content: (
              <SpaceEvents
                spaceId={spaceId}
                filter={search.events ?? ''}
                onFilter={(events) => change({ events: events || undefined })}
              />
            ),
          },
        ]}
      />
    </Page>
  );
}
