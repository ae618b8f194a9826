import type { Api } from '@troupe/react';
import type { ReactNode } from 'react';
import { classes } from './classes.ts';

/** Of runs, tool calls, tasks, sub-agents, sessions and networks; `waiting` and `thinking` are for what is derived. */
export type Status =
  | Api.RunStatus
  | Api.ToolCallStatus
  | Api.TaskStatus
  | Api.SubAgentStatus
  | Api.SessionStatus
  | Api.NetworkStatus
  | Api.ShownTool['status']
  | 'thinking'
  | 'calling'
  | 'writing'
  | 'offline';

export interface StatusBadgeProps {
  status: Status | (string & {});
  /** Instead of the usual word. */
  label?: ReactNode;
  /** Without the word, which is then heard and shown on hover only. */
  compact?: boolean | undefined;
  className?: string | undefined;
}

type Tone = 'good' | 'bad' | 'warn' | 'info' | 'active' | 'quiet';
export type Shape = 'check' | 'cross' | 'pause' | 'spin' | 'ring' | 'bar' | 'doubt' | 'dot';

interface Look {
  word: string;
  tone: Tone;
  shape: Shape;
}

const running: Look = { word: 'Running', tone: 'active', shape: 'spin' };
const done: Look = { word: 'Completed', tone: 'good', shape: 'check' };
const failed: Look = { word: 'Failed', tone: 'bad', shape: 'cross' };
const waiting: Look = { word: 'Waiting', tone: 'warn', shape: 'pause' };
const queued: Look = { word: 'Queued', tone: 'quiet', shape: 'ring' };

const looks: Record<string, Look> = {
  queued,
  running,
  waiting_tool: { ...waiting, word: 'Waiting for a tool' },
  waiting_reply: { ...waiting, word: 'Waiting for a reply' },
  completed: done,
  failed,
  canceled: { word: 'Canceled', tone: 'quiet', shape: 'bar' },
  requested: { ...queued, word: 'Requested' },
  expired: { word: 'Expired', tone: 'warn', shape: 'bar' },
  in_doubt: { word: 'In doubt', tone: 'warn', shape: 'doubt' },
  pending: { ...queued, word: 'Pending' },
  waiting,
  success: { ...done, word: 'Done' },
  active: { ...running, word: 'At work' },
  waiting_for_user: { ...waiting, word: 'Waiting for you' },
  requires_action: { ...waiting, word: 'Needs you' },
  complete: done,
  error: failed,
  draft: { word: 'Draft', tone: 'quiet', shape: 'ring' },
  published: { word: 'Published', tone: 'good', shape: 'check' },
  archived: { word: 'Archived', tone: 'quiet', shape: 'bar' },
  thinking: { ...running, word: 'Thinking' },
  calling: { ...running, word: 'Calling a tool' },
  writing: { ...running, word: 'Writing' },
  offline: { word: 'Offline', tone: 'warn', shape: 'bar' },
};

export function lookOf(status: string): Look {
  return looks[status] ?? { word: status.replaceAll('_', ' '), tone: 'quiet', shape: 'dot' };
}

/** Told by word and shape as well as by colour. */
export function StatusBadge({ status, label, compact, className }: StatusBadgeProps) {
  const { word, tone, shape } = lookOf(status);
  return (
    <span
      className={classes('troupe-badge', `troupe-tone-${tone}`, compact && 'troupe-badge-compact', className)}
      data-status={status}
      title={compact ? word : undefined}
    >
      <StatusMark shape={shape} />
      <span className={compact ? 'troupe-hidden' : 'troupe-badge-word'}>{label ?? word}</span>
    </span>
  );
}

const paths: Record<Exclude<Shape, 'spin' | 'dot' | 'ring'>, string> = {
  check: 'm3 6.5 2 2 4-5',
  cross: 'm3.5 3.5 5 5m0-5-5 5',
  pause: 'M4.5 3.500v5m3-5v5',
  bar: 'M3 6h6',
  doubt: 'M4.6 4.500a1.5 1.5 0 1 1 2.1 1.400c-.5.2-.7.5-.7 1M6 8.900v.1',
};

export function StatusMark({ shape }: { shape: Shape }) {
  return (
    <svg
      className={`troupe-mark troupe-mark-${shape}`}
      viewBox="0 0 12 12"
      width="12"
      height="12"
      aria-hidden="true"
    >
      {shape === 'dot' && <circle cx="6" cy="6" r="2.5" fill="currentColor" />}
      {shape === 'ring' && <circle cx="6" cy="6" r="3.5" />}
      {shape === 'spin' && <path d="M6 1.500a4.5 4.5 0 1 1-4.5 4.5" />}
      {shape !== 'dot' && shape !== 'ring' && shape !== 'spin' && <path d={paths[shape]} />}
    </svg>
  );
}
