// What a file would be taken for, to be shown before it is sent. The server reads it again, and its word counts.

export type FileFormat = 'csv' | 'jsonl';
export interface Preview {
  format: FileFormat;
  /** Of columns: what each becomes. */
  columns: {
    name: string;
    becomes: 'input' | 'part of the input' | 'system parameter' | 'metadata' | 'not taken';
  }[];
  rows: string[][];
  count: number;
  problem: string | null;
}

const SHOWN = 5;

export function guessFormat(text: string, fileName = ''): FileFormat {
  if (/\.(?:jsonl|ndjson|json)$/i.test(fileName)) return 'jsonl';
  if (/\.(?:csv|tsv|txt)$/i.test(fileName)) return 'csv';
  return /^\s*[{["]/.test(text) ? 'jsonl' : 'csv';
}

export function previewOf(text: string, format: FileFormat): Preview {
  return format === 'csv' ? previewCsv(text) : previewJsonl(text);
}

function previewCsv(text: string): Preview {
  const [header = [], ...rows] = parseCsv(text.replace(/^\uFEFF/, ''));
  const hasInput = header.includes('input');
  const columns = header.map((name) => ({ name, becomes: columnOf(name, hasInput) }));
  const lost = columns.find(({ becomes }) => becomes === 'not taken');
  const problem =
    rows.length === 0
      ? 'There is a header, and no row below it.'
      : lost
        ? `Beside “input” no other column is taken: “${lost.name}” is. Call it “metadata.${lost.name}” or “system_params.${lost.name}”.`
        : null;
  return { format: 'csv', columns, rows: rows.slice(0, SHOWN), count: rows.length, problem };
}

function columnOf(name: string, hasInput: boolean): Preview['columns'][number]['becomes'] {
  if (name === 'input') return 'input';
  if (name.startsWith('system_params.')) return 'system parameter';
  if (name.startsWith('metadata.')) return 'metadata';
  return hasInput ? 'not taken' : 'part of the input';
}

function previewJsonl(text: string): Preview {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const read = lines.slice(0, SHOWN).map(lineOf);
  const bad = read.indexOf(null);
  const rows = read.map((row) => row ?? ['', '', '']);
  return {
    format: 'jsonl',
    columns: [
      { name: 'input', becomes: 'input' },
      { name: 'systemParams', becomes: 'system parameter' },
      { name: 'metadata', becomes: 'metadata' },
    ],
    rows,
    count: lines.length,
    problem: bad < 0 ? null : `Line ${bad + 1} is no JSON. It will be kept as a bad row.`,
  };
}

function lineOf(line: string): string[] | null {
  try {
    const value: unknown = JSON.parse(line);
    if (value === null || typeof value !== 'object' || !('input' in value)) return [shown(value), '', ''];
    const { input, systemParams, metadata } = value as Record<string, unknown>;
    return [shown(input), shown(systemParams), shown(metadata)];
  } catch {
    return null;
  }
}

const shown = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);

/** RFC 4180, with commas, semicolons or tabs. */
function parseCsv(text: string): string[][] {
  const separator = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endRow = () => {
    row.push(cell);
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
    cell = '';
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') {
        cell += '"';
        at++;
      } else isQuoted = false;
    } else if (sign === '"' && cell === '') isQuoted = true;
    else if (sign === separator) {
      row.push(cell);
      cell = '';
    } else if (sign === '\n') endRow();
    else if (sign !== '\r') cell += sign;
  }
  if (cell !== '' || row.length > 0) endRow();
  return rows;
}

function separatorOf(text: string): string {
  const header = text.slice(0, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n'));
  const counts = [',', ';', '\t'].map((sign) => ({ sign, count: header.split(sign).length }));
  return counts.reduce((most, one) => (one.count > most.count ? one : most)).sign;
}
