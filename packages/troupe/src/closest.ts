/** A question for somebody who mistyped, or undefined where nothing is close to it. */
export function closest(given: string, known: string[], prefix = ''): string | undefined {
  const near = known
    .map((word) => ({ word, distance: distanceOf(given.toLowerCase(), word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0];
  const begun = known.filter(
    (word) => given.length > 1 && (word.startsWith(given) || given.startsWith(word)),
  );
  const word = near?.word ?? (begun.length === 1 ? begun[0] : undefined);
  return word === undefined ? undefined : `Did you mean ${prefix}${word}?`;
}

/** How many letters have to be put in, taken out, replaced or swapped with their neighbour. */
function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, rows[i - 1]![j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
