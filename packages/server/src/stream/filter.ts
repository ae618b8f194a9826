/** `types` of a query: names separated by commas; `run.*` means all that begin with `run.`. */
export function typeFilter(types: string | undefined): (type: string) => boolean {
  if (types === undefined) return () => true;
  const wanted = types.split(',');
  const exact = new Set(wanted.filter((word) => !word.endsWith('*')));
  const beginnings = wanted.filter((word) => word.endsWith('*')).map((word) => word.slice(0, -1));
  return (type) => exact.has(type) || beginnings.some((beginning) => type.startsWith(beginning));
}

/** The same for the database. */
export function likePatterns(types: string | undefined): string[] | null {
  if (types === undefined) return null;
  return types
    .split(',')
    .map((word) => (word.endsWith('*') ? `${escaped(word.slice(0, -1))}%` : escaped(word)));
}

function escaped(word: string): string {
  return word.replace(/[\\%_]/g, '\\$&');
}
