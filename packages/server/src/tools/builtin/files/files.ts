import { FILE_LIMITS, type Json } from '@troupe/protocol';
import { directoryPath, filePath, TroupeError, textIn } from '../../../base/index.ts';
import type { ToolExecute } from '../../../kernel/ports.ts';
import type { FileInfo, Files } from '../../ports.ts';
import { argumentsOf } from './arguments.ts';
import { grep } from './grep.ts';

/** What one call reads of a file, and shows of a directory, at most. */
const READ_BYTES = 65_536;
const LIST_CHARACTERS = 60_000;

/** The tools of the capability file_system, by name. Paths are judged by `filePath`, limits by the statement that writes. */
export function fileTools(files: Files): Record<string, ToolExecute> {
  return {
    read_file: async (args, { threadId }) => {
      const { path, encoding, offset = 0, limit = READ_BYTES } = argumentsOf(args);
      const file = await found(files, threadId, filePath(path));
      const whole = textIn(file.content);
      const asText = encoding === undefined ? whole !== null : encoding === 'utf-8';
      if (asText && whole === null)
        throw new TroupeError('not_text', 'The file is no text. Read it with the encoding base64.');
      const start = Math.min(Number(offset), file.size);
      let end = Math.min(start + Math.min(Number(limit), READ_BYTES), file.size);
      // Text is never cut within a character.
      if (asText) while (end < file.size && end > start && (file.content[end]! & 0xc0) === 0x80) end--;
      const part = file.content.subarray(start, end);
      return {
        path: file.path,
        content: asText ? part.toString('utf8') : part.toString('base64'),
        encoding: asText ? 'utf-8' : 'base64',
        size: file.size,
        ...(end < file.size ? { truncated: true, nextOffset: end } : {}),
      };
    },
    write_file: async (args, context) => {
      const given = argumentsOf(args);
      const path = filePath(given.path);
      const content = contentOf(String(given.content), given.encoding);
      const { created } = await files.write(context, path, content);
      return { path, size: content.length, created };
    },
    list_directory: async (args, { threadId }) => {
      const path = directoryPath(argumentsOf(args).path ?? '/');
      const below = await files.list(threadId, path);
      if (below.some((file) => file.path === path))
        throw new TroupeError('not_a_directory', 'The path is a file. Use stat_file or read_file.');
      if (below.length === 0 && path !== '/') throw absent();
      return listing(path, below);
    },
    stat_file: async (args, { threadId }) => {
      const path = directoryPath(argumentsOf(args).path);
      const below = await files.list(threadId, path);
      const file = below.find((one) => one.path === path);
      if (file) {
        const { size, type, createdAt, updatedAt } = file;
        const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
        return { path, kind: 'file', size, type, ...times };
      }
      if (below.length === 0 && path !== '/') throw absent();
      const size = below.reduce((sum, one) => sum + one.size, 0);
      return { path, kind: 'directory', files: below.length, size };
    },
    delete_file: async (args, context) => {
      const { path: given, recursive } = argumentsOf(args);
      const path = directoryPath(given);
      try {
        return { path, deleted: await files.delete(context, path, recursive === true) };
      } catch (error) {
        // Tried again after a crash: the first try may have deleted it.
        const again = context.attempt > 1 && error instanceof TroupeError && error.code === 'file_not_found';
        if (again) return { path, deleted: 0 };
        throw error;
      }
    },
    grep_files: (args, context) => grep(files, argumentsOf(args), context),
  };
}

async function found(files: Files, thread: string, path: string) {
  const file = await files.read(thread, path);
  if (file) return file;
  if ((await files.list(thread, path)).length > 0)
    throw new TroupeError('is_a_directory', 'The path is a directory. Use list_directory.');
  throw absent();
}

export function absent(): TroupeError {
  return new TroupeError(
    'file_not_found',
    'There is no such file. list_directory shows those that there are.',
  );
}

function contentOf(text: string, encoding: Json | undefined): Buffer {
  const { toolFileBytes } = FILE_LIMITS;
  const tooLarge = () =>
    new TroupeError(
      'file_too_large',
      `A file may have ${toolFileBytes} bytes. Write less, or several files.`,
    );
  // Before anything is copied: no encoding makes fewer bytes than three of four characters.
  if (text.length > toolFileBytes * 2) throw tooLarge();
  if (encoding === 'base64' && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text))
    throw new TroupeError('not_base64', 'The content is not base64.');
  const content = Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8');
  if (content.length > toolFileBytes) throw tooLarge();
  return content;
}

/** What is directly in the directory. A directory is there because a file is below it. */
function listing(path: string, below: FileInfo[]) {
  const prefix = path === '/' ? '/' : `${path}/`;
  const entries = new Map<string, { name: string; kind: string; size: number }>();
  for (const file of below) {
    const [name, ...rest] = file.path.slice(prefix.length).split('/');
    const entry = entries.get(name!);
    if (entry) entry.size += file.size;
    else entries.set(name!, { name: name!, kind: rest.length > 0 ? 'directory' : 'file', size: file.size });
  }
  const shown: { name: string; kind: string; size: number }[] = [];
  let room = LIST_CHARACTERS;
  for (const entry of entries.values()) {
    room -= entry.name.length + 50;
    if (room < 0) break;
    shown.push(entry);
  }
  return { path, entries: shown, total: entries.size, truncated: shown.length < entries.size };
}
