import type { Connected, Delta, Typing } from '@troupe/protocol';
import type { StoredEvent } from '../store/index.ts';
import { type LogName, presentEvent } from './envelope.ts';

/** An event as it is sent: made once, for all readers. */
export interface Frame {
  seq: number;
  type: string;
  runId: string | null;
  step: number | null;
  bytes: Buffer;
}

/** The one frame beside deltas that is live only. */
export const TYPING = 'space.typing';

/** How long a client waits before it connects again, where nobody says otherwise. */
const RETRY_MS = 1_000;

export function eventFrame(stored: StoredEvent, log: LogName): Frame {
  const { seq, type, runId, step } = stored;
  const bytes = frame(type, presentEvent(stored, log), `id: ${seq}\n`);
  return { seq, type, runId, step, bytes };
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

/** Spread, so that the readers of a process that ends do not all come to the next one at once. */
export function disconnectingFrame(): Buffer {
  const retryMs = Math.round(500 + Math.random() * 2_500);
  return frame('disconnecting', { retryMs }, `retry: ${retryMs}\n`);
}

export const HEARTBEAT = Buffer.from(': heartbeat\n\n');

function frame(type: string, data: object, head = ''): Buffer {
  return Buffer.from(`${head}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}
