import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Json, Markdown, ToolCard } from '@troupe/ui';
import { ChevronRight, GitFork } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { cx } from '../../../blocks/cx.ts';
import { Empty, Failure, Loading } from '../../../blocks/states.tsx';
import { formatCost, formatDuration, formatNumber } from '../../../data/format.ts';
import type { RunSearch } from '../search.ts';
import { noCopy } from './actions.tsx';
import { ShownPrompt } from './prompt.tsx';
import { promptQuery, type RunDetails } from './queries.ts';
import type { ChangeSearch } from './run.tsx';

const SHOWN = 100;

/** Each step: what the model was given, what it answered, and what came of it. */
export default function Steps({
  run,
  messages,
  search,
  onChange,
}: {
  run: RunDetails;
  messages: Api.Message[] | undefined;
  search: RunSearch;
  onChange: ChangeSearch;
}) {
  const [shown, setShown] = useState(SHOWN);
  const open = search.step;
  const toggle = (step: number) => onChange({ step: open === step ? undefined : step });
  // What it is asked now, or was asked when it failed, is a prompt too.
  const pending = run.status === 'completed' ? null : run.step + 1;
  if (run.steps.length === 0 && pending === null)
    return <Empty title="No step was taken">The model was not asked anything.</Empty>;
  const steps = run.steps.filter(({ step }, index) => index < shown || step === open);
  return (
    <ol aria-label="Steps" className="flex flex-col gap-2">
      {steps.map((step) => (
        <li key={step.step} className="overflow-hidden rounded-lg border border-line bg-surface shadow-low">
          <StepHead step={step} run={run} isOpen={open === step.step} onToggle={() => toggle(step.step)} />
          {open === step.step && (
            <StepBody
              step={step}
              run={run}
              messages={messages}
              onFork={() => onChange({ fork: step.step })}
            />
          )}
        </li>
      ))}
      {run.steps.length > steps.length && (
        <li>
          <Button onClick={() => setShown(shown + SHOWN)}>
            Show {Math.min(SHOWN, run.steps.length - steps.length)} more of {run.steps.length} steps
          </Button>
        </li>
      )}
      {pending !== null && (
        <li className="overflow-hidden rounded-lg border border-dashed border-line-strong bg-surface">
          <Head
            isOpen={open === pending}
            onToggle={() => toggle(pending)}
            title={`Step ${pending}`}
            note={run.status === 'failed' || run.status === 'canceled' ? 'was not taken' : 'comes next'}
          />
          {open === pending && (
            <div className="border-t border-line p-4">
              <PromptOf runId={run.id} step={pending} />
            </div>
          )}
        </li>
      )}
    </ol>
  );
}

function isCompaction({ decision }: Api.RunStep): boolean {
  return (decision as { type?: unknown } | null)?.type === 'COMPACTION';
}

function StepHead({
  step,
  run,
  isOpen,
  onToggle,
}: {
  step: Api.RunStep;
  run: RunDetails;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const calls = run.calls.filter((call) => call.step === step.step);
  return (
    <Head
      isOpen={isOpen}
      onToggle={onToggle}
      title={`Step ${step.step}`}
      note={[isCompaction(step) ? 'Summary' : step.agentKey, step.model].filter(Boolean).join(' · ')}
    >
      {calls.length > 0 && (
        <span className="hidden max-w-64 truncate sm:inline" title={calls.map(({ tool }) => tool).join(', ')}>
          {calls.map(({ tool }) => tool).join(', ')}
        </span>
      )}
      {step.attempt > 1 && <span className="text-warn">try {step.attempt}</span>}
      {step.finishReason !== 'stop' && step.finishReason !== 'tool_calls' && (
        <span className="text-warn">{step.finishReason.replaceAll('_', ' ')}</span>
      )}
      <span title="Tokens read and written">
        {formatNumber(step.usage.inputTokens)} → {formatNumber(step.usage.outputTokens)}
      </span>
      {step.cost > 0 && <span title="Cost">{formatCost(step.cost)}</span>}
      <span title="From asking to the whole answer">
        {formatDuration(Date.parse(step.finishedAt) - Date.parse(step.startedAt))}
      </span>
    </Head>
  );
}

function Head({
  isOpen,
  onToggle,
  title,
  note,
  children,
}: {
  isOpen: boolean;
  onToggle: () => void;
  title: string;
  note: string;
  children?: React.ReactNode;
}) {
  return (
    <h3>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex w-full flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-left text-sm hover:bg-hover"
      >
        <ChevronRight
          size={14}
          aria-hidden="true"
          className={cx('shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
        />
        <span className="font-semibold">{title}</span>
        <span className="min-w-0 truncate text-muted">{note}</span>
        <span className="ml-auto flex min-w-0 flex-wrap items-center gap-x-4 text-xs text-muted tabular-nums">
          {children}
        </span>
      </button>
    </h3>
  );
}

function StepBody({
  step,
  run,
  messages,
  onFork,
}: {
  step: Api.RunStep;
  run: RunDetails;
  messages: Api.Message[] | undefined;
  onFork: () => void;
}) {
  const [part, setPart] = useState<'answer' | 'prompt'>('answer');
  const calls = run.calls.filter((call) => call.step === step.step);
  const said = messages?.filter(
    ({ step: of, role }) => of === step.step && (role === 'assistant' || role === 'system'),
  );
  return (
    <div className="border-t border-line">
      <div className="flex gap-1 border-b border-line bg-sunken px-3 py-1.5">
        {(['answer', 'prompt'] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={part === name}
            onClick={() => setPart(name)}
            className={cx(
              'rounded-md px-2 py-1 text-xs font-medium',
              part === name ? 'bg-surface text-text shadow-low' : 'text-muted hover:text-text',
            )}
          >
            {name === 'answer' ? 'Answer' : 'Prompt'}
          </button>
        ))}
        {noCopy(run) === null && (
          <Button kind="quiet" size="small" icon={GitFork} className="ml-auto" onClick={onFork}>
            Fork after this step
          </Button>
        )}
      </div>
      <div className="flex flex-col gap-3 p-4">
        {part === 'prompt' ? (
          <PromptOf runId={run.id} step={step.step} />
        ) : (
          <>
            {said?.map((message) =>
              (message.role === 'assistant' || message.role === 'system') && message.content.text ? (
                <Markdown key={message.id} text={message.content.text} />
              ) : null,
            )}
            {calls.map((call) => (
              <ToolCard key={call.id} call={call} />
            ))}
            {step.decision !== null && <Json value={step.decision} label="Decision" />}
            {messages && !said?.length && calls.length === 0 && step.decision === null && (
              <p className="text-sm text-muted">Nothing but what is in its events.</p>
            )}
          </>
        )}
      </div>
    </div>
  );
}

function PromptOf({ runId, step }: { runId: string; step: number }) {
  const prompt = useQuery(promptQuery(runId, step));
  if (prompt.data) return <ShownPrompt prompt={prompt.data} />;
  if (prompt.error)
    return <Failure error={prompt.error} retry={() => void prompt.refetch()} className="py-6" />;
  return <Loading label="Making the prompt again…" className="py-6" />;
}
