import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Duration, StatusBadge, TaskTree, Time } from '@troupe/ui';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { KnownTools } from '../../blocks/known-tools.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Failure, Loading, Notice } from '../../blocks/states.tsx';
import { agentAddress, runAddress, taskAddress } from '../../data/addresses.ts';
import { chatQuery } from '../../data/chats.ts';
import { troupe } from '../../data/client.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { AnswerQuestion } from './answer-question.tsx';
import { useCancelTask } from './cancel.ts';

const SubAgentTalk = lazy(() => import('./sub-agent-talk.tsx'));
const WaitingHere = lazy(() => import('./waiting-here.tsx'));

const ENDED: readonly string[] = ['success', 'failed', 'canceled'];

export function TaskPage() {
  const { taskId } = useParams({ from: '/tasks/$taskId' });
  useLive('tasks');
  const task = useQuery({
    queryKey: ['tasks', 'one', taskId],
    queryFn: () => troupe.tasks.get({ params: { taskId } }),
  });
  if (!task.data)
    return (
      <Page title="Task" crumbs={[{ label: 'Tasks', to: '/tasks' }]}>
        {task.error ? <Failure error={task.error} retry={() => void task.refetch()} /> : <Loading />}
      </Page>
    );
  return <Shown key={taskId} task={task.data} />;
}

function Shown({ task }: { task: Api.Task }) {
  const navigate = useNavigate();
  const cancel = useCancelTask();
  const [asks, setAsks] = useState(false);
  const { data: chat } = useQuery(chatQuery(task));
  const within = useQuery({
    queryKey: ['tasks', 'within', task.id],
    queryFn: async () => (await troupe.tasks.list({ query: { parent: task.id, limit: 200 } })).data,
  });
  const subAgent = useQuery({
    queryKey: ['tasks', 'sub-agent', task.subAgentId],
    queryFn: () => troupe.subAgents.get({ params: { subAgentId: task.subAgentId! } }),
    enabled: task.subAgentId !== null,
  });
  const isEnded = ENDED.includes(task.status);
  return (
    <Page
      title={task.name}
      heading={
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate" title={task.name}>
            {task.name}
          </span>
          <StatusBadge status={task.status} />
        </span>
      }
      crumbs={[
        { label: 'Tasks', to: '/tasks' },
        ...(task.parentTaskId
          ? [{ label: 'the task it is within', to: taskAddress(task.parentTaskId) }]
          : []),
      ]}
      actions={
        !isEnded && (
          <Button kind="danger" onClick={() => setAsks(true)}>
            Cancel
          </Button>
        )
      }
    >
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-4">
          {task.question && (
            <Card title="It asks">
              <AnswerQuestion task={task} />
            </Card>
          )}
          {task.error && (
            <Notice tone="bad">
              {task.error} {task.code && <code className="font-mono text-2xs">{task.code}</code>}
            </Notice>
          )}
          {task.runId && !isEnded && (
            <Suspense>
              <KnownTools>
                <WaitingHere runId={task.runId} />
              </KnownTools>
            </Suspense>
          )}
          <Card title="What was said within">
            {task.subAgentId ? (
              <Suspense fallback={<Loading />}>
                <KnownTools>
                  <SubAgentTalk subAgentId={task.subAgentId} name={subAgent.data?.role ?? task.name} />
                </KnownTools>
              </Suspense>
            ) : (
              <Plain task={task} />
            )}
          </Card>
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Card title="About">
            <dl className="flex flex-col gap-2 text-sm">
              <Fact label="Given in">
                {chat ? (
                  <Link to={chat.address} title={chat.title} className="truncate text-accent hover:underline">
                    {chat.title}
                  </Link>
                ) : (
                  shortId(task.chatId)
                )}
              </Fact>
              <Fact label="By the run">
                {task.parentRunId ? <RunLink runId={task.parentRunId} /> : 'None, created from outside'}
              </Fact>
              {task.runId && (
                <Fact label="Its run">
                  <RunLink runId={task.runId} />
                </Fact>
              )}
              {subAgent.data && (
                <>
                  <Fact label="Agent">
                    <Link
                      to={agentAddress(subAgent.data.agentId)}
                      className="truncate text-accent hover:underline"
                    >
                      {subAgent.data.role}
                    </Link>
                  </Fact>
                  <Fact label="Model calls">{subAgent.data.iterationCount}</Fact>
                </>
              )}
              <Fact label="Waited for">{task.background ? 'No, in the background' : 'Yes'}</Fact>
              <Fact label="Depth">{task.depth}</Fact>
              <Fact label="Given">
                <Time value={task.createdAt} />
              </Fact>
              <Fact label={isEnded ? 'Took' : 'Since'}>
                <Duration from={task.createdAt} to={isEnded ? task.updatedAt : null} />
              </Fact>
            </dl>
          </Card>
          {!!within.data?.length && (
            <Card title="Given within it" flush>
              <div className="p-2">
                <TaskTree
                  tasks={within.data}
                  label="Given within it"
                  onOpen={({ id }) => void navigate({ to: taskAddress(id) })}
                  onCancel={cancel}
                />
              </div>
            </Card>
          )}
        </div>
      </div>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title="Cancel this task?"
        label="Cancel the task"
        act={() => cancel(task.id)}
      >
        What was given within it is canceled as well. Whoever waits for it is told.
      </Confirm>
    </Page>
  );
}

/** Of a tool in the background there is no conversation. */
function Plain({ task }: { task: Api.Task }) {
  return (
    <div className="flex flex-col gap-2 text-sm">
      <p className="break-words whitespace-pre-wrap">{task.instruction}</p>
      {task.result !== null && (
        <pre className="overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap">
          {task.result}
        </pre>
      )}
    </div>
  );
}

function RunLink({ runId }: { runId: string }) {
  return (
    <Link to={runAddress(runId)} title={runId} className="font-mono text-xs text-accent hover:underline">
      {shortId(runId)}
    </Link>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-baseline justify-between gap-3">
      <dt className="shrink-0 text-faint">{label}</dt>
      <dd className="min-w-0 truncate text-right">{children}</dd>
    </div>
  );
}
