import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useSession } from '@troupe/react';
import { StatusBadge } from '@troupe/ui';
import { lazy, type ReactNode, Suspense } from 'react';
import { Page } from '../../blocks/page.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { useWide } from '../../blocks/use-wide.ts';
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

const tabs: { value: SessionPanel; label: string }[] = [
  { value: 'tasks', label: 'Sub-agents' },
  { value: 'files', label: 'Files' },
  { value: 'todos', label: 'To-dos' },
  { value: 'findings', label: 'Findings' },
  { value: 'runs', label: 'Runs' },
  { value: 'events', label: 'Events' },
];

/** The chat, and beside it what the session made and what happened in it. */
export function SessionPage() {
  const { agentId, sessionId } = useParams({ from: '/sessions/$agentId/$sessionId' });
  const search = useSearch({ from: '/sessions/$agentId/$sessionId' });
  const navigate = useNavigate({ from: '/sessions/$agentId/$sessionId' });
  const isWide = useWide();
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
  const panels: Record<Exclude<SessionPanel, 'chat'>, ReactNode> = {
    tasks: <TasksPanel agentId={agentId} sessionId={sessionId} />,
    files: (
      <FilesPanel
        agentId={agentId}
        sessionId={sessionId}
        open={search.file}
        onOpen={(file) => change({ file })}
      />
    ),
    todos: <TodosPanel agentId={agentId} sessionId={sessionId} />,
    findings: <FindingsPanel agentId={agentId} sessionId={sessionId} />,
    runs: <RunsPanel sessionId={sessionId} />,
    events: (
      <SessionEvents
        agentId={agentId}
        sessionId={sessionId}
        filter={search.events ?? ''}
        onFilter={(events) => change({ events: events || undefined })}
      />
    ),
  };
  const chat = (
    <Suspense fallback={<Loading />}>
      <SessionChat key={sessionId} session={shownSession} agentName={nameOf(agentId)} />
    </Suspense>
  );
  const panel = search.panel ?? (isWide ? 'tasks' : 'chat');
  const shown = isWide && panel === 'chat' ? 'tasks' : panel;
  const beside = (
    <Tabs
      label="Of this session"
      value={shown}
      onChange={(next) => change({ panel: next })}
      tabs={isWide ? tabs : [{ value: 'chat', label: 'Chat' }, ...tabs]}
    >
      <TabPanel value={shown} fill>
        {shown === 'chat' ? (
          chat
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
      {isWide ? (
        <div className="flex h-full min-h-0">
          <div className="min-w-0 flex-1">{chat}</div>
          <aside aria-label="Beside the chat" className="w-[26rem] shrink-0 border-l border-line bg-surface">
            {beside}
          </aside>
        </div>
      ) : (
        beside
      )}
    </Page>
  );
}
