import { createHash } from 'node:crypto';
import type { Endpoint } from '@troupe/protocol';
import type { Context } from 'hono';
import type { Caller, Encryption } from '../access/index.ts';
import { newId, Refusal } from '../base/index.ts';
import {
  answerIdempotencyKey,
  claimIdempotencyKey,
  type Database,
  type Effect,
  freeIdempotencyKey,
  holdIdempotencyKey,
  type KeyedRequest,
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
  /** Of this process: others see by its lock whether it lives. */
  incarnation: string;
}

/** How a request is carried out. */
export interface Carrying {
  /** For what the request creates: the same in every attempt with the same Idempotency-Key. */
  id: string;
  /** Absent without an Idempotency-Key. */
  request?: KeyedRequest;
  /** An earlier attempt may have had its effect. */
  isRepeat: boolean;
  /** The effect of an earlier attempt, if it was committed together with the key. */
  effect: Effect | null;
}

/** Well before others consider the request lost, which is after 15 seconds. */
const HOLD_MS = 5_000;
/** No answers: the next request with the same key is tried anew. */
const isFailure = (status: number) => status >= 500 || status === 429;

/** The attempts that this process is carrying out. */
const ours = new Set<string>();

/**
 * A POST with an Idempotency-Key has its effect once; a repeat gets the first answer, refusals included. A request without an answer, because its
 * process died, is carried out again at once. That is safe because of the endpoint's class in repeats.ts.
 */
export async function onlyOnce(
  attempt: Attempt,
  act: (carrying: Carrying) => Promise<Response>,
): Promise<Response> {
  const { endpoint, caller, context, db, incarnation } = attempt;
  const given = endpoint.method === 'POST' ? context.req.header('idempotency-key') : undefined;
  if (given === undefined) return act({ id: newId(), isRepeat: false, effect: null });
  const named = { project: caller.project, key: keyOf(given, caller) };
  const holder = { holder: incarnation, isOurs: (id: string) => ours.has(id) };
  const claim = await claimIdempotencyKey(db, named, fingerprintsOf(attempt), holder);
  switch (claim.outcome) {
    case 'answered':
      return replay(claim.status, claim.body as Kept | null);
    case 'other_request':
      throw conflict('idempotency_conflict', 'This Idempotency-Key was used for another request.', {
        hint: 'Take a new key for every request, and the same one only to send the same request again.',
      });
    case 'under_way':
      throw conflict('request_under_way', 'The first request with this Idempotency-Key is still under way.', {
        hint: 'Send it again after a second. If its server died, it is then carried out by another one.',
        retryAfterSeconds: 1,
      });
    case 'claimed': {
      const { made: id, isRepeat, effect } = claim;
      const request = { ...named, attempt: claim.attempt };
      return carryOut(attempt, request, () => act({ id, request, isRepeat, effect }));
    }
  }
}

/** How an answer is kept: its text to the letter. */
type Kept = { type: string; text: string };

async function carryOut(
  { db, context, endpoint }: Attempt,
  request: KeyedRequest,
  act: () => Promise<Response>,
) {
  ours.add(request.attempt);
  const timer = setInterval(() => void holdIdempotencyKey(db, request).catch(() => {}), HOLD_MS);
  const settle = async (settling: Promise<void>) => {
    clearInterval(timer);
    // If even this fails, the next request finds the key without anybody who carries it out.
    await settling.catch(() => {});
  };
  const free = () => settle(freeIdempotencyKey(db, request));
  const leave = () => settle(leaveIdempotencyKey(db, request));
  try {
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
    const body = endpoint.shownOnce && response.ok ? null : await keep(response.clone());
    await settle(answerIdempotencyKey(db, request, { status: response.status, body }));
    return response;
  } finally {
    clearInterval(timer);
    ours.delete(request.attempt);
  }
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
