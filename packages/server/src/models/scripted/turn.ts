import { json, usage } from '@troupe/protocol';
import { z } from 'zod';
import type { ModelRequest } from '../../kernel/ports.ts';

const scriptedCall = z.strictObject({
  /** Absent = `call_<end of the run id>_<step>_<index>`. */
  id: z.string().min(1).optional(),
  name: z.string(),
  /** Absent = `{}`; null beside `invalid`, whatever is given. */
  arguments: json.optional(),
  /** Arguments that are no JSON, as the model wrote them. */
  invalid: z.string().optional(),
  /** The exact stream of the arguments; absent = one piece. */
  chunks: z.array(z.string()).optional(),
});

const scriptedError = z.strictObject({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  retryAfterMs: z.number().nonnegative().optional(),
});

/** A turn as JSON can carry it. Strict, so that a misspelt field of a carried script is an error, not a wrong test. */
export const turn = z.strictObject({
  text: z.string().optional(),
  /** The exact stream of the text; absent = one piece. With `text` it must add up to it. */
  chunks: z.array(z.string()).optional(),
  reasoning: z.string().optional(),
  calls: z.array(scriptedCall).optional(),
  usage: usage.optional(),
  /** Absent = `tool_calls` where there are calls, else `stop`. */
  finishReason: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'other']).optional(),
  /** Before anything else. */
  delayMs: z.number().nonnegative().optional(),
  /** Before every piece but the first. */
  delayBetweenChunksMs: z.number().nonnegative().optional(),
  /** Throw instead of answering. */
  error: scriptedError.optional(),
  /** Answer nothing until aborted. */
  stallForever: z.boolean().optional(),
  /** The fault comes after so many pieces: the turn's error or stall, else a broken stream (retryable). */
  failAfterChunks: z.number().int().nonnegative().optional(),
  /** The fault comes at the first so many attempts only; absent = always. */
  faultTimes: z.number().int().nonnegative().optional(),
});

export type Turn = z.infer<typeof turn> & {
  /** Waited for before anything else. */
  gate?: Promise<void>;
};

/**
 * `attempt` is 1 for the first request with that `requestKey` **in this process**: a takeover starts at 1 again.
 * A function must derive everything else from the request for another process to go on where this one stopped.
 */
export type Script = readonly Turn[] | ((request: ModelRequest, attempt: number) => Turn | Promise<Turn>);
