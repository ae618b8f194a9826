import type { Json } from '@troupe/protocol';
import { notFound } from '../../../base/index.ts';
import * as store from '../../../store/index.ts';

const PAGE = 500;
/** A row of a megabyte with 1,000 iterations is in 1,000 lines: pages are as many items as make about so much text. */
const PAGE_CHARS = 2_000_000;
const FIRST_PAGE = 16;

const COLUMNS = [
  'row',
  'iteration',
  'attempt',
  'status',
  'input',
  'metadata',
  'response',
  'error_code',
  'error_message',
  'run_id',
] as const;

/** The results as the text of a file, page by page: whoever reads slowly costs one page. */
export async function batchResults(
  db: store.Database,
  project: string,
  id: string,
  format: 'csv' | 'jsonl',
): Promise<ReadableStream<Uint8Array>> {
  if (!(await store.hasBatch(db.rows, project, id))) throw notFound('batch');
  const encoder = new TextEncoder();
  let after: { row: number; iteration: number } | undefined;
  let limit = FIRST_PAGE;
  let head = format === 'csv' ? line(COLUMNS) : '';
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const items = await store.listBatchItems(db.rows, id, { after, limit });
        after = items.at(-1);
        const isLast = items.length < limit;
        const text = head + items.map((item) => (format === 'csv' ? csvLine(item) : jsonLine(item))).join('');
        head = '';
        limit = nextLimit(limit, text.length);
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (isLast) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** By how long the lines of the last page were; the next ones may be longer, so that it grows step by step. */
function nextLimit(limit: number, chars: number): number {
  const fitting = Math.floor((limit * PAGE_CHARS) / Math.max(chars, 1));
  return Math.max(1, Math.min(fitting, limit * 4, PAGE));
}

function cellsOf(item: store.BatchItemRecord): Record<(typeof COLUMNS)[number], Json> {
  const { row, iteration, attempt, status, input, metadata, response, error, runId } = item;
  return {
    ...{ row, iteration, attempt, status, input, metadata, response },
    ...{ error_code: error?.code ?? null, error_message: error?.message ?? null, run_id: runId },
  };
}

function jsonLine(item: store.BatchItemRecord): string {
  return `${JSON.stringify(cellsOf(item))}\n`;
}

function csvLine(item: store.BatchItemRecord): string {
  const cells = cellsOf(item);
  const metadata = Object.keys(item.metadata).length === 0 ? null : item.metadata;
  return line(COLUMNS.map((column) => (column === 'metadata' ? metadata : cells[column])));
}

function line(cells: readonly Json[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

/** Models write these: what a spreadsheet would take for a formula is told to be text. */
function cellOf(value: Json): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n;\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
