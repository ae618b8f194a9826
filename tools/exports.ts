/**
 * Checks that each name that a room of the server or `@troupe/server` publishes is imported by someone, and counts the names of the package.
 * Run it: `node tools/exports.ts` prints every violation and exits 1, or prints the number of names and exits 0.
 * A room publishes to other rooms. Its own files and the tests of the server import files directly, so they do not count.
 * `@troupe/server` publishes to other packages, their tests, bench, examples and tools.
 * Start reading: `checkExports`.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Names, readNames } from './exports/names.ts';
import { findRoom, rooms, sourceFiles, type Violation } from './rooms.ts';

const server = 'packages/server/src/';

interface Entry {
  file: string;
  room: string;
  /** How other packages import it; undefined for the index of a room. */
  specifier?: string;
}

export interface Published {
  violations: Violation[];
  /** How many names each entry of `@troupe/server` has, by its specifier. */
  counts: Record<string, number>;
}

export function checkExports(root: string): Published {
  const read = new Map<string, Names>();
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
  const namesOf = (file: string) => {
    const known = read.get(file) ?? readNames(file, textOf(file));
    read.set(file, known);
    return known;
  };
  const sources = sourceFiles(root);
  const others = [
    ...globSync('{packages,apps}/*/test/**/*.{ts,tsx}', { cwd: root }),
    ...globSync('{bench,examples,tools}/**/*.{ts,tsx}', { cwd: root, exclude: ['**/node_modules'] }),
  ].filter((file) => !file.startsWith('packages/server/'));
  const counts: Published['counts'] = {};
  const violations = entriesIn(sources).flatMap((entry) => {
    const { exported } = namesOf(entry.file);
    if (entry.specifier) counts[entry.specifier] = exported.length;
    const readers = entry.specifier
      ? [...sources, ...others].filter((file) => !file.startsWith(server))
      : sources.filter((file) => findRoom(file)?.name !== entry.room);
    const used = new Set(readers.flatMap((file) => importedFrom(entry, file, namesOf(file))));
    return exported
      .filter(({ name }) => !used.has(name))
      .map(({ name, at }) => ({
        file: entry.file,
        line: textOf(entry.file).slice(0, at).split('\n').length,
        message: name === '*' ? 'exports *: list the names' : `exports ${name}, which nobody imports`,
      }));
  });
  return { violations, counts };
}

function entriesIn(sources: string[]): Entry[] {
  const entries: Entry[] = [];
  for (const [room, { paths, package: name, entries: named = ['index.ts'] }] of Object.entries(rooms)) {
    if (!paths[0]!.startsWith(server)) continue;
    if (name === undefined) {
      entries.push({ file: `${paths.find((path) => path.endsWith('/'))}index.ts`, room });
      continue;
    }
    for (const entry of named) {
      const isIndex = entry === 'index.ts';
      entries.push({
        file: `${server}${isIndex ? entry : `${entry}.ts`}`,
        room,
        specifier: isIndex ? name : `${name}/${entry}`,
      });
    }
  }
  return entries.filter(({ file }) => sources.includes(file));
}

function importedFrom({ file: entry, specifier }: Entry, file: string, { imported }: Names): string[] {
  const leadsToEntry = (from: string) =>
    from.startsWith('.') ? posix.join(dirname(file), from) === entry : from === specifier;
  return imported.filter(({ from }) => leadsToEntry(from)).map(({ name }) => name);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { violations, counts } = checkExports(resolve(import.meta.dirname, '..'));
  for (const { file, line, message } of violations) console.log(`${file}:${line}  ${message}`);
  if (violations.length > 0) process.exitCode = 1;
  else {
    const parts = Object.entries(counts).map(([specifier, count]) => `${specifier} ${count}`);
    console.log(`published names: ${parts.join(', ')}`);
  }
}
