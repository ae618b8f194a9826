import type { Json } from '@troupe/protocol';
import { notFound } from '../../../base/index.ts';
import * as store from '../../../store/index.ts';

const PAGE = 500;

const COLUMNS = [
  'row',
  'iteration',
  'attempt',
  'status',
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
  let head = format === 'csv' ? line(COLUMNS) : '';
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const items = await store.listBatchItems(db.rows, id, { after, limit: PAGE });
        after = items.at(-1);
        const text = head + items.map((item) => (format === 'csv' ? csvLine(item) : jsonLine(item))).join('');
        head = '';
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (items.length < PAGE) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

function cellsOf(item: store.BatchItemRecord): Record<(typeof COLUMNS)[number], Json> {
  const { row, iteration, attempt, status, response, error, runId } = item;
  return {
    ...{ row, iteration, attempt, status, response },
    ...{ error_code: error?.code ?? null, error_message: error?.message ?? null, run_id: runId },
  };
}

function jsonLine(item: store.BatchItemRecord): string {
  return `${JSON.stringify(cellsOf(item))}\n`;
}

function csvLine(item: store.BatchItemRecord): string {
  const cells = cellsOf(item);
  return line(COLUMNS.map((column) => cells[column]));
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
