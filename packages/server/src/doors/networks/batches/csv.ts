import { setImmediate as othersFirst } from 'node:timers/promises';
import { lazy, Refusal } from '../../../base/index.ts';

const csv = lazy<typeof import('csv-parse')>('csv-parse');

export interface CsvFile {
  header: string[];
  /** The cells of each row, or why they cannot be told. */
  rows: ({ line: number; cells: string[] } | { line: number; problem: string })[];
}

const DELIMITERS = [',', ';', '\t'];
/** Read in one go; then others of the process have their turn. */
const PIECE = 65_536;

/** RFC 4180, and what spreadsheets make of it: a byte order mark, any line ending, `;` or a tab in the place of the comma. */
export async function readCsv(text: string): Promise<CsvFile> {
  const rows: CsvFile['rows'] = [];
  let header: string[] | null = null;
  let broken: Refusal | null = null;
  const parser = csv().parse({
    bom: true,
    delimiter: delimiterOf(text),
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_record: (cells: string[], { lines: line }) => {
      if (header === null) header = cells.map((cell) => cell.trim());
      else if (cells.length === header.length) rows.push({ line, cells });
      else rows.push({ line, problem: `has ${cells.length} cells where the header has ${header.length}` });
      return null;
    },
    on_skip: (error) => {
      const line = Number(error?.lines ?? 0);
      // A quote within a cell that does not begin with one ends with its line; after any other, nobody can tell where rows begin.
      if (error?.code !== 'INVALID_OPENING_QUOTE' || header === null)
        broken ??= brokenAt(line, 'has a quote that is not closed, or more after a closing one');
      // Told for each quote of the line, which is one row all the same.
      else if (rows.at(-1)?.line !== line)
        rows.push({ line, problem: 'has a quote in a cell that does not begin with one' });
      return undefined;
    },
  });
  parser.on('error', ({ lines }: Error & { lines?: number }) => {
    broken ??= brokenAt(lines ?? 0, 'is no CSV');
  });
  const done = new Promise<void>((resolve) => parser.once('close', resolve));
  parser.resume();
  for (let at = 0; at < text.length && broken === null; at += PIECE) {
    parser.write(text.slice(at, at + PIECE));
    await othersFirst();
  }
  parser.end();
  await done;
  if (broken !== null) throw broken;
  return { header: header ?? [], rows };
}

/** The one that the header has most of, outside of quotes. */
function delimiterOf(text: string): string {
  const counts = new Map(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === '\n' || character === '\r') break;
    const count = counts.get(character);
    if (count !== undefined) counts.set(character, count + 1);
  }
  return DELIMITERS.reduce((most, one) => (counts.get(one)! > counts.get(most)! ? one : most));
}

function brokenAt(line: number, message: string): Refusal {
  return new Refusal('invalid', 'file_invalid', `The file is no CSV: line ${line} ${message}.`, {
    hint: 'Put cells with quotes, commas or line breaks in quotes, and double the quotes within.',
    issues: [{ path: 'data', message: `line ${line} ${message}` }],
  });
}
