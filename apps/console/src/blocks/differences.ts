import { diffArrays } from 'diff';

/** An item of two compared lists, in reading order: removed items before added ones. */
export interface Difference {
  kind: 'same' | 'gone' | 'new';
  item: string;
}

/** Nobody reads more changes, and finding them takes time with their square: 1,000 take about 100 ms. */
const MAX_CHANGES = 1_000;

/** Lists with too many changes count as replaced as a whole. */
export function differences(before: string[], after: string[]): Difference[] {
  const changes = diffArrays(before, after, { maxEditLength: MAX_CHANGES }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  return changes.flatMap(({ removed, added, value }) => {
    const kind = removed ? 'gone' : added ? 'new' : 'same';
    return value.map((item) => ({ kind, item }) as const);
  });
}

/** Words, spaces and punctuation marks, so that one changed word is one change. */
export function wordsOf(line: string): string[] {
  return line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}
