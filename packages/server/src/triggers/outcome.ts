import type { JsonObject } from '@troupe/protocol';
import { messageOf, Refusal, TroupeError } from '../base/index.ts';
import type { AttemptOutcome, TriggerDefinition } from '../store/index.ts';

/** What came of trying. */
export interface Tried {
  ok: boolean;
  /** Whether it makes sense to try again. */
  again?: boolean;
  /** What whoever was asked wants to be left alone for. */
  retryAfterMs?: number;
  gone?: true;
  error?: { code: string; message: string };
  request?: JsonObject;
  response?: JsonObject;
  result?: JsonObject;
}

/** Longer than anybody may ask to be left alone for. */
const LONGEST_WAIT_MS = 86_400_000;
const LONGEST_MESSAGE = 1_000;

export function failed(code: string, message: string, again: boolean): Tried {
  return { ok: false, again, error: { code, message: message.slice(0, LONGEST_MESSAGE) } };
}

/** What was thrown. What is refused stays refused, but for what others may change at any time. */
export function thrown(error: unknown): Tried {
  if (error instanceof Refusal) return failed(error.code, error.message, error.kind === 'conflict');
  if (error instanceof TroupeError) return failed(error.code, error.message, true);
  return failed('internal_error', messageOf(error), true);
}

/**
 * What becomes of a delivery. Waits grow twofold and are drawn anew from nothing to that (full jitter), so that many that failed together
 * do not come back together.
 */
export function outcomeOf(
  tried: Tried,
  { attempt, retry, durationMs }: { attempt: number; retry: TriggerDefinition['retry']; durationMs: number },
  random: () => number = Math.random,
): AttemptOutcome {
  const { ok, again, gone, error = null, request = null, response = null, result = null } = tried;
  const told = { durationMs: Math.round(durationMs), request, response, result };
  if (ok) return { status: 'delivered', ...told };
  if (!again || attempt >= retry.maxAttempts)
    return { status: 'dead', error, ...told, ...(gone ? { gone } : {}) };
  const most = Math.min(retry.maxBackoffMs, retry.initialBackoffMs * 2 ** Math.min(attempt - 1, 30));
  const delayMs = Math.max(random() * most, Math.min(tried.retryAfterMs ?? 0, LONGEST_WAIT_MS));
  return { status: 'pending', delayMs: Math.ceil(delayMs), error, ...told };
}
