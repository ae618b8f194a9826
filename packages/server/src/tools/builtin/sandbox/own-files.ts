import { FILE_LIMITS } from '@troupe/protocol';
import { directoryPath, filePath, TroupeError, textIn } from '../../../base/index.ts';
import type { Files } from '../../ports.ts';
import { absent } from '../files/files.ts';
import type { FileRequest } from './process.ts';

const MOST_CHANGES = 200;
const MOST_BYTES = 8 * 1024 * 1024;

/** The files as the code sees them: those of the thread, and over them what the code has changed and nobody else sees yet. */
export class OwnFiles {
  readonly changes = new Map<string, Buffer | null>();
  readonly #files: Files;
  readonly #thread: string;
  #bytes = 0;

  constructor(files: Files, thread: string) {
    this.#files = files;
    this.#thread = thread;
  }

  async answer({ ask, path, text, base64 }: FileRequest): Promise<string> {
    switch (ask) {
      case 'list':
        return JSON.stringify(await this.#list(directoryPath(path)));
      case 'read': {
        const found = textIn(await this.#read(filePath(path)));
        if (found === null) throw new TroupeError('not_text', 'The file is no text. Use files.readBytes.');
        return found;
      }
      case 'readBytes':
        return (await this.#read(filePath(path))).toString('base64');
      case 'write':
        this.#change(
          filePath(path),
          Buffer.from(text ?? base64 ?? '', text === undefined ? 'base64' : 'utf8'),
        );
        return '';
      case 'delete': {
        const file = filePath(path);
        await this.#read(file);
        this.#change(file, null);
        // Written and deleted again: for everybody else there never was such a file.
        if (!(await this.#files.read(this.#thread, file))) this.changes.delete(file);
        return '';
      }
    }
  }

  #change(path: string, content: Buffer | null): void {
    const { toolFileBytes } = FILE_LIMITS;
    const size = content?.length ?? 0;
    if (size > toolFileBytes)
      throw new TroupeError('file_too_large', `A file may have ${toolFileBytes} bytes.`);
    const bytes = this.#bytes - (this.changes.get(path)?.length ?? 0) + size;
    if (bytes > MOST_BYTES)
      throw new TroupeError('files_full', `One run of code may write ${MOST_BYTES} bytes in all.`);
    if (!this.changes.has(path) && this.changes.size >= MOST_CHANGES)
      throw new TroupeError('too_many_files', `One run of code may change ${MOST_CHANGES} files.`);
    this.#bytes = bytes;
    this.changes.set(path, content);
  }

  async #read(path: string): Promise<Buffer> {
    const changed = this.changes.get(path);
    if (changed) return changed;
    const file = changed === null ? null : await this.#files.read(this.#thread, path);
    if (!file) throw absent();
    // More than this does not go through the pipe, nor into the memory of the code.
    if (file.size > 2 * FILE_LIMITS.toolFileBytes)
      throw new TroupeError('file_too_large', 'The file is too large to be read by code.');
    return file.content;
  }

  async #list(path: string): Promise<{ path: string; size: number }[]> {
    const listed = new Map(
      (await this.#files.list(this.#thread, path)).map((file) => [file.path, file.size]),
    );
    const prefix = path === '/' ? '/' : `${path}/`;
    for (const [changed, content] of this.changes) {
      if (changed !== path && !changed.startsWith(prefix)) continue;
      if (content) listed.set(changed, content.length);
      else listed.delete(changed);
    }
    return [...listed].sort().map(([file, size]) => ({ path: file, size }));
  }
}
