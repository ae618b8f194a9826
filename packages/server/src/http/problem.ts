import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type Logger, messageOf, Refusal, type RefusalKind, RetryableError } from '../base/index.ts';
import { isConnectionError, isOverload, isPoolClosed, shortageIn } from '../store/index.ts';
import { requestIdOf } from './every-answer.ts';

/** RFC 9457, with a `code` that never changes: programs read the code, people the detail. */
export interface Problem {
  status: ContentfulStatusCode;
  code: string;
  detail: string;
  issues?: { path: string; message: string }[] | undefined;
  retryAfterSeconds?: number | undefined;
}

export const statuses: Record<RefusalKind, ContentfulStatusCode> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  too_long: 414,
  unsupported: 415,
  invalid: 422,
  rate_limited: 429,
};

const titles: Partial<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Too slow',
  409: 'Conflict',
  413: 'Too large',
  414: 'Too long',
  415: 'Unsupported media type',
  422: 'Not valid',
  429: 'Too many requests',
  431: 'Headers too large',
  500: 'Internal error',
  503: 'Not available',
  507: 'Out of storage',
};

export function problemText({ status, code, detail, issues }: Problem): string {
  const title = titles[status] ?? 'Error';
  return JSON.stringify({ type: 'about:blank', title, status, code, detail, ...(issues ? { issues } : {}) });
}

function answerProblem(context: Context, problem: Problem): Response {
  const { status, retryAfterSeconds } = problem;
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  return context.body(problemText(problem), status, headers);
}

export function notFound(context: Context): Response {
  const detail = `There is no ${context.req.method} ${context.req.path}.`;
  return answerProblem(context, { status: 404, code: 'not_found', detail });
}

export function answerRefusal(refusal: Refusal, context: Context): Response {
  const { kind, code, issues, retryAfterSeconds } = refusal;
  const detail = [refusal.message, refusal.hint].filter(Boolean).join(' ');
  if (kind === 'unauthenticated') context.header('www-authenticate', 'Bearer');
  return answerProblem(context, { status: statuses[kind], code, detail, issues, retryAfterSeconds });
}

const SHORTAGES = {
  storage_full: 'The disk of the database is full. Nothing was changed; free space, or try again later.',
  database_read_only: 'The database takes no writes: it is read-only. Nothing was changed; try again later.',
  database_overloaded:
    'The database is out of memory or at another limit. Nothing was changed; try again later.',
};

/** What a route threw. Only errors meant for the caller are told; everything else is logged under a number. */
export function answerError(error: unknown, context: Context, logger: Logger): Response {
  if (error instanceof HTTPException) {
    const code = titles[error.status]?.toLowerCase().replaceAll(' ', '_') ?? 'error';
    return answerProblem(context, { status: error.status, code, detail: error.message || code });
  }
  if (error instanceof Refusal) return answerRefusal(error, context);
  if (error instanceof RetryableError) {
    const seconds = Math.ceil((error.retryAfterMs ?? 1_000) / 1_000);
    const detail = [error.message, error.hint].filter(Boolean).join(' ');
    return answerProblem(context, { status: 503, code: error.code, detail, retryAfterSeconds: seconds });
  }
  // A request that outlasts the drain of its process: another process can answer it.
  if (isConnectionError(error) || isPoolClosed(error)) {
    const id = requestIdOf(context);
    logger.warn({ path: context.req.path, id, error: messageOf(error) }, 'a request found no database');
    const detail = 'The database does not answer. Nothing is known to have changed; try again.';
    return answerProblem(context, {
      status: 503,
      code: 'database_unavailable',
      detail,
      retryAfterSeconds: 1,
    });
  }
  const shortage = shortageIn(error) ?? (isOverload(error) ? 'database_overloaded' : null);
  if (shortage) {
    const id = requestIdOf(context);
    logger.error({ path: context.req.path, id, error: messageOf(error) }, 'the database takes no writes');
    const status = shortage === 'storage_full' ? 507 : 503;
    return answerProblem(context, {
      status,
      code: shortage,
      detail: SHORTAGES[shortage],
      retryAfterSeconds: 5,
    });
  }
  const id = requestIdOf(context);
  logger.error({ path: context.req.path, id, err: error }, 'a request failed');
  const detail = `Something went wrong here. The server's log has it under ${id}.`;
  return answerProblem(context, { status: 500, code: 'internal_error', detail });
}
