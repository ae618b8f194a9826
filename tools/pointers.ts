/** Paths and symbols that documents and comments name. They must exist: a stale pointer costs a reader more than none. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const SERVER = 'packages/server/src';
const FILE = /^[\w.*<>…@-]*(?:\/[\w.*<>-]*)*\.(?:ts|tsx|sql|md|mjs|json|css)$/;
const SYMBOL = /^#?[A-Za-z_]\w*(?:\.\w+)*(?:\(\))?$/;
const SOURCES = '{packages/*/{src,test},apps/*/src,tools,bench}/**/*.{ts,tsx,sql}';

/** Pointers of a document that lead nowhere, as `line: pointer`. */
export function stalePointers(file: string): string[] {
  const stale: string[] = [];
  let inCode = false;
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    if (line.startsWith('```')) inCode = !inCode;
    if (inCode) continue;
    // A path may follow from an earlier one of its line: "`kernel/decide.ts`; `loop.ts` beside it".
    const folders = ['', SERVER, dirname(file)];
    const quoted = [...line.matchAll(/`([^`]+)`/g)];
    for (const [place, match] of quoted.entries()) {
      const text = match[1]!.replace(/^…\//, '');
      if (isPath(text)) {
        const found = find(text, folders);
        if (found) folders.push(...withParents(found));
        else stale.push(`${file}:${index + 1}: ${text}`);
      } else if (SYMBOL.test(text)) {
        const target = fileAfter(line, quoted, place);
        const found = target === undefined ? undefined : find(target, folders);
        const texts = found === undefined ? sources() : textsBelow(found);
        const word = new RegExp(`(?<!\\w)${wordOf(text)}(?!\\w)`);
        if (!texts.some((content) => word.test(content)))
          stale.push(`${file}:${index + 1}: ${text}${target ? ` in ${target}` : ''}`);
      }
    }
    for (const [, target] of line.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      if (!existsSync(join(root, dirname(file), target!))) stale.push(`${file}:${index + 1}: ${target}`);
  }
  return stale;
}

/** Files named in the comments of a source file that do not exist. */
export function staleComments(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const pattern = file.endsWith('.sql') ? /--.*$/gm : /\/\*\*?[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm;
  return [...text.matchAll(pattern)].flatMap(([comment]) =>
    [...comment.matchAll(/(?<![\w./:@~*-])[\w.<>*-]*(?:\/[\w.<>*-]+)*\.(?:ts|tsx|sql)\b(?!\.\w)/g)]
      .map(([path]) => path)
      .filter((path) => /\w/.test(path.replace(/\.\w+$/, '')))
      .filter((path) => !find(path, ['', SERVER, `${SERVER}/store`, ...withParents(file)]))
      .map((path) => `${file}: ${path}`),
  );
}

const isPath = (text: string) => FILE.test(text) || /^[\w.<>*-]+(?:\/[\w.<>*-]*)+$/.test(text);
const wordOf = (symbol: string) => symbol.replace(/\(\)$/, '').split('.').at(-1)!.replace(/^#/, '#?');

/** `a`, `b` in `file`: the file that the symbol at this place is said to be in. */
function fileAfter(line: string, quoted: RegExpMatchArray[], place: number): string | undefined {
  for (let next = place; next + 1 < quoted.length; next++) {
    const [one, other] = [quoted[next]!, quoted[next + 1]!];
    const between = line.slice(one.index! + one[0].length, other.index);
    if (/^ in $/.test(between) && isPath(other[1]!)) return other[1]!;
    if (!/^(, | and )$/.test(between) || isPath(other[1]!)) return undefined;
  }
  return undefined;
}

function find(path: string, folders: string[]): string | undefined {
  const pattern = path.replace(/<[^>]+>/g, '*').replace(/\/$/, '');
  for (const folder of folders.toReversed()) {
    const full = join(folder, pattern);
    if (full.includes('*')) {
      if (globSync(full, { cwd: root }).length > 0) return full;
    } else if (existsSync(join(root, full))) return full;
  }
  return undefined;
}

function withParents(path: string): string[] {
  const folders: string[] = [];
  const isFolder = existsSync(join(root, path)) && statSync(join(root, path)).isDirectory();
  for (let folder = isFolder ? path : dirname(path); folder !== '.'; folder = dirname(folder))
    folders.unshift(folder);
  return folders;
}

let all: string[] | undefined;
function sources(): string[] {
  all ??= globSync(SOURCES, { cwd: root, exclude: ['**/node_modules'] }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  return all;
}

function textsBelow(path: string): string[] {
  const isFolder = existsSync(join(root, path)) && statSync(join(root, path)).isDirectory();
  return globSync(isFolder ? `${path}/**/*.{ts,tsx,sql}` : path, { cwd: root }).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
}

export function sourceFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: root, exclude: ['**/node_modules'] })
    .map((path) => relative(root, resolve(root, path)).replaceAll('\\', '/'))
    .sort();
}
