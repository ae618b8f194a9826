import { isId, Refusal } from '../../base/index.ts';

/** A page's end as the next page's beginning. What is in it is nobody's business but ours. */
export function toCursor(id: string): string {
  return Buffer.from(id).toString('base64url');
}

export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = Buffer.from(cursor, 'base64url').toString();
  if (isId(id)) return id;
  throw new Refusal('invalid', 'invalid_request', 'The cursor is not one of ours.', {
    hint: 'Use the `nextCursor` of the page before as it is.',
    issues: [{ path: 'cursor', message: 'is not the nextCursor of a page' }],
  });
}

/** `rows`: one more than were asked for, where there are more. */
export function pageOf<Row extends { id: string }, Item>(
  rows: Row[],
  limit: number,
  present: (row: Row) => Item,
): { data: Item[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  return { data: shown.map(present), nextCursor: rows.length > limit ? toCursor(shown.at(-1)!.id) : null };
}
