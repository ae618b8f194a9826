import { setImmediate as othersFirst } from 'node:timers/promises';
import { type BatchRow, batchRow, type JsonObject } from '@troupe/protocol';
import { checkStorable, inWords, Refusal } from '../../../base/index.ts';
import { readCsv } from './csv.ts';

/** A row as it was given and where it stands, or what is wrong with it. */
export type GivenRow = { row: BatchRow; where: string } | { problem: string };

const AT_ONCE = 500;
const SYSTEM = 'system_params.';
const METADATA = 'metadata.';
/** What an object of a JSONL file may have beside its `input`. */
const FIELDS = Object.keys(batchRow.shape);
/** Written almost as it must be: what was meant as a system parameter shall reach no model as input. */
const ALMOST_SYSTEM = /^system[ _-]?param(eter)?s?(?![a-z0-9])/i;

/** The rows of a file, in their order, those that cannot be run included. */
export async function rowsOf(format: 'csv' | 'jsonl', data: string): Promise<GivenRow[]> {
  return format === 'csv' ? csvRows(data) : jsonlRows(data);
}

/** A hundred thousand take a second or two: others of the process have their turn meanwhile. */
async function each<Item>(items: readonly Item[], act: (item: Item) => GivenRow): Promise<GivenRow[]> {
  const given: GivenRow[] = [];
  for (const item of items) {
    given.push(act(item));
    if (given.length % AT_ONCE === 0) await othersFirst();
  }
  return given;
}

async function csvRows(data: string): Promise<GivenRow[]> {
  const { header, rows } = await readCsv(data);
  checkHeader(header);
  return each(rows, (row) =>
    'problem' in row
      ? { problem: `Line ${row.line} ${row.problem}.` }
      : checked(rowOf(header, row.cells), `Line ${row.line}`),
  );
}

/** An empty cell of a system parameter or of metadata: it is not given. */
function rowOf(header: string[], cells: string[]): JsonObject {
  const named = header.map((column, at) => [column, cells[at]!] as const);
  const below = (prefix: string) =>
    Object.fromEntries(
      named
        .filter(([column, cell]) => column.startsWith(prefix) && cell !== '')
        .map(([column, cell]) => [column.slice(prefix.length), cell]),
    );
  const own = named.filter(([column]) => !isPrefixed(column));
  const input = header.includes('input') ? own[0]![1] : Object.fromEntries(own);
  return { input, systemParams: below(SYSTEM), metadata: below(METADATA) };
}

const isPrefixed = (column: string) => column.startsWith(SYSTEM) || column.startsWith(METADATA);

/** What is wrong with the header is wrong with every row. */
function checkHeader(header: string[]): void {
  const own = header.filter((column) => !isPrefixed(column));
  const twice = header.find((column, at) => header.indexOf(column) !== at);
  const beside = own.find((column) => column !== 'input');
  const bare = header.find((column) => column === '' || column === SYSTEM || column === METADATA);
  const almost = own.find((column) => ALMOST_SYSTEM.test(column));
  if (own.length === 0) throw fileInvalid('The file has no column "input", and no other to take as input.');
  if (bare !== undefined) throw fileInvalid('The header has a column without a name.');
  if (twice !== undefined) throw fileInvalid(`The header has the column "${clip(twice)}" twice.`);
  if (almost !== undefined)
    throw fileInvalid(
      `The column "${clip(almost)}" looks like a system parameter: call it "${SYSTEM}" and its name.`,
    );
  // Taken for metadata, a system parameter whose column is named wrongly would be stored as it is.
  if (own.includes('input') && beside !== undefined)
    throw fileInvalid(
      `Beside "input" there is a column "${clip(beside)}": call it "${METADATA}${clip(beside)}" or "${SYSTEM}${clip(beside)}".`,
    );
}

function jsonlRows(data: string): Promise<GivenRow[]> {
  const lines = data
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((line, at) => ({ text: line.trim(), where: `Line ${at + 1}` }))
    .filter(({ text }) => text !== '');
  return each(lines, ({ text, where }) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { problem: `${where} is no JSON.` };
    }
    if (typeof value === 'string') return checked({ input: value }, where);
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      return { problem: `${where} is neither a text nor an object.` };
    const almost = Object.keys(value).find((key) => ALMOST_SYSTEM.test(key));
    if (almost !== undefined && almost !== 'systemParams')
      return {
        problem: `${where} has "${clip(almost)}": system parameters are an object called "systemParams".`,
      };
    if (!Object.hasOwn(value, 'input')) {
      if (almost === undefined) return checked({ input: value }, where);
      return { problem: `${where} has "${almost}" without "input": put what is asked into "input".` };
    }
    const beside = Object.keys(value).find((key) => !FIELDS.includes(key));
    if (beside !== undefined)
      return { problem: `${where} has "${clip(beside)}" beside "input": put it into "metadata".` };
    return checked(value, where);
  });
}

function checked(given: unknown, where: string): GivenRow {
  try {
    checkStorable(given);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { problem: `${where}: ${clip(error.message)}` };
  }
  const parsed = batchRow.safeParse(given, { error: inWords });
  if (parsed.success) return { row: parsed.data, where };
  const issue = parsed.error.issues[0]!;
  return { problem: `${where}: "${clip(issue.path.join('.'))}" ${emptyOr(given, issue.message)}.` };
}

/** A text that is missing is the most common mistake, and deserves its own words. */
function emptyOr(given: unknown, message: string): string {
  return (given as { input?: unknown }).input === '' ? 'is empty' : clip(message);
}

function clip(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200).toWellFormed()}…`;
}

function fileInvalid(message: string): Refusal {
  return new Refusal('invalid', 'file_invalid', message, {
    hint: 'A CSV begins with a header: "input", or names of fields; and "system_params.x", "metadata.x".',
    issues: [{ path: 'data', message }],
  });
}
