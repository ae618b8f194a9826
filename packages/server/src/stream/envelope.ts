import { hash } from 'node:crypto';
import type { Connected, Event } from '@troupe/protocol';
import type { StoredEvent, ThreadLog } from '../store/index.ts';

/** Which log it is. */
export type LogName = Pick<ThreadLog, 'thread' | 'session' | 'space'>;

/** An event as it is told. */
export function presentEvent(stored: StoredEvent, log: LogName): Event {
  const { seq, type, runId, step, createdAt, messageId, messageSeq } = stored;
  const data = { ...stored.data };
  if (messageSeq !== null) {
    if (type === 'message.created') delete data.id;
    if (messageId !== null) data.messageId = messageId;
    data.sequence = messageSeq;
  }
  // The call waits from the moment of the event on.
  if (type === 'tool.waiting' && typeof data.deadlineMs === 'number') {
    data.deadline = new Date(createdAt.getTime() + data.deadlineMs).toISOString();
    delete data.deadlineMs;
  }
  return {
    id: eventId(log.thread, seq, createdAt),
    sequence: seq,
    type,
    threadId: log.thread,
    ...(log.session === null ? {} : { sessionId: log.session }),
    ...(log.space === null ? {} : { spaceId: log.space }),
    ...(runId === null ? {} : { runId }),
    ...(step === null ? {} : { step }),
    data,
    createdAt: createdAt.toISOString(),
  };
}

/** What a reader is told first: how far the log has come, what is at work, and what waits for somebody. */
export function connectedTo({ lastSequence, runs, calls, activeAgents }: ThreadLog): Connected {
  const dated = calls.map(({ deadline, ...call }) => ({
    ...call,
    deadline: deadline === null ? null : new Date(deadline).toISOString(),
  }));
  return { lastSequence, runs, calls: dated, ...(activeAgents ? { activeAgents } : {}) };
}

/**
 * UUID v7 with the time of the event. Thread and sequence identify an event, so the other bits are a hash of them: every
 * read computes the same id.
 */
function eventId(thread: string, seq: number, createdAt: Date): string {
  const time = createdAt.getTime().toString(16).padStart(12, '0');
  const hex = hash('sha256', `${thread}:${seq}`, 'hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
