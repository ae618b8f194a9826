/** What stays, goes and comes between two lists, in the order of reading: goes before comes. */
export type Difference<Item> = { kind: 'same' | 'gone' | 'new'; item: Item };

/** Above so many cells the middle is taken as replaced as a whole: nobody reads such a difference, and it must not stop the page. */
const MOST_CELLS = 4_000_000;

/** By the longest common subsequence, after what is common at both ends was taken off. */
export function differences<Item>(before: Item[], after: Item[]): Difference<Item>[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++;
  const same = (items: Item[]): Difference<Item>[] => items.map((item) => ({ kind: 'same', item }));
  return [
    ...same(before.slice(0, start)),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

function middle<Item>(before: Item[], after: Item[]): Difference<Item>[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > MOST_CELLS || before.length === 0 || after.length === 0)
    return [
      ...before.map((item) => ({ kind: 'gone' as const, item })),
      ...after.map((item) => ({ kind: 'new' as const, item })),
    ];
  // lengths[i * width + j]: the longest common subsequence of what is left from i and j on.
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        before[i] === after[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  const found: Difference<Item>[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      found.push({ kind: 'same', item: before[i]! });
      i++;
      j++;
    } else if (
      i < before.length &&
      (j === after.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
    )
      found.push({ kind: 'gone', item: before[i++]! });
    else found.push({ kind: 'new', item: after[j++]! });
  }
  return found;
}

/** Words, spaces and marks, so that one changed word is one change. */
export function wordsOf(line: string): string[] {
  return line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}
