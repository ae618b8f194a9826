import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { json } from '../output.ts';
import type { Command } from './command.ts';

/** Writes the project to a file, which has its name only when it is complete. */
export const exportTo: Command = async ({ troupe, terminal, words, options }) => {
  const [file] = words as [string];
  const body = await troupe.exportProject();
  await pipeline(Readable.fromWeb(body as ReadableStream), createWriteStream(`${file}.part`));
  await rename(`${file}.part`, file);
  terminal.out(options.json ? json({ file }) : `Exported the project to ${file}\n`);
};
