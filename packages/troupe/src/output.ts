/** Beside a list that is longer than what is shown. */
export const MORE = 'There are more; --limit shows up to 200.\n';

/** Rows as columns of text, as wide as they need to be. Long cells are cut, unless what they say is what was asked for. */
export function table(
  rows: Record<string, unknown>[],
  columns: string[],
  { longest = 60 }: { longest?: number } = {},
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
