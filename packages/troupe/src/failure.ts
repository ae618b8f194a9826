import {
  ApiError,
  ConnectionError,
  InvocationFailedError,
  TimeoutError,
  TroupeClientError,
  TurnFailedError,
} from '@troupe/sdk';
import { plain } from './output.ts';
import { type Terminal, UsageError } from './terminal.ts';
import { USAGE } from './usage.ts';

/** What the command itself cannot do, with a code for programs. */
export class CommandError extends TroupeClientError {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Something went wrong after a session was there: whoever reads it must be able to come back to it. */
export class InSession extends TroupeClientError {
  readonly sessionId: string;
  readonly failure: TroupeClientError;
  /** How to come back, a line each. */
  readonly ways: string[];

  constructor(failure: TroupeClientError, sessionId: string, ways: string[]) {
    super(failure.message, { cause: failure });
    this.failure = failure;
    this.sessionId = sessionId;
    this.ways = ways;
  }
}

interface Telling {
  asJson: boolean;
  /** What gave the key: an option or a variable. */
  keyFrom?: string | undefined;
  /** Nothing was asked for at all: the whole usage helps more than a hint at it. */
  withUsage?: boolean;
}

/** Says on `err` what went wrong and what to do, and answers with the exit code. Errors that are none of ours go on. */
export function tell(error: unknown, terminal: Terminal, telling: Telling): number {
  if (!(error instanceof UsageError || error instanceof TroupeClientError)) throw error;
  const code = error instanceof UsageError ? 2 : 1;
  if (telling.asJson) {
    terminal.err(`${JSON.stringify({ error: asData(error, telling.keyFrom) })}\n`);
    return code;
  }
  const hints = hintsFor(error, telling.keyFrom).map((hint) => `  ${hint}\n`);
  terminal.err(plain(`error: ${error.message}\n${hints.join('')}`));
  if (error instanceof UsageError)
    terminal.err(telling.withUsage ? `\n${USAGE}\n` : '  `troupe --help` shows all commands.\n');
  if (error instanceof InSession) terminal.err(error.ways.map((way) => `${way}\n`).join(''));
  return code;
}

/** For programs: one line, always with a code and a message. */
function asData(error: UsageError | TroupeClientError, keyFrom: string | undefined): object {
  if (error instanceof InSession) return { ...asData(error.failure, keyFrom), sessionId: error.sessionId };
  const hint = error instanceof ApiError && error.issues.length > 0 ? '' : hintsFor(error, keyFrom).join(' ');
  return {
    code: codeOf(error),
    message: error.message,
    ...(hint ? { hint } : {}),
    ...(error instanceof ApiError
      ? { status: error.status, ...(error.issues.length > 0 ? { issues: error.issues } : {}) }
      : {}),
    ...(error instanceof TurnFailedError ? { runId: error.turn.posted.run?.id ?? null } : {}),
  };
}

function codeOf(error: UsageError | TroupeClientError): string {
  if (error instanceof UsageError) return 'usage';
  if (error instanceof ApiError || error instanceof TurnFailedError) return error.code;
  if (error instanceof InvocationFailedError || error instanceof CommandError) return error.code;
  if (error instanceof ConnectionError) return 'server_unreachable';
  return error instanceof TimeoutError ? 'timeout' : 'failed';
}

function hintsFor(error: UsageError | TroupeClientError, keyFrom: string | undefined): string[] {
  if (error instanceof InSession) return hintsFor(error.failure, keyFrom);
  if (error instanceof UsageError) return error.hint ? [error.hint] : [];
  if (error instanceof ConnectionError) return ['Start it with `troupe dev`, or say where it is with --url.'];
  if (error instanceof InvocationFailedError) return [`\`troupe runs show ${error.invoked.id}\` tells more.`];
  if (!(error instanceof ApiError)) return [];
  if (error.status === 401)
    return keyFrom
      ? [`The key that ${keyFrom} gave is not one of this server, or it was revoked or has expired.`]
      : ['Give a key with --key or TROUPE_KEY.'];
  return error.issues.length < 2
    ? []
    : error.issues.map(({ path, message }) => `${path || 'body'}: ${message}`);
}
