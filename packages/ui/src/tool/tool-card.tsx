import { memo, type ReactNode, useCallback, useId, useState } from 'react';
import { classes } from '../basic/classes.ts';
import { Fold } from '../basic/fold.tsx';
import { ToolIcon } from '../basic/icons.tsx';
import { Json } from '../basic/json.tsx';
import { StatusBadge } from '../basic/status-badge.tsx';
import { Duration, Time } from '../basic/time.tsx';
import { isOpen, type ShownCall, type ShownTool, statusOf } from './call.ts';
import { SchemaForm } from './schema-form.tsx';
import { ToolOutput } from './tool-output.tsx';
import { useToolComponent, useToolDefinition } from './tool-ui.tsx';

export interface ToolCardProps {
  call: ShownCall;
  /** Left out: as `definitions` of a `ToolUi` above has it. */
  tool?: ShownTool | undefined;
  /** Settles a call of a client or UI tool. Without it such a call is shown as waiting. */
  onSubmit?: ((result: unknown) => Promise<void> | void) | undefined;
  onFail?: ((message: string, code?: string) => Promise<void> | void) | undefined;
  onCancel?: (() => void) | undefined;
  /** Open from the beginning. Default: where it failed, is in doubt or waits for somebody here. */
  open?: boolean | undefined;
  /** Arguments that are still being written, as text. */
  writing?: string | undefined;
  /** Below the call: the tasks that it gave, and the like. */
  children?: ReactNode;
}

export const ToolCard = memo(function ToolCard(props: ToolCardProps) {
  const { call, onSubmit, onFail } = props;
  const definition = useToolDefinition(call.tool);
  const tool = props.tool ?? definition;
  const [answering, setAnswering] = useState<'no' | 'busy' | 'done'>('no');
  const [problem, setProblem] = useState<string | null>(null);
  const Custom = useToolComponent(call);

  const answer = useCallback(async (send: () => Promise<void> | void) => {
    setAnswering('busy');
    setProblem(null);
    try {
      await send();
      setAnswering('done');
    } catch (error) {
      setAnswering('no');
      setProblem(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }, []);
  const submit = useCallback((result: unknown) => answer(() => onSubmit?.(result)), [answer, onSubmit]);
  const fail = useCallback(
    (message: string, code?: string) => answer(() => onFail?.(message, code)),
    [answer, onFail],
  );
  const canAnswer = isOpen(call) && call.waitsFor === 'client' && Boolean(onSubmit) && answering !== 'done';
  const isBusy = answering === 'busy';

  // Arguments that are half written are nothing to build on.
  if (Custom && props.writing === undefined) {
    return (
      <section
        className="troupe-tool troupe-tool-custom"
        aria-label={nameOf(call, tool)}
        data-status={call.status}
      >
        <Custom call={call} submit={submit} fail={fail} canAnswer={canAnswer} isBusy={isBusy} />
        {problem && (
          <p className="troupe-problem" role="alert">
            {problem}
          </p>
        )}
      </section>
    );
  }
  return (
    <PlainCard {...props} tool={tool}>
      {canAnswer && (
        <SchemaForm
          schema={tool?.outputSchema ?? null}
          submitLabel="Answer"
          isBusy={isBusy}
          problem={problem}
          onSubmit={(value) => void submit(value).catch(() => {})}
          onReject={onFail && (() => void fail('The person declined to answer.', 'declined').catch(() => {}))}
        />
      )}
      {props.children}
    </PlainCard>
  );
});

export function nameOf(call: Pick<ShownCall, 'tool'>, tool: ShownTool | undefined): string {
  return tool?.displayName || call.tool;
}

function PlainCard({ call, tool, open, writing, onSubmit, onCancel, children }: ToolCardProps) {
  const status = statusOf(call);
  const opens =
    open ?? (status === 'failed' || status === 'in_doubt' || (status === 'waiting' && Boolean(onSubmit)));
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOpenNow = chosen ?? opens;
  const bodyId = useId();
  return (
    <section className={classes('troupe-tool', isOpenNow && 'troupe-tool-open')} data-status={status}>
      <header className="troupe-tool-head">
        <Fold className="troupe-tool-toggle" isOpen={isOpenNow} bodyId={bodyId} onToggle={setChosen}>
          <ToolIcon />
          <span className="troupe-tool-name">{nameOf(call, tool)}</span>
          {call.agentName && (
            <span className="troupe-tool-by" title={call.agentName}>
              by {call.agentName}
            </span>
          )}
          {!isOpenNow && <span className="troupe-tool-brief">{briefOf(writing ?? call.arguments)}</span>}
        </Fold>
        <span className="troupe-tool-facts">
          {call.createdAt && (isOpen(call) || call.settledAt) && (
            <Duration from={call.createdAt} to={call.settledAt} />
          )}
          <StatusBadge status={status} label={waitingWords(call)} />
          {onCancel && isOpen(call) && (
            <button type="button" className="troupe-button troupe-button-quiet" onClick={onCancel}>
              Cancel
            </button>
          )}
        </span>
      </header>
      <div id={bodyId} className="troupe-tool-body" hidden={!isOpenNow}>
        {isOpenNow && <Details call={call} tool={tool} writing={writing} />}
        {children}
      </div>
    </section>
  );
}

function Details({ call, tool, writing }: Pick<ToolCardProps, 'call' | 'tool' | 'writing'>) {
  return (
    <>
      {tool?.description && <p className="troupe-tool-about">{tool.description}</p>}
      {(writing !== undefined || !isEmpty(call.arguments)) && (
        <div className="troupe-field">
          <p className="troupe-label">{call.edited ? 'Input, as a person changed it' : 'Input'}</p>
          <Json value={writing ?? call.arguments} label="Input" lines={12} />
        </div>
      )}
      {call.error && (
        <div className="troupe-problem">
          <p>{call.error.message}</p>
          <code>{call.error.code}</code>
        </div>
      )}
      {!isOpen(call) && call.output !== undefined && call.output !== null && (
        <div className="troupe-field">
          <p className="troupe-label">Output</p>
          <ToolOutput output={call.output} tool={nameOf(call, tool)} lines={12} />
        </div>
      )}
      {(call.settledBy || (call.attempt ?? 0) > 1 || (isOpen(call) && call.deadline)) && (
        <p className="troupe-tool-foot">
          {(call.attempt ?? 0) > 1 && <span>Begun {call.attempt} times</span>}
          {call.settledBy && <span>Settled by {call.settledBy}</span>}
          {isOpen(call) && call.deadline && (
            <span>
              Expires <Time value={call.deadline} />
            </span>
          )}
        </p>
      )}
    </>
  );
}

const waits: Record<NonNullable<ShownCall['waitsFor']>, string> = {
  client: 'Waiting for an answer',
  approval: 'Waiting for approval',
  person: 'Waiting for a person',
  task: 'Waiting for a task',
  reply: 'Waiting for a reply',
  answer: 'Waiting for an answer',
};

function waitingWords(call: ShownCall): string | undefined {
  return isOpen(call) && call.waitsFor ? waits[call.waitsFor] : undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The arguments in a line, for a card that is closed. */
export function briefOf(value: unknown): string {
  if (isEmpty(value)) return '';
  if (typeof value !== 'object') return String(value).slice(0, 200);
  const parts = Object.entries(value as object).map(([key, item]) => {
    const text = typeof item === 'string' ? item : JSON.stringify(item);
    return `${key}: ${(text ?? '').slice(0, 80)}`;
  });
  return parts.join(', ').slice(0, 200);
}
