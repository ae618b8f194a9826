import { Refusal } from './errors.ts';

const LONGEST_NAME = 255;
const LONGEST_PATH = 1_000;
const DEEPEST = 32;

/** Characters that are drawn like a slash or a backslash and are none. */
const LOOK_ALIKES = /[\u2044\u2215\u29f8\u2571\u2216\u29f5\u29f9\u2572]/u;
/** Invisible or without a place on a line: control and format characters, line and paragraph separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** Dots, slashes, NUL and the percent sign itself, as addresses write them. */
const ENCODED = /%(?:2e|2f|5c|00|25|c0|u)/i;

/** A file of a thread, by the one way to write its path; what is no such path is refused. Files are rows: no path leads out of the thread. */
export function filePath(given: unknown): string {
  const path = directoryPath(given);
  if (path === '/') throw invalid('is the directory of all files, not a file');
  return path;
}

/** A directory, which `/` is too. Absolute, in NFC, without empty names; relative to `/` where it does not begin there. */
export function directoryPath(given: unknown): string {
  if (typeof given !== 'string') throw invalid('must be text');
  if (given === '') throw invalid('is empty');
  if (given.length > LONGEST_PATH) throw invalid(`is longer than ${LONGEST_PATH} bytes`);
  if (!given.isWellFormed()) throw invalid('has half of a character');
  const path = given.normalize('NFC');
  if (UNSEEN.test(path)) throw invalid('has a character that cannot be seen');
  if (path.includes('\\')) throw invalid('has a backslash; directories are separated by /');
  if (LOOK_ALIKES.test(path)) throw invalid('has a character that only looks like a slash');
  if (ENCODED.test(path)) throw invalid('has an encoded character such as %2e; write it as it is');
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  for (const name of names) checkName(name);
  if (names.length > DEEPEST) throw invalid(`is deeper than ${DEEPEST} directories`);
  const normal = `/${names.join('/')}`;
  if (Buffer.byteLength(normal) > LONGEST_PATH) throw invalid(`is longer than ${LONGEST_PATH} bytes`);
  return normal;
}

function checkName(name: string): void {
  // As systems that fold characters would read it: full-width dots and slashes become what they look like.
  const folded = name.normalize('NFKC');
  if (/^\.+$/.test(folded)) throw invalid('must not contain the name ".."; write the whole path from /');
  if (/[/\\]/.test(folded)) throw invalid('has a character that only looks like a slash');
  if (name !== name.trim()) throw invalid('has a name that begins or ends with a space');
  if (folded.endsWith('.')) throw invalid('has a name that ends with a dot');
  if (Buffer.byteLength(name) > LONGEST_NAME) throw invalid(`has a name longer than ${LONGEST_NAME} bytes`);
}

function invalid(message: string): Refusal {
  return new Refusal('invalid', 'path_invalid', `The path ${message}. Give a path such as /notes/plan.md.`, {
    issues: [{ path: 'path', message }],
  });
}
