import { FILE_LIMITS } from '@troupe/protocol/files';
import { notFound, Refusal, TroupeError } from '../../base/index.ts';
import type { Database } from '../database.ts';

// Every write is one call of one function: it locks the totals of the thread, so that the limits hold however many write at once.

/** The run that writes, as its worker holds it: what a worker that lost the run writes is refused. Null: a person writes. */
export interface Fence {
  runId: string;
  epoch: number;
  worker: string;
}

export interface FileRow {
  path: string;
  size: number;
  type: string;
  createdAt: Date;
  updatedAt: Date;
}

const FILE = `f.path, octet_length(f.content) as size, f.type, f.created_at as "createdAt", f.updated_at as "updatedAt"`;

type Verdict =
  | { ok: true; created?: boolean; createdAt?: string; updatedAt?: string; deleted?: number }
  | { ok: false; code: string };

export async function writeFile(
  db: Database,
  thread: string,
  fence: Fence | null,
  { path, content, type }: { path: string; content: Uint8Array; type: string },
): Promise<FileRow & { created: boolean }> {
  const verdict = await ask(
    db,
    'write_file',
    'select troupe.write_file($1, $2, $3, $4, $5, $6, $7, $8, $9) as verdict',
    [thread, ...fenced(fence), path, asBuffer(content), type, FILE_LIMITS.files, FILE_LIMITS.totalBytes],
  );
  return {
    path,
    size: content.byteLength,
    type,
    createdAt: new Date(verdict.createdAt!),
    updatedAt: new Date(verdict.updatedAt!),
    created: verdict.created!,
  };
}

/** With `recursive`, all that is below the path where it is a directory. Answers how many files are gone. */
export async function deleteFiles(
  db: Database,
  thread: string,
  fence: Fence | null,
  path: string,
  recursive: boolean,
): Promise<number> {
  const verdict = await ask(
    db,
    'delete_files',
    'select troupe.delete_files($1, $2, $3, $4, $5, $6) as verdict',
    [thread, ...fenced(fence), path, recursive],
  );
  return verdict.deleted!;
}

/** A content of null: the file is to go. All of the changes or none. */
export interface FileChange {
  path: string;
  content: Uint8Array | null;
  type: string;
}

export async function changeFiles(
  db: Database,
  thread: string,
  fence: Fence | null,
  changes: readonly FileChange[],
): Promise<void> {
  await ask(
    db,
    'change_files',
    'select troupe.change_files($1, $2, $3, $4, $5::text[], $6::bytea[], $7::text[], $8, $9) as verdict',
    [
      thread,
      ...fenced(fence),
      changes.map(({ path }) => path),
      changes.map(({ content }) => content && asBuffer(content)),
      changes.map(({ type }) => type),
      FILE_LIMITS.files,
      FILE_LIMITS.totalBytes,
    ],
  );
}

export async function readFile(
  db: Database,
  thread: string,
  path: string,
): Promise<(FileRow & { content: Buffer }) | null> {
  const rows = await db.run<FileRow & { content: Buffer }>(
    {
      name: 'read_file',
      text: `select ${FILE}, f.content from troupe.files f where f.thread_id = $1 and f.path = $2`,
      values: [thread, path],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The file of that path, or all below it where it is a directory; by path. */
export async function listFiles(db: Database, thread: string, path: string): Promise<FileRow[]> {
  return db.run<FileRow>(
    {
      name: 'list_files',
      text: `select ${FILE} from troupe.files f where f.thread_id = $1 and (f.path = $2 or starts_with(f.path, rtrim($2, '/') || '/'))
        order by f.path collate "C"`,
      values: [thread, path],
    },
    db.pool,
  );
}

export async function fileTotals(db: Database, thread: string): Promise<{ files: number; bytes: number }> {
  const rows = await db.run<{ files: number; bytes: number }>(
    {
      name: 'file_totals',
      text: 'select files, bytes from troupe.file_totals where thread_id = $1',
      values: [thread],
    },
    db.pool,
  );
  return rows[0] ?? { files: 0, bytes: 0 };
}

async function ask(db: Database, name: string, text: string, values: unknown[]) {
  const rows = await db.run<{ verdict: Verdict }>({ name, text, values }, db.pool);
  const { verdict } = rows[0]!;
  if (!verdict.ok) throw refusalOf(verdict.code);
  return verdict;
}

const fenced = (fence: Fence | null) => [fence?.runId ?? null, fence?.epoch ?? null, fence?.worker ?? null];
const asBuffer = (content: Uint8Array) =>
  Buffer.isBuffer(content) ? content : Buffer.from(content.buffer, content.byteOffset, content.byteLength);

/** How it is said to a person and, since a tool's error is read by a model, to a model. */
export function refusalOf(code: string): TroupeError {
  switch (code) {
    case 'thread_not_found':
      return notFound('session');
    case 'file_not_found':
      return new Refusal('not_found', code, 'There is no such file. Look at the list of files.');
    case 'is_a_directory':
      return new Refusal(
        'conflict',
        code,
        'The path is a directory. Name a file in it, or say recursive to delete it.',
      );
    case 'not_a_directory':
      return new Refusal(
        'conflict',
        code,
        'A part of the path is a file, and a file has no files in it. Choose another path.',
      );
    case 'too_many_files':
      return new Refusal(
        'conflict',
        code,
        `There are ${FILE_LIMITS.files} files already, which is the most. Delete some first.`,
      );
    case 'files_full':
      return new Refusal(
        'conflict',
        code,
        `All files together may have ${FILE_LIMITS.totalBytes} bytes, and this one would exceed it. Delete some first.`,
      );
    default:
      return new TroupeError(code, 'The run is no longer with this worker; nothing was written.');
  }
}
