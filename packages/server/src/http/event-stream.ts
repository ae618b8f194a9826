import type { Context } from 'hono';
import { Refusal } from '../base/index.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // For proxies that would collect it first.
  'x-accel-buffering': 'no',
};

export function wantsStream(context: Context): boolean {
  return /\btext\/event-stream\b/i.test(context.req.header('accept') ?? '');
}

export function streamAnswer(frames: ReadableStream<Uint8Array>, status = 200): Response {
  return new Response(frames, { status, headers: HEADERS });
}

/** For an endpoint that answers in no other way. */
export function onlyLive(instead: string): Refusal {
  return new Refusal('malformed', 'invalid_request', 'What changes is told as a stream of events only.', {
    hint: `Send \`Accept: text/event-stream\`. ${instead}`,
    issues: [{ path: 'Accept', message: 'must be text/event-stream' }],
  });
}

/** Null where it is not given. */
export function lastEventId(context: Context): number | null {
  const header = context.req.header('last-event-id');
  if (header === undefined || header === '') return null;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw new Refusal('invalid', 'invalid_request', 'The Last-Event-ID is not the id of an event.', {
    hint: 'Send the id of the last event that you have, or none to begin at the beginning.',
    issues: [{ path: 'Last-Event-ID', message: 'must be a sequence number' }],
  });
}
