import { createHash } from 'node:crypto';
import type { Endpoint } from '@troupe/protocol';
import type { Context } from 'hono';
import type { Caller, Encryption } from '../access/index.ts';
import { Refusal } from '../base/index.ts';
import {
  answerIdempotencyKey,
  claimIdempotencyKey,
  type Database,
  freeIdempotencyKey,
  holdIdempotencyKey,
  leaveIdempotencyKey,
} from '../store/index.ts';
import { answerRefusal } from './problem.ts';

export interface Attempt {
  endpoint: Endpoint;
  caller: Caller;
  context: Context;
  /** The body as it was sent. */
  text: string;
  db: Database;
  encryption: Encryption;
}

/** Well before others take the request for lost, which is after a minute. */
const HOLD_MS = 20_000;
/** No answers: the next request with the same key is tried anew. */
const isFailure = (status: number) => status >= 500 || status === 429;

/**
 * A POST with an Idempotency-Key is carried out once; whoever sends it again gets the first answer again, refusals
 * included. A request without an answer, because its process died, can be sent again after a minute: it may then have
 * been carried out and its answer lost, which is why what a POST makes has its own id where that matters.
 */
export async function onlyOnce(attempt: Attempt, act: () => Promise<Response>): Promise<Response> {
  const { endpoint, caller, context, db } = attempt;
  const given = endpoint.method === 'POST' ? context.req.header('idempotency-key') : undefined;
  if (given === undefined) return act();
  const key = keyOf(given, caller);
  const claim = await claimIdempotencyKey(db, caller.project, key, fingerprintsOf(attempt));
  switch (claim.outcome) {
    case 'answered':
      return replay(claim.status, claim.body as Kept | null);
    case 'other_request':
      throw conflict('idempotency_conflict', 'This Idempotency-Key was used for another request.', {
        hint: 'Take a new key for every request, and the same one only to send the same request again.',
      });
    case 'under_way':
      throw conflict('request_under_way', 'The first request with this Idempotency-Key is still under way.', {
        hint: 'Ask again in a moment; where the process died that had it, it can be had within a minute.',
        retryAfterSeconds: 1,
      });
    case 'first':
      context.set(MADE, claim.made);
      return carryOut(attempt, key, claim.since, act);
  }
}

const MADE = 'made';

/**
 * With an Idempotency-Key, the id for what the request makes, the same whoever carries it out. A process that dies before it answers leaves
 * the key to the next one, which finds what was made instead of making another.
 */
export function idToMake(context: Context): string | undefined {
  return context.get(MADE) as string | undefined;
}

/** How an answer is kept: its text to the letter. */
type Kept = { type: string; text: string };

async function carryOut(attempt: Attempt, key: string, claimed: string, act: () => Promise<Response>) {
  const { db, context, endpoint } = attempt;
  const { project } = attempt.caller;
  let since: string | null = claimed;
  let holding: Promise<unknown> = Promise.resolve();
  const hold = async () => {
    if (since !== null) since = await holdIdempotencyKey(db, project, key, since);
  };
  const timer = setInterval(() => {
    holding = holding.then(hold).catch(() => {});
  }, HOLD_MS);
  const settle = async (then: (since: string) => Promise<void>) => {
    clearInterval(timer);
    await holding;
    // Where even this fails, the key is free within a minute.
    if (since !== null) await then(since).catch(() => {});
  };
  const free = () => settle((held) => freeIdempotencyKey(db, project, key, held));
  const leave = () => settle((held) => leaveIdempotencyKey(db, project, key, held));
  let response: Response;
  try {
    response = await act();
  } catch (error) {
    if (!(error instanceof Refusal)) {
      await leave();
      throw error;
    }
    if (error.kind === 'rate_limited') {
      await free();
      throw error;
    }
    response = answerRefusal(error, context);
  }
  if (isFailure(response.status)) {
    await (response.status === 429 ? free() : leave());
    return response;
  }
  const kept = endpoint.shownOnce && response.ok ? null : await keep(response.clone());
  await settle((held) =>
    answerIdempotencyKey(db, project, key, held, { status: response.status, body: kept }),
  );
  return response;
}

async function keep(response: Response): Promise<Kept | null> {
  const type = response.headers.get('content-type');
  return { type: type ?? '', text: await response.text() };
}

function replay(status: number, kept: Kept | null): Response {
  if (kept === null) {
    throw conflict(
      'answer_not_kept',
      'This request was carried out before, and its answer is shown only once.',
      {
        hint: 'If it was lost, undo what was made and send the request with a new Idempotency-Key.',
      },
    );
  }
  const headers = new Headers({ 'idempotency-replayed': 'true' });
  if (kept.type) headers.set('content-type', kept.type);
  return new Response(kept.text === '' ? null : kept.text, { status, headers });
}

/** The keys of a person are their own: nobody else can guess them and get in the way. */
function keyOf(given: string, { entityId }: Caller): string {
  if (!/^[\x20-\x7e]{1,200}$/.test(given)) {
    const message = 'must have 1 to 200 printable characters';
    throw new Refusal('malformed', 'invalid_request', `The header Idempotency-Key ${message}.`, {
      issues: [{ path: 'Idempotency-Key', message }],
    });
  }
  return entityId === null ? given : digest([entityId, given]).toString('hex');
}

/**
 * What the request is kept as, first, and what else it may have been kept as: by a process with another key of the operator's, or
 * without any. A body may hold what is secret and short; of a plain hash it could be guessed by whoever reads the database.
 */
function fingerprintsOf({ caller, context, text, encryption }: Attempt): [Buffer, ...Buffer[]] {
  const { pathname, search } = new URL(context.req.url);
  const { kind, keyId, entityId } = caller;
  const plain = digest([context.req.method, pathname, search, kind, keyId, entityId, text]);
  const [current, ...others] = encryption.fingerprints('idempotency', plain);
  return current ? [current, ...others, plain] : [plain];
}

function digest(parts: (string | null)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}

function conflict(
  code: string,
  message: string,
  options: { hint: string; retryAfterSeconds?: number },
): Refusal {
  return new Refusal('conflict', code, message, options);
}
