import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { CopyButton, Json, Markdown, StatusBadge, Time } from '@troupe/ui';
import type { ReactNode } from 'react';
import { Card } from '../../../blocks/page.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { formatCost, formatNumber, shortId } from '../../../data/format.ts';
import { doorWord, useWhoWorks } from '../names.ts';
import { askedOf, RunDuration } from '../run-table.tsx';
import { PlaceLink } from './place-link.tsx';
import { childrenQuery, type RunDetails } from './queries.ts';
import { adviceFor } from './why-failed.ts';

/** How it stands, why, what it was asked and what it answered. */
export function Overview({ run, messages }: { run: RunDetails; messages: Api.Message[] | undefined }) {
  const asked = messages?.filter(({ role }) => role === 'user') ?? [];
  return (
    <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <Trouble run={run} />
        <Waiting run={run} />
        <Card title="Asked">
          {asked.length > 0 ? (
            <div className="flex flex-col gap-3">
              {asked.map((message) => (
                <p
                  key={message.id}
                  className="max-h-96 overflow-y-auto text-sm break-words whitespace-pre-wrap"
                >
                  {message.role === 'user' && message.content.text}
                </p>
              ))}
            </div>
          ) : (
            <Json value={run.trigger} label="What began it" />
          )}
        </Card>
        <Card title="Answered">
          <Outcome outcome={run.outcome} status={run.status} />
        </Card>
        <Children runId={run.id} />
      </div>
      <Facts run={run} />
    </div>
  );
}

function Trouble({ run }: { run: RunDetails }) {
  const advised = adviceFor(run);
  if (!run.error && !advised) return null;
  return (
    <Notice tone={run.status === 'failed' ? 'bad' : 'warn'}>
      {run.error && (
        <p className="font-medium">
          {run.error.message} <span className="font-mono text-2xs">{run.error.code}</span>
        </p>
      )}
      {advised && <p>{advised}</p>}
      {run.status === 'failed' && run.step > 0 && (
        <Link
          to="/runs/$runId"
          params={{ runId: run.id }}
          search={{ tab: 'steps', step: run.step }}
          className="rounded-sm font-medium underline underline-offset-2"
        >
          To its last step
        </Link>
      )}
    </Notice>
  );
}

/** What has to happen before it goes on. */
function Waiting({ run }: { run: RunDetails }) {
  if (run.waitsForCode?.length)
    return (
      <Notice tone="warn">
        No worker has the functions that it needs: {run.waitsForCode.join(', ')}. Start one with the module
        that has them.
      </Notice>
    );
  const open = run.calls.filter(({ settledAt, waitsFor }) => waitsFor !== null && settledAt === null);
  if (run.status !== 'waiting_tool' || open.length === 0) return null;
  const forPeople = open.some(({ waitsFor }) => waitsFor === 'approval' || waitsFor === 'person');
  return (
    <Notice tone="warn">
      Waits for {open.map(({ tool, waitsFor }) => `${tool} (${waitsFor})`).join(', ')}.{' '}
      {forPeople && (
        <Link to="/inbox" className="rounded-sm font-medium underline underline-offset-2">
          Decide in the inbox
        </Link>
      )}
    </Notice>
  );
}

function Outcome({ outcome, status }: { outcome: unknown; status: string }) {
  if (outcome === null || outcome === undefined)
    return (
      <p className="text-sm text-muted">
        {status === 'completed'
          ? 'Nothing.'
          : status === 'failed' || status === 'canceled'
            ? 'It ended without an answer.'
            : 'Not yet.'}
      </p>
    );
  const text = (outcome as { text?: unknown }).text;
  if (typeof text !== 'string') return <Json value={outcome} label="Answer" />;
  const { text: _, ...more } = outcome as { text: string };
  return (
    <div className="flex flex-col gap-3">
      <div className="max-h-[36rem] overflow-y-auto">
        <Markdown text={text} />
      </div>
      {Object.keys(more).length > 0 && <Json value={more} label="What came with the answer" />}
    </div>
  );
}

function Children({ runId }: { runId: string }) {
  const children = useQuery(childrenQuery(runId));
  const whoWorks = useWhoWorks();
  if (!children.data?.data.length) return null;
  return (
    <Card
      title="Runs that it began"
      flush
      actions={
        <Link to="/runs" search={{ parentRunId: runId }} className="text-xs text-muted hover:underline">
          As a list
        </Link>
      }
    >
      <ul className="divide-y divide-line">
        {children.data.data.map((child) => (
          <li key={child.id} className="flex items-center gap-3 px-4 py-2 text-sm">
            <StatusBadge status={child.status} />
            <Link
              to="/runs/$runId"
              params={{ runId: child.id }}
              className="min-w-0 flex-1 truncate rounded-sm hover:underline"
            >
              {askedOf(child)}
            </Link>
            <span className="hidden max-w-40 truncate text-muted sm:block">{whoWorks(child)}</span>
            <span className="text-muted tabular-nums">
              <RunDuration run={child} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Facts({ run }: { run: RunDetails }) {
  const whoWorks = useWhoWorks();
  const models = [...new Set(run.steps.map(({ model }) => model))];
  const { inputTokens, outputTokens } = run.usage;
  return (
    <Card title="Facts" className="self-start">
      <dl className="flex flex-col gap-2 text-sm">
        <Fact name="Id">
          <span className="flex items-center justify-end gap-1">
            <span className="truncate font-mono text-xs" title={run.id}>
              {shortId(run.id)}
            </span>
            <CopyButton text={run.id} label="Copy the id" />
          </span>
        </Fact>
        {run.networkId ? (
          <Fact name="Network">
            <PlaceLink to={`/networks/${run.networkId}`}>{whoWorks(run)}</PlaceLink>
            {run.networkVersion !== null && <span className="text-faint"> v{run.networkVersion}</span>}
          </Fact>
        ) : (
          <Fact name="Agent">
            {run.agentId ? (
              <PlaceLink to={`/agents/${run.agentId}`}>{whoWorks(run)}</PlaceLink>
            ) : (
              whoWorks(run)
            )}
          </Fact>
        )}
        <Fact name="Door">{doorWord(run.door)}</Fact>
        <Fact name="Begun by">{run.triggerType.replaceAll('_', ' ')}</Fact>
        {models.length > 0 && <Fact name="Model">{models.join(', ')}</Fact>}
        <Fact name="Steps">{formatNumber(run.step)}</Fact>
        <Fact name="Tool calls">{formatNumber(run.calls.length)}</Fact>
        <Fact name="Tokens">
          {formatNumber(inputTokens)} in, {formatNumber(outputTokens)} out
        </Fact>
        <Fact name="Cost">{formatCost(run.cost)}</Fact>
        <Fact name="Duration">
          <RunDuration run={run} />
        </Fact>
        <Fact name="Made">
          <Time value={run.createdAt} />
        </Fact>
        <Fact name="Started">
          <Time value={run.startedAt} />
        </Fact>
        {(run.completedAt ?? run.canceledAt) && (
          <Fact name="Ended">
            <Time value={run.completedAt ?? run.canceledAt} />
          </Fact>
        )}
        {run.attempt > 0 && <Fact name="Failed tries of this step">{run.attempt}</Fact>}
        {run.takeovers > 0 && <Fact name="Taken over by other workers">{run.takeovers}</Fact>}
        <Links run={run} />
      </dl>
    </Card>
  );
}

function Links({ run }: { run: RunDetails }) {
  return (
    <>
      {run.sessionId && run.agentId && (
        <Fact name="Session">
          <PlaceLink to={`/sessions/${run.agentId}/${run.sessionId}`}>{shortId(run.sessionId)}</PlaceLink>
        </Fact>
      )}
      {run.spaceId && (
        <Fact name="Space">
          <PlaceLink to={`/spaces/${run.spaceId}`}>{shortId(run.spaceId)}</PlaceLink>
        </Fact>
      )}
      {run.taskId && (
        <Fact name="Task">
          <PlaceLink to={`/tasks?task=${run.taskId}`}>{shortId(run.taskId)}</PlaceLink>
        </Fact>
      )}
      {run.parentRunId && (
        <Fact name="Begun by the run">
          <PlaceLink to={`/runs/${run.parentRunId}`}>{shortId(run.parentRunId)}</PlaceLink>
        </Fact>
      )}
      {run.forkedFrom && (
        <Fact name="Forked from">
          <PlaceLink to={`/runs/${run.forkedFrom.runId}`}>{shortId(run.forkedFrom.runId)}</PlaceLink>, after
          step {run.forkedFrom.step}
        </Fact>
      )}
      {run.absorbedBy && (
        <Fact name="Answered by">
          <PlaceLink to={`/runs/${run.absorbedBy}`}>{shortId(run.absorbedBy)}</PlaceLink>
        </Fact>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-4">
      <dt className="shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 truncate text-right tabular-nums">{children}</dd>
    </div>
  );
}
