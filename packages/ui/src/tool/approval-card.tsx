import type { Api } from '@troupe/react';
import { memo, type ReactNode, useId, useRef, useState } from 'react';
import { classes } from '../basic/classes.ts';
import { QuestionIcon, ShieldIcon } from '../basic/icons.tsx';
import { Json, jsonText } from '../basic/json.tsx';
import { Time } from '../basic/time.tsx';
import type { ShownTool } from './call.ts';
import { NotYetJson } from './schema.ts';
import { readJson } from './schema-form.tsx';
import { nameOf } from './tool-card.tsx';
import { useToolDefinition } from './tool-ui.tsx';

/** `Api.WaitingCall` is one. */
export interface ApprovalCall {
  callId: string;
  tool: string;
  arguments: unknown;
  /** What is approved is exactly this. */
  argumentsHash: string;
  /** `approval`: it may be made, or not. `person`: whether it took effect is unknown. */
  waitsFor: Api.WaitsFor;
  agentName?: string | null | undefined;
  error?: { code: string; message: string } | null | undefined;
  deadline?: string | null | undefined;
  createdAt?: string | null | undefined;
}

/** How it ended, where it did: shown instead of the buttons. */
export interface SettledApproval {
  decision: Api.CallDecision['decision'] | 'answer' | 'expired' | 'canceled';
  by?: string | null | undefined;
  at?: string | null | undefined;
  reason?: string | null | undefined;
}

export interface ApprovalCardProps {
  call: ApprovalCall;
  tool?: ShownTool | undefined;
  /** Rejects where the server refuses it; its message is then shown. */
  onDecide?: ((decision: Api.CallDecision) => Promise<void> | void) | undefined;
  /** Whether the arguments may be changed before approving. Default: true. */
  canEdit?: boolean | undefined;
  /** A decision is on its way, from elsewhere than this card. */
  busy?: boolean | undefined;
  /** Why the last decision was refused, where that is known from elsewhere. */
  problem?: string | null | undefined;
  settled?: SettledApproval | null | undefined;
  /** Such as a link to the run or the session. */
  context?: ReactNode;
}

type Asking = 'nothing' | 'edit' | 'reject' | 'fail' | 'complete';

/** A call that goes on only when a person says so. */
export const ApprovalCard = memo(function ApprovalCard(props: ApprovalCardProps) {
  const { call, settled, context, canEdit = true } = props;
  const definition = useToolDefinition(call.tool);
  const tool = props.tool ?? definition;
  const titleId = useId();
  const [asking, setAsking] = useState<Asking>('nothing');
  const [sending, setSending] = useState<Api.CallDecision['decision'] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const card = useRef<HTMLElement>(null);
  const isInDoubt = call.waitsFor === 'person';
  const isBusy = props.busy || sending !== null;

  const decide = async (decision: Api.CallDecision) => {
    if (isBusy) return;
    setSending(decision.decision);
    setProblem(null);
    try {
      await props.onDecide?.(decision);
      setAsking('nothing');
      // The button that had the focus goes; whoever uses the keyboard must not be thrown to the top of the page.
      card.current?.focus({ preventScroll: true });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setSending(null);
    }
  };
  const shown = problem ?? props.problem;
  const name = nameOf(call, tool);
  return (
    <section
      ref={card}
      className={classes(
        'troupe-approval',
        isInDoubt && 'troupe-approval-doubt',
        settled && 'troupe-approval-settled',
      )}
      aria-labelledby={titleId}
      aria-busy={isBusy || undefined}
      tabIndex={-1}
    >
      <header className="troupe-approval-head">
        <span className="troupe-approval-icon">{isInDoubt ? <QuestionIcon /> : <ShieldIcon />}</span>
        <div>
          <p id={titleId} className="troupe-approval-title">
            {isInDoubt ? (
              <>
                Did <code>{name}</code> take effect?
              </>
            ) : (
              <>
                {call.agentName || 'An agent'} wants to use <code>{name}</code>
              </>
            )}
          </p>
          <p className="troupe-approval-facts">
            {call.createdAt && (
              <span>
                Asked <Time value={call.createdAt} />
              </span>
            )}
            {!settled && call.deadline && (
              <span>
                Expires <Time value={call.deadline} />
              </span>
            )}
            {context}
          </p>
        </div>
      </header>
      {tool?.description && <p className="troupe-tool-about">{tool.description}</p>}
      {isInDoubt && (
        <p className="troupe-approval-why">
          {call.error?.message ?? 'It began, and then it was lost what became of it.'}
        </p>
      )}
      {asking === 'edit' ? (
        <EditArguments
          call={call}
          isBusy={isBusy}
          onCancel={() => setAsking('nothing')}
          onApprove={(value) =>
            decide({ decision: 'approve', argumentsHash: call.argumentsHash, arguments: value as Api.Json })
          }
        />
      ) : (
        <Json value={call.arguments} label="Arguments" lines={14} />
      )}
      {shown && !settled && (
        <p className="troupe-problem" role="alert">
          {shown}
        </p>
      )}
      {settled ? (
        <Settled {...settled} />
      ) : !props.onDecide ? null : asking === 'edit' ? null : asking === 'nothing' ? (
        <div className="troupe-form-buttons">
          {isInDoubt ? (
            <>
              <Choice
                main
                label="Make it once more"
                busyLabel="Sending…"
                isBusy={isBusy}
                isSent={sending === 'retry'}
                onClick={() => decide({ decision: 'retry' })}
              />
              <Choice label="It took effect…" isBusy={isBusy} onClick={() => setAsking('complete')} />
              <Choice label="It did not…" isBusy={isBusy} onClick={() => setAsking('fail')} />
            </>
          ) : (
            <>
              <Choice
                main
                label="Approve"
                busyLabel="Approving…"
                isBusy={isBusy}
                isSent={sending === 'approve'}
                onClick={() => decide({ decision: 'approve', argumentsHash: call.argumentsHash })}
              />
              <Choice label="Reject…" isBusy={isBusy} onClick={() => setAsking('reject')} />
              {canEdit && (
                <Choice quiet label="Edit arguments" isBusy={isBusy} onClick={() => setAsking('edit')} />
              )}
            </>
          )}
        </div>
      ) : (
        <Saying
          asking={asking}
          isBusy={isBusy}
          onCancel={() => setAsking('nothing')}
          onSay={(text) => {
            if (asking === 'reject') decide({ decision: 'reject', ...(text ? { reason: text } : {}) });
            else if (asking === 'fail')
              decide({ decision: 'fail', reason: text || 'It did not take effect.' });
            else decide({ decision: 'complete', output: (readJson(text) ?? null) as Api.Json });
          }}
        />
      )}
    </section>
  );
});

interface ChoiceProps {
  label: string;
  onClick: () => void;
  isBusy: boolean;
  isSent?: boolean;
  busyLabel?: string;
  main?: boolean;
  quiet?: boolean;
}

/** Busy buttons keep the focus, so they are not `disabled`. */
function Choice({ label, busyLabel, onClick, isBusy, isSent, main, quiet }: ChoiceProps) {
  return (
    <button
      type="button"
      className={classes('troupe-button', main && 'troupe-button-main', quiet && 'troupe-button-quiet')}
      aria-disabled={isBusy || undefined}
      onClick={() => !isBusy && onClick()}
    >
      {isSent ? (busyLabel ?? label) : label}
    </button>
  );
}

interface EditProps {
  call: ApprovalCall;
  isBusy: boolean;
  onApprove: (value: unknown) => void;
  onCancel: () => void;
}

function EditArguments({ call, isBusy, onApprove, onCancel }: EditProps) {
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(call.arguments, null, 2) ?? '');
  const value = readJson(text);
  const problem = value instanceof NotYetJson ? value.problem : value === undefined ? 'Needs a value' : null;
  return (
    <form
      className="troupe-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!problem && !isBusy) onApprove(value);
      }}
      onKeyDown={(event) => event.key === 'Escape' && onCancel()}
    >
      <div className="troupe-field">
        <label className="troupe-label" htmlFor={id}>
          Arguments
        </label>
        <textarea
          id={id}
          className="troupe-input troupe-input-json"
          rows={Math.min(16, Math.max(4, text.split('\n').length))}
          spellCheck={false}
          value={text}
          // biome-ignore lint/a11y/noAutofocus: it appears because somebody asked to edit
          autoFocus
          aria-invalid={problem ? true : undefined}
          aria-describedby={problem ? `${id}-problem` : undefined}
          onChange={(event) => setText(event.target.value)}
        />
        {problem && (
          <p id={`${id}-problem`} className="troupe-field-problem">
            {problem}
          </p>
        )}
      </div>
      <div className="troupe-form-buttons">
        <button type="submit" className="troupe-button troupe-button-main" disabled={problem !== null}>
          {isBusy ? 'Approving…' : 'Approve with these'}
        </button>
        <button type="button" className="troupe-button" onClick={onCancel}>
          Back
        </button>
      </div>
    </form>
  );
}

interface SayingProps {
  asking: Exclude<Asking, 'nothing' | 'edit'>;
  isBusy: boolean;
  onSay: (text: string) => void;
  onCancel: () => void;
}

const sayings = {
  reject: { label: 'Why (the agent is told)', button: 'Reject', optional: true },
  fail: { label: 'What went wrong (the agent is told)', button: 'It did not take effect', optional: true },
  complete: { label: 'What it gave (JSON or text)', button: 'It took effect', optional: true },
} as const;

function Saying({ asking, isBusy, onSay, onCancel }: SayingProps) {
  const id = useId();
  const [text, setText] = useState('');
  const { label, button } = sayings[asking];
  const value = asking === 'complete' ? readJson(text) : null;
  const problem = value instanceof NotYetJson ? value.problem : null;
  return (
    <form
      className="troupe-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!problem) onSay(text.trim());
      }}
      onKeyDown={(event) => event.key === 'Escape' && onCancel()}
    >
      <div className="troupe-field">
        <label className="troupe-label" htmlFor={id}>
          {label}
          <span className="troupe-optional"> optional</span>
        </label>
        <textarea
          id={id}
          className="troupe-input"
          rows={2}
          maxLength={asking === 'complete' ? undefined : 2_000}
          value={text}
          // biome-ignore lint/a11y/noAutofocus: it appears because somebody asked for it
          autoFocus
          onChange={(event) => setText(event.target.value)}
        />
        {problem && <p className="troupe-field-problem">{problem}</p>}
      </div>
      <div className="troupe-form-buttons">
        <button
          type="submit"
          className={classes(
            'troupe-button',
            asking === 'reject' ? 'troupe-button-bad' : 'troupe-button-main',
          )}
          aria-disabled={isBusy || undefined}
        >
          {isBusy ? 'Sending…' : button}
        </button>
        <button type="button" className="troupe-button" onClick={onCancel}>
          Back
        </button>
      </div>
    </form>
  );
}

const endings: Record<SettledApproval['decision'], string> = {
  approve: 'Approved',
  reject: 'Rejected',
  retry: 'Made once more',
  complete: 'Settled: it took effect',
  fail: 'Settled: it did not take effect',
  answer: 'Answered',
  expired: 'Expired',
  canceled: 'Canceled',
};

function Settled({ decision, by, at, reason }: SettledApproval) {
  return (
    <p className="troupe-approval-end" data-decision={decision}>
      <strong>{endings[decision]}</strong>
      {by && <span> by {by}</span>}
      {at && (
        <span>
          {' '}
          <Time value={at} />
        </span>
      )}
      {reason && <span className="troupe-approval-reason">{jsonText(reason)}</span>}
    </p>
  );
}
