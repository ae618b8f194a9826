import { notFound } from '../base/index.ts';
import * as store from '../store/index.ts';

/** The first line of an export. */
export interface ExportHeader {
  troupe: 'export';
  version: 1;
  kind: 'project' | 'session' | 'person';
  id: string;
  schema: number;
  exportedAt: string;
  /** Of a project: what the export does not have. */
  leftOut?: { liveRuns: number; secrets: string[] };
}

/** Lines of JSON: the header, a line for each row, and `{"end": true, "rows": …}`. */
async function* lines(
  db: store.Database,
  header: Omit<ExportHeader, 'troupe' | 'version' | 'schema' | 'exportedAt'>,
  tables: readonly store.ExportTable[],
): AsyncGenerator<string> {
  const first: ExportHeader = {
    troupe: 'export',
    version: 1,
    ...header,
    schema: await store.schemaVersion(db),
    exportedAt: new Date().toISOString(),
  };
  yield `${JSON.stringify(first)}\n`;
  let count = 0;
  for await (const rows of store.exportRows(db, tables, header.id)) {
    count += rows.length;
    yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  }
  yield `${JSON.stringify({ end: true, rows: count })}\n`;
}

export async function* exportProject(db: store.Database, project: string): AsyncGenerator<string> {
  yield* lines(
    db,
    { kind: 'project', id: project, leftOut: await store.leftOut(db, project) },
    store.PROJECT_TABLES,
  );
}

export async function exportSession(db: store.Database, session: string): Promise<AsyncGenerator<string>> {
  return lines(db, { kind: 'session', id: session }, store.SESSION_TABLES);
}

export async function exportPerson(
  db: store.Database,
  project: string,
  entity: string,
): Promise<AsyncGenerator<string>> {
  const found = await store.findEntity(db, project, entity);
  if (found?.type !== 'human') throw notFound('entity');
  return lines(db, { kind: 'person', id: entity }, store.PERSON_TABLES);
}

/** As a body that is read no faster than it is sent. Nothing is read before somebody asks, and the transaction ends with the reader. */
export function toBody(text: AsyncGenerator<string>): ReadableStream {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await text.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await text.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
