import type { Json } from '@troupe/protocol';
import type { ZodType } from 'zod';
import { Refusal } from './errors.ts';
import { checkStorable } from './storable.ts';

/** Where the next page of a list begins; opaque, so that nobody comes to rely on what is in it. */
export function toCursor(last: Json): string {
  return Buffer.from(JSON.stringify(last)).toString('base64url');
}

export function fromCursor<Last>(schema: ZodType<Last>, cursor: string | undefined): Last | undefined {
  if (cursor === undefined) return undefined;
  try {
    const last = schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    checkStorable(last);
    return last;
  } catch {
    throw new Refusal('invalid', 'invalid_request', 'The cursor is not one that this list gave.', {
      issues: [{ path: 'cursor', message: 'comes from `nextCursor` of the page before' }],
    });
  }
}

/** A page of what was asked for with one more than `limit`, so that it is known whether there is another. */
export function toPage<Row, Item>(
  rows: Row[],
  limit: number,
  last: (row: Row) => Json,
  present: (row: Row) => Item,
): { data: Item[]; nextCursor: string | null } {
  const data = rows.slice(0, limit);
  const end = data.at(-1);
  const nextCursor = rows.length > limit && end !== undefined ? toCursor(last(end)) : null;
  return { data: data.map(present), nextCursor };
}
