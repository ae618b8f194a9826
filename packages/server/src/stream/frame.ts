import type { Connected, Delta, Typing } from '@troupe/protocol';
import type { StoredEvent } from '../store/index.ts';
import { type LogName, presentEvent } from './envelope.ts';

/** An event as it is sent: made once, for all readers. */
export interface Frame {
  seq: number;
  type: string;
  runId: string | null;
  step: number | null;
  /** The message or the call that it is about, where it may take the place of what was live. */
  streamId: string | null;
  callId: string | null;
  bytes: Buffer;
}

/** The one frame beside deltas that is live only. */
export const TYPING = 'space.typing';

/** How long a client waits before it connects again, where nobody says otherwise. */
const RETRY_MS = 1_000;

export function eventFrame(stored: StoredEvent, log: LogName): Frame {
  const { seq, type, runId, step, data } = stored;
  const bytes = frame(type, presentEvent(stored, log), `id: ${seq}\n`);
  const streamId = type.startsWith('message.') ? textIn(data?.streamId) : null;
  const callId = type.startsWith('tool.') ? textIn(data?.id) : null;
  return { seq, type, runId, step, streamId, callId, bytes };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function deltaFrame(delta: Delta): Buffer {
  return frame(delta.type, delta);
}

export function typingFrame(typing: Typing): Buffer {
  return frame(TYPING, typing);
}

export function connectedFrame(connected: Connected): Buffer {
  return frame('connected', connected, `retry: ${RETRY_MS}\n`);
}

/** What a stream ends with that has an end. */
export function lastFrame({ type, data }: { type: string; data: object }): Buffer {
  return frame(type, data);
}

/** Spread, so that the readers of a process that ends do not all come to the next one at once. */
export function disconnectingFrame(): Buffer {
  const retryMs = Math.round(500 + Math.random() * 2_500);
  return frame('disconnecting', { retryMs }, `retry: ${retryMs}\n`);
}

export const HEARTBEAT = Buffer.from(': heartbeat\n\n');

export function frame(type: string, data: object, head = ''): Buffer {
  return Buffer.from(`${head}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}
