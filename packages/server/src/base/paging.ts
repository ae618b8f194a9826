import { Refusal } from './errors.ts';
import { isId } from './ids.ts';

export interface ListQuery {
  limit: number;
  cursor?: string | undefined;
}

export interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

/** The id that a cursor stands for; null: from the start. */
export function idCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  if (!isId(cursor)) throw badCursor();
  return cursor;
}

export function numberCursor(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  if (!/^\d{1,9}$/.test(cursor)) throw badCursor();
  return Number(cursor);
}

/** Of rows that were asked for with one more than the limit: that one tells whether there is a next page. */
export function pageOf<Row, Item>(
  rows: Row[],
  limit: number,
  { present, cursor }: { present(row: Row): Item; cursor(row: Row): string },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(present),
    nextCursor: rows.length > limit && last !== undefined ? cursor(last) : null,
  };
}

function badCursor(): Refusal {
  const issue = { path: 'cursor', message: 'does not come from a page of this list' };
  return new Refusal('invalid', 'invalid_request', `The request is not valid: "cursor" ${issue.message}.`, {
    issues: [issue],
  });
}
