import { createHash, randomFillSync } from 'node:crypto';

// UUID v7 (RFC 9562): 48 bits of milliseconds, then a 12-bit counter within the millisecond, then random bits.
// The counter keeps ids of one process strictly increasing, so index inserts stay on the right-hand page.
const pool = Buffer.allocUnsafe(8 * 512);
let used = pool.length;
let lastMs = 0;
let counter = 0;
const hex: string[] = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));

export type Id = string;

export function newId(): Id {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    counter = pool[used + 7]! & 0x7f; // a random start leaves room to count upwards
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const version = (0x7000 | counter).toString(16);
  const b = used;
  used += 8;
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${hex[(pool[b]! & 0x3f) | 0x80]}${hex[pool[b + 1]!]}-${hex[pool[b + 2]!]}${hex[pool[b + 3]!]}${hex[pool[b + 4]!]}${hex[pool[b + 5]!]}${hex[pool[b + 6]!]}${hex[pool[b + 7]!]}`;
}

/**
 * UUID v8 (RFC 9562): of the key and nothing else, so that whoever makes it again makes the same. With `near`, which must follow from the key
 * too, it has that time, or that of an id: lists that go by id have it there, and not in front of all that is newer.
 */
export function idFrom(key: string, near?: Id | Date): Id {
  const digest = createHash('sha256').update(key).digest('hex');
  const first = near instanceof Date ? near.getTime().toString(16).padStart(12, '0') : digest;
  const time = typeof near === 'string' ? near.slice(0, 13) : `${first.slice(0, 8)}-${first.slice(8, 12)}`;
  return `${time}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isId(value: unknown): value is Id {
  return typeof value === 'string' && SHAPE.test(value);
}

/** The first id that could have been made at this time: where those from then on begin. */
export function firstIdAt(ms: number): Id {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
