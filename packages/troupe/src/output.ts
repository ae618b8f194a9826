/** Beside a list that is longer than what is shown. */
export const MORE = 'There are more; --limit shows up to 200.\n';

const LONGEST = 60;
/** Of two texts that differ, so much of what they have in common. */
const SEEN_BEFORE = 15;

/** Rows as columns of text, as wide as they need to be. Long cells are cut, unless what they say is what was asked for. */
export function table(
  rows: Record<string, unknown>[],
  columns: string[],
  { longest = LONGEST }: { longest?: number } = {},
): string {
  if (rows.length === 0) return 'none\n';
  const cells = [columns, ...rows.map((row) => columns.map((column) => cellOf(row[column], longest)))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at]!.length)));
  return cells
    .map(
      (line) =>
        `${line
          .map((cell, at) => cell.padEnd(widths[at]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function cellOf(value: unknown, longest: number): string {
  if (value === null || value === undefined || value === '') return '-';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const line = plain(text).replaceAll(/\s+/g, ' ');
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** Rows with `from` and `to`: long texts that begin alike are shown from shortly before where they differ. */
export function changed<Row extends { from?: unknown; to?: unknown }>(row: Row): Row {
  const [from, to] = [row.from, row.to];
  if (typeof from !== 'string' || typeof to !== 'string') return row;
  let same = 0;
  while (same < from.length && from[same] === to[same]) same++;
  const start = same - SEEN_BEFORE;
  if (start <= 0 || Math.max(from.length, to.length) <= LONGEST) return row;
  const shown = (text: string) => `…${text.slice(start).toWellFormed()}`;
  return { ...row, from: shown(from), to: shown(to) };
}

/** One thing, a line for each of its fields. */
export function record(row: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(row).map((key) => key.length));
  return Object.entries(row)
    .map(
      ([key, value]) =>
        `${key.padEnd(width)}  ${textOf(value).replaceAll('\n', `\n${' '.repeat(width + 2)}`)}\n`,
    )
    .join('');
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  return plain(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Without what would move the cursor or colour the screen: others wrote it. */
export function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(/[^\P{Cc}\n\t]/gu, '');
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
