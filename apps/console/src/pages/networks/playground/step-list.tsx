import type { Api } from '@troupe/sdk';
import { Json, StatusBadge } from '@troupe/ui';
import { ArrowRight, Check, CircleX, ListTree, MessageSquareReply, OctagonX, Wrench } from 'lucide-react';
import type { ReactNode } from 'react';
import { Spinner } from '../../../blocks/button.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Tag } from '../../../blocks/tag.tsx';
import { formatDuration } from '../../../data/format.ts';
import { type Decision, decisionsOf } from './path.ts';
import type { LiveText } from './use-followed-run.ts';

type WholeRun = Api.Run & { steps: Api.RunStep[]; calls: Api.ToolCall[] };

/** Step by step: who decided what, and what the runtime said to it. */
export function StepList({
  run,
  live,
  refusals,
  at,
}: {
  run: WholeRun;
  live: LiveText | null;
  refusals: Record<string, string>;
  /** Who is at it; null: it has ended. */
  at: string | null;
}) {
  return (
    <Card flush title="Decisions">
      <ol aria-label="Decisions" className="flex flex-col">
        {run.steps.map((step) => (
          <li key={step.step} className="flex flex-col gap-1.5 border-b border-line px-4 py-3 last:border-0">
            <p className="flex items-center gap-2 text-xs text-muted">
              <span className="tabular-nums">Step {step.step}</span>
              <span className="font-medium text-text">{step.agentKey}</span>
              <span className="ml-auto tabular-nums">
                {formatDuration(Date.parse(step.finishedAt) - Date.parse(step.startedAt))} · {step.model}
              </span>
            </p>
            {decisionsOf(step).map((decision) => (
              <Decided
                key={`${decision.type} ${decision.call ?? decision.agent ?? ''}`}
                decision={decision}
                call={run.calls.find(({ id }) => id === decision.call)}
                message={refusals[`${step.step} ${decision.call ?? ''}`]}
              />
            ))}
          </li>
        ))}
        {at !== null && (
          <li className="flex items-start gap-2 px-4 py-3 text-sm">
            <Spinner className="mt-1" />
            <div className="min-w-0">
              <p className="font-medium">{at}</p>
              <p className="line-clamp-4 text-xs break-words text-muted">
                {live ? `${live.tool ? `${live.tool} ` : ''}${live.text}` : 'is deciding…'}
              </p>
            </div>
          </li>
        )}
        {run.steps.length === 0 && at === null && (
          <li className="px-4 py-3 text-sm text-muted">It ended before anybody decided anything.</li>
        )}
      </ol>
    </Card>
  );
}

const words: Record<string, { word: string; icon: ReactNode }> = {
  RESPOND: { word: 'responds', icon: <MessageSquareReply size={14} aria-hidden="true" /> },
  TASK_RESPOND: { word: 'answers its task', icon: <MessageSquareReply size={14} aria-hidden="true" /> },
  USE_TOOL: { word: 'calls', icon: <Wrench size={14} aria-hidden="true" /> },
  ROUTE_TO_AGENT: { word: 'hands over to', icon: <ArrowRight size={14} aria-hidden="true" /> },
  DELEGATE: { word: 'gives a task to', icon: <ListTree size={14} aria-hidden="true" /> },
};

function Decided({
  decision: { type, tool, agent, status, code },
  call,
  message,
}: {
  decision: Decision;
  call: Api.ToolCall | undefined;
  message: string | undefined;
}) {
  const { word, icon } = words[type] ?? { word: type, icon: null };
  const target = tool ?? agent;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <p className="flex min-w-0 flex-wrap items-center gap-2 text-sm">
        <span className="text-faint">{icon}</span>
        <span>
          {word} {target && <span className="font-mono text-xs font-medium">{target}</span>}
        </span>
        <Verdict status={status} code={code} />
        {call && <StatusBadge status={call.status} />}
      </p>
      {message && <p className="pl-6 text-xs break-words text-muted">{message}</p>}
      {call?.error && <p className="pl-6 text-xs break-words text-bad">{call.error.message}</p>}
      {call && (
        <details className="pl-6 text-sm">
          <summary className="rounded-sm text-xs text-muted">What it was given, and what came back</summary>
          <div className="mt-1 grid gap-2 md:grid-cols-2">
            <Json value={call.arguments} label={`Arguments of ${call.tool}`} lines={10} />
            <Json value={call.output} label={`Result of ${call.tool}`} lines={10} />
          </div>
        </details>
      )}
    </div>
  );
}

export function Verdict({ status, code }: { status: Decision['status']; code?: string | null | undefined }) {
  if (status === 'ok')
    return (
      <Tag tone="good">
        <Check size={11} aria-hidden="true" /> allowed
      </Tag>
    );
  return (
    <Tag tone={status === 'retry' ? 'warn' : 'bad'}>
      {status === 'retry' ? (
        <CircleX size={11} aria-hidden="true" />
      ) : (
        <OctagonX size={11} aria-hidden="true" />
      )}{' '}
      {status === 'retry' ? 'refused' : 'fails the run'}
      {code && `: ${code}`}
    </Tag>
  );
}
