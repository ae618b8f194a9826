import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

// The `Called by:` lines of store/functions are generated from the sources, so that nobody maintains them by hand.

const root = resolve(import.meta.dirname, '../..');
const STORE = 'packages/server/src/store';
export const FUNCTIONS = `${STORE}/functions`;
const MAX_WIDTH = 120;
const CALLED_BY = /^-- Called by:.*\n(?:--.*\n)*/m;

export interface SqlFile {
  /** From the root of the repository. */
  path: string;
  text: string;
}

export function readFunctionFiles(): SqlFile[] {
  return read(`${FUNCTIONS}/**/*.sql`);
}

/** The text of every function file with its `Called by:` lines made from the sources, by path. */
export function withCallers(): Record<string, string> {
  const files = readFunctionFiles();
  const callers = findCallers(files);
  return Object.fromEntries(
    files.map(({ path, text }) => [path, text.replace(CALLED_BY, render(callers.get(nameOf(path)) ?? []))]),
  );
}

/** For each function: `trigger`, `troupe.<function>` and files of the store, in this order. */
export function findCallers(files: SqlFile[]): Map<string, string[]> {
  const callers = new Map<string, Set<string>>(files.map(({ path }) => [nameOf(path), new Set()]));
  for (const { path, text } of files) {
    const own = nameOf(path);
    for (const name of called(text.replace(/--.*$/gm, ''))) {
      if (name !== own) callers.get(name)?.add(`troupe.${own}`);
      else if (text.includes(`execute function troupe.${own}(`)) callers.get(own)!.add('trigger');
    }
  }
  for (const { path, text } of [...read(`${STORE}/migrations/*.sql`), ...read(`${STORE}/**/*.ts`)])
    for (const name of called(text)) callers.get(name)?.add(path.slice(`${STORE}/`.length - 'store/'.length));
  const rank = (caller: string) => (caller === 'trigger' ? 0 : caller.startsWith('troupe.') ? 1 : 2);
  return new Map(
    [...callers].map(([name, found]) => [
      name,
      [...found].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)),
    ]),
  );
}

/** Names of functions that a text calls, or hands over by name (`'troupe.task_path'`). */
function called(text: string): Set<string> {
  return new Set([...text.matchAll(/\btroupe\.(\w+)(?=\(|'[,)])/g)].map((match) => match[1]!));
}

function render(callers: string[]): string {
  const lines: string[] = ['-- Called by:'];
  for (const [index, caller] of callers.entries()) {
    const word = `${caller}${index < callers.length - 1 ? ',' : '.'}`;
    if (lines.at(-1)!.length + word.length < MAX_WIDTH) lines[lines.length - 1] += ` ${word}`;
    else lines.push(`--   ${word}`);
  }
  return `${lines.join('\n')}\n`;
}

export function nameOf(path: string): string {
  return /([^/]+)\.sql$/.exec(path)![1]!;
}

function read(pattern: string): SqlFile[] {
  return globSync(pattern, { cwd: root })
    .sort()
    .map((path) => ({ path: path.replaceAll('\\', '/'), text: readFileSync(join(root, path), 'utf8') }));
}
