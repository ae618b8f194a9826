import type { Event } from './events.ts';
import type { SessionStatus } from './sessions.ts';

/** What is known of a session from its events so far. */
export interface FollowedStatus {
  status: SessionStatus;
  /** Runs that have not ended, and whether one waits for somebody. */
  runs: Readonly<Record<string, 'at work' | 'waiting'>>;
  /** Whether the last run that ended failed. */
  failed: boolean;
}

/** Before the first event. */
export const UNFOLLOWED: FollowedStatus = { status: 'pending', runs: {}, failed: false };

const WORKS = new Set(['run.queued', 'run.started', 'run.resumed']);
const WAITS = new Set(['run.waiting_tool', 'run.waiting_reply']);
const ENDS = new Set(['run.completed', 'run.failed', 'run.canceled', 'run.absorbed']);

/**
 * What a session is doing after one more of its events: the same that reading the session tells, without asking. It needs all
 * events of type `run.*`, in their order, from the first one on.
 */
export function followStatus(known: FollowedStatus, event: Pick<Event, 'type' | 'runId'>): FollowedStatus {
  const { type, runId } = event;
  if (runId === undefined) return known;
  const runs = { ...known.runs };
  let { failed } = known;
  if (WORKS.has(type)) runs[runId] = 'at work';
  else if (WAITS.has(type)) runs[runId] = 'waiting';
  else if (ENDS.has(type)) {
    delete runs[runId];
    failed = type === 'run.failed';
  } else return known;
  const states = Object.values(runs);
  if (states.includes('waiting')) return { status: 'waiting', runs, failed };
  if (states.length > 0) return { status: 'running', runs, failed };
  return { status: failed ? 'failed' : 'pending', runs, failed };
}
