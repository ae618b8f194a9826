import { createSecretKey, type KeyObject } from 'node:crypto';
import { isFree, type TokenRules } from '@troupe/protocol';
import type { JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { lazy, limitedFetch, messageOf, Refusal, RetryableError, TroupeError } from '../base/index.ts';

const jose = lazy<typeof import('jose')>('jose');

/** Shorter ones can be guessed from a single token. */
const SECRET_BYTES = 32;
const CLOCK_TOLERANCE_SECONDS = 5;
const FETCH_MS = 5_000;
const MAX_KEY_SETS = 100;
const KEY_SET_BYTES = 1024 * 1024;

/** For addresses that the project chose. */
export type FetchFor = (project: string) => typeof globalThis.fetch;

/**
 * Checks the tokens of people. The algorithm must be one of the project's rules, and decides alone which key is used:
 * a shared secret for HS, a published key for everything else. So no published key can ever serve as a secret.
 */
export class Tokens {
  readonly #keySets = new LRUCache<string, JWTVerifyGetKey>({ max: MAX_KEY_SETS });
  readonly #fetchFor: FetchFor;

  constructor(fetchFor: FetchFor = () => unreachable) {
    this.#fetchFor = fetchFor;
  }

  /** The external id of the person; throws a `Refusal` where the token does not hold. */
  async check(
    token: string,
    rules: TokenRules,
    secret: () => string | null,
    guardedFor: string | null = null,
  ): Promise<string> {
    const getKey: JWTVerifyGetKey = (header, input) =>
      header.alg.startsWith('HS') ? sharedSecret(secret()) : this.#keySet(rules, guardedFor)(header, input);
    const { payload } = await jose()
      .jwtVerify(token, getKey, {
        algorithms: rules.algorithms,
        audience: rules.audience,
        ...(rules.issuer === null ? {} : { issuer: rules.issuer }),
        requiredClaims: ['exp'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
      })
      .catch((error: unknown) => {
        throw refusalOf(error);
      });
    const person = payload[rules.claim];
    if (!isExternalId(person))
      throw refused(`It names nobody: "${rules.claim}" must be a text of 1 to 500 characters.`);
    if (!isFree(person)) throw refused('It names somebody who is nobody: names that begin so are reserved.');
    return person;
  }

  #keySet({ jwksUrl }: TokenRules, guardedFor: string | null): JWTVerifyGetKey {
    if (jwksUrl === null) throw cannotBeChecked();
    const name = JSON.stringify([guardedFor, jwksUrl]);
    const known = this.#keySets.get(name);
    if (known) return known;
    const keySet = jose().createRemoteJWKSet(new URL(jwksUrl), {
      timeoutDuration: FETCH_MS,
      [jose().customFetch]: limitedFetch(
        guardedFor === null ? globalThis.fetch : this.#fetchFor(guardedFor),
        {
          maxBytes: KEY_SET_BYTES,
          overflow: 'refuse',
        },
      ),
    });
    this.#keySets.set(name, keySet);
    return keySet;
  }
}

const unreachable: typeof globalThis.fetch = async () => {
  throw new TroupeError('address_forbidden', 'This process reaches no addresses that projects choose.');
};

function sharedSecret(secret: string | null): KeyObject {
  const bytes = Buffer.from(secret ?? '');
  if (bytes.length < SECRET_BYTES) throw cannotBeChecked();
  return createSecretKey(bytes);
}

/** To whom it happens it is somebody else's mistake, and how the project is set up is none of their business. */
export function cannotBeChecked(cause?: unknown): Refusal {
  return refused('It cannot be checked here.', cause);
}

/** For whoever sets it up: refused then, not at the first token. */
export function requireTokenSecret(name: string, value: string): void {
  if (Buffer.byteLength(value) >= SECRET_BYTES) return;
  throw new Refusal(
    'invalid',
    'secret_too_short',
    `A secret that tokens are checked with has at least ${SECRET_BYTES} bytes; "${name}" has fewer.`,
    { hint: 'Make one with: openssl rand -base64 32' },
  );
}

function isExternalId(value: unknown): value is string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in it
  return typeof value === 'string' && /^[^\u0000-\u001f\u007f]{1,500}$/u.test(value) && value.isWellFormed();
}

function refused(why: string, cause?: unknown): Refusal {
  return new Refusal('unauthenticated', 'unauthenticated', `The token does not hold. ${why}`, { cause });
}

function refusalOf(error: unknown): Error {
  if (error instanceof Refusal) return error;
  const { errors } = jose();
  if (error instanceof errors.JWTExpired) return refused('It is out of date.', error);
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refused('Its algorithm is not one of the project.', error);
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(`Its claim "${error.claim}" is missing or wrong.`, error);
  if (error instanceof errors.JWKSNoMatchingKey) return refused('Nobody published its key.', error);
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return refused('Its signature is wrong.', error);
  const unreachable =
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC') ||
    !(error instanceof errors.JOSEError);
  if (!unreachable) return refused('It is no token that can be read.', error);
  return new RetryableError(
    'token_keys_unavailable',
    'The published keys for tokens cannot be had at the moment.',
    {
      hint: `At the address of the project's token rules: ${messageOf(error).slice(0, 200)}`,
      cause: error,
      retryAfterMs: 2_000,
    },
  );
}
