import type { Json } from '@troupe/protocol';
import { type ZodType, z } from 'zod';
import { Refusal } from './errors.ts';
import { checkStorable } from './storable.ts';

// Lists are read in pages. A page ends with a cursor: the position of its last row, from which the next page goes on.

export interface ListQuery {
  limit: number;
  cursor?: string | undefined;
}

export interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

/** Opaque, so that clients do not depend on its content. */
export function toCursor(position: Json): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

export function fromCursor<Position>(
  schema: ZodType<Position>,
  cursor: string | undefined,
): Position | undefined {
  if (cursor === undefined) return undefined;
  try {
    const position = schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    checkStorable(position);
    return position;
  } catch {
    throw new Refusal('invalid', 'invalid_request', 'The cursor does not belong to this list.', {
      hint: 'Send the `nextCursor` of the previous page unchanged.',
      issues: [{ path: 'cursor', message: 'is not the `nextCursor` of a page' }],
    });
  }
}

export interface PagedList<Position extends Json, Row> {
  position: ZodType<Position>;
  /** The rows that follow this position in the order of the list. */
  read(from: Position | undefined, limit: number): Promise<Row[]>;
  positionOf(row: Row): Position;
}

/** Reads one row more than the page holds: it tells whether there is a next page. */
export async function readPage<Position extends Json, Row>(
  { limit, cursor }: ListQuery,
  { position, positionOf, read }: PagedList<Position, Row>,
): Promise<Page<Row>> {
  const rows = await read(fromCursor(position, cursor), limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? toCursor(positionOf(last)) : null;
  return { data: shown, nextCursor };
}

/** The position in a list that is ordered by id. */
export const idPosition = z.guid();

export interface IdRange {
  before: string | undefined;
  limit: number;
}

/** A page of a list that is ordered by id. */
export function readPageById<Row extends { id: string }>(
  query: ListQuery,
  read: (range: IdRange) => Promise<Row[]>,
): Promise<Page<Row>> {
  return readPage(query, {
    position: idPosition,
    positionOf: ({ id }) => id,
    read: (before, limit) => read({ before, limit }),
  });
}
