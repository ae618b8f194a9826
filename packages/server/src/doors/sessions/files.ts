import { directoryPath, filePath, fileType } from '../../base/index.ts';
import type { Parts, Who } from '../../runs/index.ts';
import * as store from '../../store/index.ts';
import { getSession, type SessionAddress } from './actions.ts';

// What people do with the files of a session; agents use the tools of the capability file_system. The session is looked for
// first: whoever may not see it is told nothing about paths.

type Given = Pick<Parts, 'db'>;

export async function listFiles(parts: Given, who: Who, address: SessionAddress, path = '/') {
  const { threadId } = await getSession(parts, who, address);
  const data = await store.listFiles(parts.db, threadId, directoryPath(path));
  return { data, totals: await store.fileTotals(parts.db, threadId) };
}

export async function readFile(parts: Given, who: Who, address: SessionAddress, path: string) {
  const { threadId } = await getSession(parts, who, address);
  const normal = directoryPath(path);
  const file = await store.readFile(parts.db, threadId, normal);
  if (file) return file;
  const below = await store.listFiles(parts.db, threadId, normal);
  throw store.refusalOf(below.length > 0 || normal === '/' ? 'is_a_directory' : 'file_not_found');
}

export async function writeFile(
  parts: Given,
  who: Who,
  address: SessionAddress,
  given: string,
  content: Uint8Array,
): Promise<store.FileRow> {
  const { threadId } = await getSession(parts, who, address);
  const path = filePath(given);
  return store.writeFile(parts.db, threadId, null, { path, content, type: fileType(path, content) });
}

export async function deleteFiles(
  parts: Given,
  who: Who,
  address: SessionAddress,
  { path, recursive }: { path: string; recursive: boolean },
): Promise<void> {
  const { threadId } = await getSession(parts, who, address);
  await store.deleteFiles(parts.db, threadId, null, directoryPath(path), recursive);
}

export async function getTodos(parts: Given, who: Who, address: SessionAddress) {
  const { threadId } = await getSession(parts, who, address);
  return store.readTodos(parts.db, threadId);
}

export async function getFindings(parts: Given, who: Who, address: SessionAddress) {
  const { threadId } = await getSession(parts, who, address);
  return store.listFindings(parts.db, who.project, threadId);
}
