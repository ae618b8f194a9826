import type { Problem } from '@troupe/protocol';

/** Everything that this package throws. */
export class TroupeClientError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server could not be reached, or the answer was cut off: whether the request was done is not known. */
export class ConnectionError extends TroupeClientError {}

/** It took longer than it was given. */
export class TimeoutError extends TroupeClientError {}

/** The function that gives the token failed; `cause` says how. */
export class CredentialsError extends TroupeClientError {}

/** The server answered that it will not, or cannot. Programs look at `code`. */
export class ApiError extends TroupeClientError {
  readonly status: number;
  readonly code: string;
  readonly issues: { path: string; message: string }[];
  readonly retryAfterMs: number | null;

  constructor(problem: Pick<Problem, 'status' | 'code' | 'detail' | 'issues'>, retryAfterMs: number | null) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.issues = problem.issues ?? [];
    this.retryAfterMs = retryAfterMs;
  }
}

export class InvalidRequestError extends ApiError {}
export class AuthenticationError extends ApiError {}
export class ForbiddenError extends ApiError {}
export class NotFoundError extends ApiError {}
export class ConflictError extends ApiError {}
export class RateLimitedError extends ApiError {}
export class ServerError extends ApiError {}

const byStatus: Record<number, typeof ApiError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitedError,
};

/** From an answer that is no success. What comes from something in between is no problem document; it is told shortly. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const problem = problemIn(text);
  const { status } = response;
  const Kind = byStatus[status] ?? (status >= 500 ? ServerError : ApiError);
  return new Kind(
    {
      status,
      code: problem.code ?? `http_${status}`,
      detail: problem.detail ?? `The server answered ${status} ${response.statusText}.`.replace(' .', '.'),
      issues: problem.issues,
    },
    retryAfterOf(response.headers.get('retry-after')),
  );
}

function problemIn(text: string): Partial<Problem> {
  try {
    const found = JSON.parse(text) as Partial<Problem> | null;
    if (typeof found?.code === 'string' && typeof found.detail === 'string') return found;
  } catch {
    // Not from Troupe.
  }
  return {};
}

function retryAfterOf(header: string | null): number | null {
  if (header === null) return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}
