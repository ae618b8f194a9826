import { APICallError } from '@ai-sdk/provider';
import { messageOf, RetryableError, TroupeError } from '../../base/index.ts';
import { type Endpoint, nameOf } from './endpoint.ts';
import { NoStream } from './guarded-fetch.ts';
import { retryAfterMs } from './retry-after.ts';

/** What is known of a failure, whichever way it was told: as a response, inside the stream, or by the connection. */
interface Facts {
  status: number | undefined;
  /** The provider's own code and type, for those that say more than the status. */
  code: string;
  message: string;
  headers: Record<string, string> | undefined;
}

const CONTEXT_TOO_LONG =
  /context[_ ]length|context (window|size|limit)|maximum context|prompt is too long|input is too long|too many (input )?tokens/i;
const CONTENT_FILTER_CODE = /content_filter|content_policy|responsible_?ai/i;
const NO_MONEY = /insufficient_quota|billing|credit balance|insufficient credits/i;

/**
 * What anything that went wrong with a call becomes. The error of the package is not kept as the cause: it holds the
 * whole request.
 */
export function failureOf(error: unknown, endpoint: Endpoint, model: string): TroupeError {
  const known = troupeErrorIn(error);
  if (known && !(known instanceof NoStream)) return known;
  const facts = factsOf(known ?? error);
  const who = nameOf(endpoint);
  const said = sentence(facts.message, endpoint.apiKey);
  const { status } = facts;

  if (status === undefined) {
    if (known) {
      const hint = 'Check the base URL of the provider.';
      return new RetryableError('model_bad_response', `${who} did not stream an answer. ${known.message}`, {
        hint,
      });
    }
    if (APICallError.isInstance(error)) {
      return new RetryableError('model_unreachable', `${who} could not be reached, or hung up.${said}`);
    }
    return new RetryableError(
      'model_bad_response',
      `${who} sent what could not be read as an answer.${said}`,
    );
  }

  const details = { status, model };
  // Inside a stream the packages make the status up; the code is the provider's own.
  const tooLong =
    CONTEXT_TOO_LONG.test(facts.code) ||
    (status < 500 && status !== 429 && (status === 413 || CONTEXT_TOO_LONG.test(facts.message)));
  if (tooLong) {
    return new TroupeError('context_too_long', `This is more than the model "${model}" can read.${said}`, {
      hint: 'Shorten the history or the tools of the agent, or give it a model with a larger context.',
      details,
    });
  }
  if (
    status === 402 ||
    NO_MONEY.test(`${facts.code} ${status === 429 || status === 400 ? facts.message : ''}`)
  ) {
    return new TroupeError('model_quota', `${who} does not answer until its account is paid.${said}`, {
      details,
    });
  }
  if (status === 401 || status === 403) {
    return new TroupeError('model_auth', `${who} does not accept the API key for "${model}".${said}`, {
      hint: 'Set a key that is valid and may use this model.',
      details,
    });
  }
  if (CONTENT_FILTER_CODE.test(facts.code)) {
    return new TroupeError('content_filter', `${who} refuses to answer this.${said}`, {
      hint: 'Rephrase the message, or give the agent another model.',
      details,
    });
  }
  const after = retryAfterMs(facts.headers, Date.now());
  const wait = after === undefined ? {} : { retryAfterMs: after };
  if (status === 429) {
    return new RetryableError('rate_limited', `${who} gets too many requests for "${model}".${said}`, {
      details,
      ...wait,
    });
  }
  if (status === 503 || status === 529) {
    return new RetryableError('model_overloaded', `${who} is overloaded (${status}).${said}`, {
      details,
      ...wait,
    });
  }
  if (status >= 500 || [408, 409, 425].includes(status)) {
    return new RetryableError('model_unavailable', `${who} failed (${status}).${said}`, { details, ...wait });
  }
  if (status >= 200 && status < 300) {
    return new RetryableError('model_stream_cut', `${who} broke off in the middle of the answer.${said}`, {
      details,
    });
  }
  return new TroupeError('model_rejected', `${who} refused the request for "${model}" (${status}).${said}`, {
    details,
  });
}

function troupeErrorIn(error: unknown): TroupeError | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (current instanceof TroupeError) return current;
    current = current.cause;
  }
  return undefined;
}

function factsOf(error: unknown): Facts {
  if (error instanceof NoStream) {
    const body = bodyFacts(error.body);
    return { status: statusOf(body), code: body.code, message: body.message, headers: undefined };
  }
  if (APICallError.isInstance(error)) {
    const body = bodyFacts(error.responseBody);
    return {
      status: error.statusCode,
      code: body.code,
      message: body.message || error.message,
      headers: error.responseHeaders,
    };
  }
  if (error instanceof Error)
    return { status: undefined, code: '', message: error.message, headers: undefined };
  const told = objectFacts(error);
  return { status: statusOf(told), code: told.code, message: told.message, headers: undefined };
}

interface Told {
  status: number | undefined;
  code: string;
  message: string;
}

function bodyFacts(body: string | undefined): Told {
  const text = body?.trim() ?? '';
  try {
    return objectFacts(JSON.parse(text));
  } catch {
    // A page for people says nothing in its first characters.
    return { status: undefined, code: '', message: text.startsWith('<') ? '' : text };
  }
}

/** `{ error: { message, type, code } }` and what servers make of it: `{ error: "…" }`, `{ message }`, `{ detail }`. */
function objectFacts(value: unknown): Told {
  const outer = record(value);
  const inner = { ...outer, ...record(record(outer.response).error), ...record(outer.error) };
  const message = [inner.message, outer.error, outer.detail, value].find(
    (text) => typeof text === 'string' && text !== '',
  );
  const codes = [inner.code, inner.type].filter(
    (code) => typeof code === 'string' || typeof code === 'number',
  );
  const status = [inner.statusCode, inner.code, inner.status].map(Number).find((n) => n >= 400 && n < 600);
  return {
    status,
    code: codes.join(' '),
    message:
      typeof message === 'string' ? message : outer.detail === undefined ? '' : JSON.stringify(outer.detail),
  };
}

/** Inside a stream and in a document the status is not said; the code and the type tell. */
function statusOf({ status, code, message }: Told): number | undefined {
  if (status !== undefined) return status;
  if (/rate_limit|insufficient_quota|too_many_requests/i.test(code)) return 429;
  if (/overloaded/i.test(code)) return 529;
  if (/authentication|invalid_api_key/i.test(code)) return 401;
  if (/permission/i.test(code)) return 403;
  if (/invalid|not_found|bad_request|context_length|content_filter|content_policy/i.test(code)) return 400;
  return code !== '' || message !== '' ? 500 : undefined;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

const LONGEST_SENTENCE = 300;

/** The provider's own words: on one line, short, and without a key, be it this one or what looks like one. */
function sentence(message: string, apiKey: string | null): string {
  const plain = messageOf(message).replace(/\s+/g, ' ').trim();
  const safe = (apiKey ? plain.replaceAll(apiKey, '[key]') : plain).replace(/\bsk-[\w*-]{4,}/g, '[key]');
  if (safe === '') return '';
  return ` It said: ${safe.length > LONGEST_SENTENCE ? `${safe.slice(0, LONGEST_SENTENCE)}…` : safe}`;
}
