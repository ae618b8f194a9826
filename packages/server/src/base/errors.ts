/**
 * Every error that reaches a person has a stable code, a sentence, and the next thing to do.
 * The class decides the retry: `RetryableError` may be tried again, everything else may not.
 */
export class TroupeError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(
    code: string,
    message: string,
    options: { hint?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.hint = options.hint;
    this.details = options.details;
  }
}

export class RetryableError extends TroupeError {
  readonly retryAfterMs: number | undefined;

  constructor(
    code: string,
    message: string,
    options: {
      hint?: string;
      details?: Record<string, unknown>;
      cause?: unknown;
      retryAfterMs?: number;
    } = {},
  ) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Why a request is not done. Whoever asked is told; nothing was changed. */
export type RefusalKind =
  | 'malformed'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'too_large'
  | 'too_long'
  | 'unsupported'
  | 'invalid'
  | 'rate_limited';

export class Refusal extends TroupeError {
  readonly kind: RefusalKind;
  /** What is wrong, field by field. */
  readonly issues: { path: string; message: string }[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    kind: RefusalKind,
    code: string,
    message: string,
    options: {
      hint?: string;
      issues?: { path: string; message: string }[];
      retryAfterSeconds?: number;
      cause?: unknown;
    } = {},
  ) {
    super(code, message, options);
    this.kind = kind;
    this.issues = options.issues;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The same for what is not there and what belongs to somebody else. */
export function notFound(what: string): Refusal {
  return new Refusal('not_found', 'not_found', `There is no such ${what}.`);
}

/** For a change that was made on another version than the one that there is now. */
export function versionConflict(what: string, version: number): Refusal {
  return new Refusal(
    'conflict',
    'version_conflict',
    `The ${what} was changed meanwhile: it has version ${version}.`,
    {
      hint: 'Look at what changed, and make your change on that version.',
      issues: [{ path: 'baseVersion', message: `is not ${version}` }],
    },
  );
}

/** The operator must change something before the process can start: printed without a stack, exit code 1. */
export class StartupError extends TroupeError {}

/** What an error says; empty where it says nothing or, whatever was thrown, cannot even be asked. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return '';
  }
}
