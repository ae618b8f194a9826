import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useSession } from '@troupe/react';
import { StatusBadge } from '@troupe/ui';
import { lazy } from 'react';
import { Page } from '../../blocks/page.tsx';
import { SplitView } from '../../blocks/split-view.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
import { agentAddress } from '../../data/addresses.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { useAgentName } from '../../data/names.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { SessionActions } from './actions.tsx';
import { FilesPanel } from './files-panel.tsx';
import { FindingsPanel } from './findings-panel.tsx';
import { sessionQuery } from './queries.ts';
import { RunsPanel } from './runs-panel.tsx';
import { TasksPanel } from './tasks-panel.tsx';
import { TodosPanel } from './todos-panel.tsx';
import type { SessionPanel } from './words.ts';

const SessionChat = lazy(() => import('./session-chat.tsx'));
const SessionEvents = lazy(() => import('./session-events.tsx'));

/** The chat, and beside it what the session made and what happened in it. */
export function SessionPage() {
  const { agentId, sessionId } = useParams({ from: '/sessions/$agentId/$sessionId' });
  const search = useSearch({ from: '/sessions/$agentId/$sessionId' });
  const navigate = useNavigate({ from: '/sessions/$agentId/$sessionId' });
  const nameOf = useAgentName();
  const session = useQuery(sessionQuery(agentId, sessionId));
  const { session: live } = useSession(agentId, sessionId);
  useLive('sessions');
  if (!session.data)
    return (
      <Page title="Session" crumbs={[{ label: 'Sessions', to: '/sessions' }]} fill>
        {session.error ? <Failure error={session.error} retry={() => void session.refetch()} /> : <Loading />}
      </Page>
    );
  // What goes on is known from the stream of the chat first; what somebody changed, from the answer to that.
  const shownSession = {
    ...session.data,
    title: session.data.title ?? live?.title ?? null,
    ...(live ? { status: live.status, error: live.error } : {}),
  };
  const { title, status } = shownSession;
  const name = title ?? `Untitled ${shortId(sessionId)}`;
  const change = (values: SearchChange<typeof search>) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace: true });
  return (
    <Page
      title={name}
      heading={
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate" title={name}>
            {name}
          </span>
          <StatusBadge status={status} label={status === 'pending' ? 'Ready' : undefined} />
        </span>
      }
      crumbs={[
        { label: 'Sessions', to: '/sessions' },
        { label: nameOf(agentId), to: agentAddress(agentId) },
      ]}
      actions={<SessionActions session={shownSession} />}
      fill
    >
      <SplitView<Exclude<SessionPanel, 'chat'>>
        label="Panels of the session"
        mainLabel="Chat"
        main={<SessionChat key={sessionId} session={shownSession} agentName={nameOf(agentId)} />}
        panel={search.panel}
        onPanel={(panel) => change({ panel })}
        panels={[
          {
            value: 'tasks',
            label: 'Sub-agents',
            content: <TasksPanel agentId={agentId} sessionId={sessionId} />,
          },
          {
            value: 'files',
            label: 'Files',
            content: (
              <FilesPanel
                agentId={agentId}
                sessionId={sessionId}
                open={search.file}
                onOpen={(file) => change({ file })}
              />
            ),
          },
          {
            value: 'todos',
            label: 'To-dos',
            content: <TodosPanel agentId={agentId} sessionId={sessionId} />,
          },
          {
            value: 'findings',
            label: 'Findings',
            content: <FindingsPanel agentId={agentId} sessionId={sessionId} />,
          },
          { value: 'runs', label: 'Runs', content: <RunsPanel sessionId={sessionId} /> },
          {
            value: 'events',
            label: 'Events',
            content: (
              <SessionEvents
                agentId={agentId}
                sessionId={sessionId}
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
