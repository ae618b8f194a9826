import { createReadStream } from 'node:fs';
import { StartupError } from '../base/index.ts';
import * as store from '../store/index.ts';
import type { ExportHeader } from './export.ts';

type Line = ExportHeader | { end: true; rows: number } | { table: string; row: Record<string, unknown> };

const MAX_ROWS = 200;
const MAX_BYTES = 4_000_000;

/**
 * Makes a project of an export, with the same ids. The file is read twice. An import that was interrupted is continued by
 * repeating it; one that is done is refused.
 */
export async function importProject(
  db: store.Database,
  file: string,
  { name }: { name?: string | undefined } = {},
): Promise<{ project: string; rows: number; leftOut: ExportHeader['leftOut'] }> {
  const header = await checked(file);
  const schema = await store.schemaVersion(db);
  if (header.schema > schema)
    throw refusal(
      `The export is of schema ${header.schema}, this server has ${schema}.`,
      'Upgrade the server first.',
    );
  const state = await store.findImport(db, header.id);
  if (state === 'done' || state === 'own')
    throw refusal(
      state === 'done'
        ? `The project ${header.id} was imported before.`
        : `The project ${header.id} belongs to this server.`,
      'An import keeps all ids, so a server has a project once. Import it into another server.',
    );
  let rows = 0;
  for await (const [table, batch] of batches(file, store.isImported)) {
    const isForeign = (row: Record<string, unknown>) =>
      table === 'projects' ? row['id'] !== header.id : 'project_id' in row && row['project_id'] !== header.id;
    if (batch.some(isForeign)) throw refusal('The export has rows of another project.', 'Export it again.');
    rows += batch.length;
    if (table !== 'projects') await store.importRows(db, table, batch);
    else if (state === null) {
      const project: Record<string, unknown> = { ...batch[0]!, ...(name === undefined ? {} : { name }) };
      if (!(await store.beginImport(db, project)))
        throw refusal(
          `Another project is called "${String(project['name'])}".`,
          'Give the import a name of its own: --name <name>.',
        );
    }
  }
  for await (const [table, batch] of batches(file, store.isLate)) await store.completeRows(db, table, batch);
  await store.endImport(db, header.id, rows);
  return { project: header.id, rows, leftOut: header.leftOut };
}

/** The header, if the file is whole: a truncated one has no end. */
async function checked(file: string): Promise<ExportHeader> {
  let header: ExportHeader | undefined;
  let rows = 0;
  let end: number | undefined;
  for await (const line of linesOf(file)) {
    if ('troupe' in line) header = line;
    else if ('end' in line) end = line.rows;
    else rows++;
  }
  if (header?.version !== 1 || header.kind !== 'project')
    throw refusal('The file is no export of a project.', 'Make one with GET /v1/export.');
  if (end !== rows) throw refusal('The file is not complete.', 'Export the project again.');
  return header;
}

async function* linesOf(file: string): AsyncGenerator<Line> {
  let rest = '';
  // Texts may contain other characters that end a line for `readline`, such as U+2028.
  for await (const part of createReadStream(file, 'utf8')) {
    const lines = (rest + part).split('\n');
    rest = lines.pop()!;
    for (const text of lines) yield parsed(text);
  }
  if (rest !== '') yield parsed(rest);
}

function parsed(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    throw refusal('The file is not complete, or is no export.', 'Export the project again.');
  }
}

/** Rows of one table each, bounded by number and size. */
async function* batches(
  file: string,
  isWanted: (table: string) => boolean,
): AsyncGenerator<[table: string, rows: Record<string, unknown>[]]> {
  let table = '';
  let rows: Record<string, unknown>[] = [];
  let bytes = 0;
  for await (const line of linesOf(file)) {
    if (!('table' in line) || !isWanted(line.table)) continue;
    if (rows.length > 0 && (line.table !== table || rows.length >= MAX_ROWS || bytes >= MAX_BYTES)) {
      yield [table, rows];
      rows = [];
      bytes = 0;
    }
    table = line.table;
    rows.push(line.row);
    bytes += JSON.stringify(line.row).length;
  }
  if (rows.length > 0) yield [table, rows];
}

function refusal(message: string, hint: string): StartupError {
  return new StartupError('import_refused', message, { hint });
}
