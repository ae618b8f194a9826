import { createHmac, timingSafeEqual } from 'node:crypto';

// As Standard Webhooks has it: https://www.standardwebhooks.com

const PREFIX = 'whsec_';
/** A request that is older, or from so far ahead, is not believed. */
const TOLERANCE_SECONDS = 300;

/** The bytes that a secret stands for: those of its base64, with `whsec_` before it or without; else of the text itself. */
export function keyOf(secret: string): Buffer {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  const bytes = Buffer.from(text, 'base64');
  const isBase64 =
    bytes.length > 0 && bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return isBase64 ? bytes : Buffer.from(secret);
}

export interface Signed {
  id: string;
  /** In seconds since 1970. */
  timestamp: number;
  body: string;
}

function signatureOf(key: Buffer, { id, timestamp, body }: Signed): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** One signature for each key, so that a receiver may know the old one or the new one. */
export function headersFor(keys: readonly Buffer[], signed: Signed): Record<string, string> {
  return {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    ...(keys.length > 0
      ? { 'webhook-signature': keys.map((key) => signatureOf(key, signed)).join(' ') }
      : {}),
  };
}

/** Whether one of the keys signed it, lately. */
export function isSigned(keys: readonly Buffer[], headers: Headers, body: string, now = Date.now()): boolean {
  const [id, time, given] = ['id', 'timestamp', 'signature'].map((name) => headers.get(`webhook-${name}`));
  if (!id || !time || !given || !/^\d{1,12}$/.test(time)) return false;
  const timestamp = Number(time);
  if (Math.abs(now / 1_000 - timestamp) > TOLERANCE_SECONDS) return false;
  const signatures = given.split(' ').map((one) => Buffer.from(one));
  return keys.some((key) => {
    const wanted = Buffer.from(signatureOf(key, { id, timestamp, body }));
    return signatures.some((one) => one.length === wanted.length && timingSafeEqual(one, wanted));
  });
}
