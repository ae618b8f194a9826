import { useRun, useSession, useSpace } from '@troupe/react';
import { Check, ChevronRight } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { Spinner } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import type { NetworkDemo, SessionDemo, SpaceDemo } from './demo.ts';

// The four demos, small: what a person needs to see that something is happening, and how it ended.

export function SessionPanel({ agentId, sessionId }: SessionDemo) {
  const { messages, live, calls } = useSession(agentId, sessionId);
  return (
    <Lines>
      {messages.map((message) => {
        const text = textOf(message.content);
        if (message.role === 'user') return <Line key={message.id} mine text={text} />;
        if (message.role === 'tool_call') {
          const call = calls.find(({ id }) => id === (message.content as { id?: string }).id);
          return <Called key={message.id} name={call?.tool ?? 'a tool'} isDone={call?.state === 'settled'} />;
        }
        return message.role === 'assistant' && text ? <Line key={message.id} text={text} /> : null;
      })}
      {live.map((step) =>
        step.text ? <Line key={`${step.runId}${step.step}`} text={step.text} writing /> : null,
      )}
    </Lines>
  );
}

export function SpacePanel({ spaceId, entityId }: SpaceDemo) {
  const { messages, live, members } = useSpace(spaceId, { as: entityId });
  const nameOf = (id: string | null) => members.find((member) => member.entityId === id)?.name ?? 'Somebody';
  return (
    <Lines>
      {messages.map((message) => (
        <Line
          key={message.id}
          mine={message.senderId === entityId}
          who={message.senderId === entityId ? 'You' : (message.senderName ?? nameOf(message.senderId))}
          text={textOf(message.content)}
        />
      ))}
      {live.map((text) => (
        <Line key={text.id} who={nameOf(text.entityId)} text={text.text} writing />
      ))}
    </Lines>
  );
}

export function NetworkPanel({ runId }: NetworkDemo) {
  const { run, steps } = useRun(runId);
  const path = steps.map(({ agentKey }) => agentKey).filter((key) => key !== null);
  const isDone = run?.status === 'completed';
  return (
    <Lines>
      <Line mine text="How much is 17*3?" />
      <ol aria-label="The way it takes" className="flex flex-wrap items-center gap-1 py-1">
        {path.map((key, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an agent may be passed more than once
          <li key={index} className="flex items-center gap-1">
            {index > 0 && <ChevronRight size={14} aria-hidden="true" className="text-faint" />}
            <span className="rounded-full bg-accent-soft px-2 py-0.5 text-xs font-medium text-accent-strong">
              {key}
            </span>
          </li>
        ))}
        {!run?.completedAt && run?.status !== 'failed' && <Spinner className="text-muted" />}
      </ol>
      {isDone && <Line who={path.at(-1) ?? null} text={answerIn(run.outcome)} />}
      {run?.status === 'failed' && <Line text={run.error?.message ?? 'It failed.'} />}
    </Lines>
  );
}

export function TasksPanel({ agentId, sessionId }: SessionDemo) {
  const { messages, live, tasks } = useSession(agentId, sessionId);
  const last = messages.findLast(({ role, content }) => role === 'assistant' && textOf(content));
  return (
    <Lines>
      <Line mine text="Delegate: what time is it, and how much is 6*7?" />
      <ul aria-label="Sub-agents" className="my-1 flex flex-col gap-1 border-l-2 border-line pl-3">
        {tasks.toReversed().map((task) => (
          <li key={task.id} className="min-w-0 text-sm">
            <span className="flex items-center gap-1.5">
              {task.status === 'success' ? (
                <Check size={14} aria-label="done" className="shrink-0 text-good" />
              ) : (
                <Spinner className="text-muted" />
              )}
              <span className="shrink-0 font-medium">{task.name.replace(/^agent:/, '')}</span>
              <span className="truncate text-muted">{task.instruction}</span>
            </span>
            {task.result && <span className="block truncate pl-5 text-muted">{task.result}</span>}
          </li>
        ))}
      </ul>
      {last && <Line text={textOf(last.content)} />}
      {live.map((step) =>
        step.text ? <Line key={`${step.runId}${step.step}`} text={step.text} writing /> : null,
      )}
    </Lines>
  );
}

/** Scrolls with what is written. */
function Lines({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
  });
  return (
    <div ref={box} className="flex max-h-64 flex-1 flex-col gap-2 overflow-y-auto" aria-live="polite">
      {children}
    </div>
  );
}

function Line({
  who = null,
  text,
  mine = false,
  writing = false,
}: {
  who?: string | null;
  text: string;
  mine?: boolean;
  writing?: boolean;
}) {
  return (
    <div
      className={cx(
        'max-w-[92%] rounded-lg px-3 py-1.5 text-sm break-words',
        mine ? 'self-end bg-accent-soft' : 'self-start bg-sunken',
      )}
    >
      {who && <span className="block text-2xs font-semibold text-faint">{who}</span>}
      {text}
      {writing && (
        <span
          aria-hidden="true"
          className="ml-0.5 inline-block h-3 w-1.5 animate-pulse rounded-sm bg-accent align-middle"
        />
      )}
    </div>
  );
}

function Called({ name, isDone }: { name: string; isDone: boolean }) {
  return (
    <p className="flex items-center gap-1.5 self-start text-xs text-muted">
      {isDone ? <Check size={13} aria-hidden="true" className="text-good" /> : <Spinner />}
      {isDone ? 'Called' : 'Calls'} <code className="font-mono">{name}</code>
    </p>
  );
}

function textOf(content: unknown): string {
  return typeof content === 'object' && content !== null && 'text' in content
    ? String(content.text ?? '')
    : '';
}

function answerIn(outcome: unknown): string {
  if (typeof outcome !== 'object' || outcome === null) return String(outcome ?? '');
  const { response } = outcome as { response?: unknown };
  const payload = response ?? outcome;
  if (typeof payload === 'object' && payload !== null && 'message' in payload) return String(payload.message);
  return typeof payload === 'string' ? payload : JSON.stringify(payload);
}
