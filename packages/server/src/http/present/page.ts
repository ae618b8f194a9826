import type { Page } from '../../base/index.ts';

export function presentPage<Row, Item>(
  { data, nextCursor }: Page<Row>,
  present: (row: Row) => Item,
): Page<Item> {
  return { data: data.map(present), nextCursor };
}
