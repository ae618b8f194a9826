import { randomUUID } from 'node:crypto';
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { messageOf, TroupeError } from '../../base/index.ts';
import type { Hidden } from '../http/index.ts';

const LONGEST = 3_000;
/** In the data of an error that we gave ourselves as the answer. No server knows it. */
export const CUT_OFF = `cut off ${randomUUID()}`;

/** In words for the model, anew and without its cause: what was thrown may have been made from what we sent. */
export function failureOf(error: unknown, broken: TroupeError | null, hidden: Hidden): TroupeError {
  const { code, message } = broken ?? toldBy(error);
  // Whatever was cut off may end with the beginning of a secret.
  return new TroupeError(code, hidden.cut(message.slice(0, LONGEST).toWellFormed()));
}

function toldBy(error: unknown): { code: string; message: string } {
  const own = ownIn(error);
  if (own) return own;
  const away = awayIn(error);
  if (away)
    return {
      code: 'connection_failed',
      message: `The server cannot be reached: ${away}. It was not called.`,
    };
  if (error instanceof SdkHttpError)
    return {
      code: 'mcp_http_status',
      message: `The server answered with the status ${error.status}: ${messageOf(error)}`,
    };
  if (error instanceof ProtocolError && Object.hasOwn(Object(error.data), CUT_OFF))
    return { code: 'mcp_too_much', message: error.message };
  if (error instanceof ProtocolError)
    return { code: 'mcp_error', message: `The server answered with an error: ${messageOf(error)}` };
  if (error instanceof SdkError) return toldBySdk(error);
  if (error instanceof RangeError)
    return { code: 'response_too_deep', message: 'The answer is nested too deep to be read.' };
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${messageOf(error.cause)}` : '';
  return { code: 'mcp_failed', message: `The server could not be asked: ${messageOf(error)}${cause}` };
}

function toldBySdk(error: SdkError): { code: string; message: string } {
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { code: 'mcp_timeout', message: 'The server did not answer in time.' };
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return {
        code: 'mcp_connection_lost',
        message: 'The connection to the server was lost; a call may have taken effect all the same.',
      };
    case SdkErrorCode.InvalidResult:
      return {
        code: 'mcp_not_understood',
        message: `The server's answer is none of the protocol: ${messageOf(error)}`,
      };
    case SdkErrorCode.UnsupportedResultType:
      return {
        code: 'mcp_wants_input',
        message: 'The server asks for something that only a person could tell it.',
      };
    default:
      return { code: 'mcp_failed', message: messageOf(error) };
  }
}

/** What the guard or the transport said stands somewhere within. */
function ownIn(error: unknown): TroupeError | null {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if (one instanceof TroupeError) return one;
  }
  return null;
}

/** Codes of connections that never came to be, so that nothing was sent. */
const NEVER_THERE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

function awayIn(error: unknown): string | null {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if ('code' in one && NEVER_THERE.has(String(one.code))) return messageOf(one) || String(one.code);
  }
  return null;
}

/** The server no longer knows the session. */
export function isForgotten(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}
