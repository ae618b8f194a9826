import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Duration, Json, StatusBadge } from '@troupe/ui';
import { CircleStop, ExternalLink } from 'lucide-react';
import { useMemo } from 'react';
import { Button, buttonClass } from '../../../blocks/button.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Failure, Loading, Notice } from '../../../blocks/states.tsx';
import { sayError } from '../../../blocks/toast.tsx';
import { runAddress } from '../../../data/addresses.ts';
import { troupe } from '../../../data/client.ts';
import { formatNumber } from '../../../data/format.ts';
import { defaultAgentOf } from '../draft/definition.ts';
import { versionQuery } from '../versions.ts';
import { isEnd, pathOf } from './path.ts';
import { StepList } from './step-list.tsx';
import { useFollowedRun } from './use-followed-run.ts';
import { WayGraph } from './way-graph.tsx';

/** One run of the network: the way on the graph, each decision with its verdict, and the answer. */
export function RunView({ runId, network }: { runId: string; network: Api.Network }) {
  const { query, live, refusals } = useFollowedRun(runId);
  const run = query.data;
  const version = run?.networkVersion ?? null;
  const definition = useQuery({
    ...versionQuery(network.id, version ?? 0),
    enabled: version !== null && run?.networkId === network.id,
  }).data;
  const trigger = typeof run?.trigger.agent === 'string' ? run.trigger.agent : null;
  const first = trigger ?? (definition ? defaultAgentOf(definition) : null);
  const path = useMemo(() => pathOf(run?.steps ?? [], first), [run?.steps, first]);
  if (!run)
    return query.error ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Loading />;
  if (run.networkId !== network.id)
    return (
      <Notice tone="warn" className="m-4">
        This is no run of the network.
      </Notice>
    );
  const hasEnded = isEnd(run.status);
  const at = hasEnded ? undefined : path.at;
  return (
    <div className="flex flex-col gap-4 p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
        <StatusBadge status={run.status} />
        <span className="text-muted">version {run.networkVersion}</span>
        {run.startedAt && (
          <span className="text-muted">
            <Duration from={run.startedAt} to={run.completedAt ?? run.canceledAt} />
          </span>
        )}
        <span className="text-muted tabular-nums">
          {formatNumber(run.usage.inputTokens + run.usage.outputTokens)} tokens
        </span>
        <span className="ml-auto flex gap-2">
          {!hasEnded && (
            <Button
              size="small"
              icon={CircleStop}
              onClick={() => void troupe.runs.cancel({ params: { runId } }).catch(sayError)}
            >
              Cancel
            </Button>
          )}
          <Link to={runAddress(runId)} className={buttonClass('plain', 'small')}>
            <ExternalLink size={13} aria-hidden="true" /> Open the run
          </Link>
        </span>
      </div>
      <p className="sr-only" aria-live="polite">
        {hasEnded ? `The run is ${run.status}.` : at ? `At ${at}.` : ''}
      </p>
      {version !== null && <WayGraph network={network.id} version={version} path={path} isOver={hasEnded} />}
      {run.error && (
        <Notice tone="bad">
          {run.error.message} <code className="font-mono text-xs">{run.error.code}</code>
        </Notice>
      )}
      {run.status === 'completed' && <Answer outcome={run.outcome} />}
      <StepList run={run} live={live} refusals={refusals} at={hasEnded ? null : path.at} />
    </div>
  );
}

function Answer({ outcome }: { outcome: Api.Json }) {
  const { response, agent } = outcome as { response?: Api.Json; agent?: string };
  const message = (response as { message?: unknown } | null)?.message;
  const isText = typeof message === 'string' && Object.keys(response as object).length === 1;
  return (
    <Card title={agent ? `Answer of ${agent}` : 'Answer'}>
      {isText ? (
        <p className="text-sm break-words whitespace-pre-wrap">{message}</p>
      ) : (
        <Json value={response ?? null} label="Answer" />
      )}
    </Card>
  );
}
