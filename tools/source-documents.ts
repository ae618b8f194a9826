/**
 * Writes docs/source-documents.md: every requirement of the five source documents with the tests that show it.
 * Run it: `node tools/source-documents.ts` checks and exits 1 on a problem; with `--write` it writes the page.
 * The requirements are in tools/source-documents/<number>.ts. A test is named as `<file> > <title>`: the path below
 * packages/server/test without ".test.ts" (or from the root on), and the title as it is written. A renamed or deleted
 * test is a problem, so the page cannot drift.
 * Start reading: `checkDocuments`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dataModel } from './source-documents/000.ts';
import { blueprint } from './source-documents/001.ts';
import { networks } from './source-documents/002.ts';
import { sessions } from './source-documents/003.ts';
import { tasks } from './source-documents/004.ts';
import type { Requirement, SourceDocument } from './source-documents/document.ts';
import { readTitles } from './source-documents/titles.ts';

export const PAGE = 'docs/source-documents.md';
export const documents: readonly SourceDocument[] = [dataModel, blueprint, networks, sessions, tasks];

const SEPARATOR = ' > ';

/** The whole title of a test, groups included, by its own title; null if there is no such file. */
type TitlesIn = (file: string) => ReadonlyMap<string, string> | null;

function titlesBelow(root: string): TitlesIn {
  const known = new Map<string, ReadonlyMap<string, string> | null>();
  return (file) => {
    const path = join(root, file);
    if (!known.has(file)) known.set(file, existsSync(path) ? wholeTitles(path) : null);
    return known.get(file)!;
  };
}

function wholeTitles(path: string): ReadonlyMap<string, string> {
  return new Map(readTitles(path).map(({ title, groups }) => [title, [...groups, title].join(': ')]));
}

/** Everything that is wrong with the lists: ids, and tests that do not exist. */
export function checkDocuments(root: string, all: readonly SourceDocument[]): string[] {
  const titlesIn = titlesBelow(root);
  const ids = new Set<string>();
  return all.flatMap(({ number, sections }) =>
    sections
      .flatMap(({ requirements }) => requirements)
      .flatMap(({ id, tests, open }) => {
        const problems: string[] = [];
        if (ids.has(id)) problems.push(`${id}: is duplicated`);
        ids.add(id);
        if (!id.startsWith(`${number}-`)) problems.push(`${id}: must start with "${number}-"`);
        if (tests.length === 0 && open === undefined)
          problems.push(`${id}: has no test and is not marked as open`);
        for (const test of tests) {
          const { file, title } = placeOf(test);
          const titles = titlesIn(file);
          if (!titles) problems.push(`${id}: the file ${file} does not exist`);
          else if (!titles.has(title)) problems.push(`${id}: ${file} has no test "${title}"`);
        }
        return problems;
      }),
  );
}

/** The page as Markdown. */
export function renderDocuments(root: string, all: readonly SourceDocument[]): string {
  const titlesIn = titlesBelow(root);
  const every = all.flatMap(({ sections }) => sections.flatMap(({ requirements }) => requirements));
  const open = every.filter((one) => one.open !== undefined);
  const lines = [
    '# Requirements of the source documents',
    '',
    `Troupe started from five documents. This page lists their ${every.length} requirements in our own words, each with the tests that show it.`,
    `${openCount(open.length)} \`node tools/source-documents.ts --write\` generates the page from the lists in \`tools/source-documents/\` and from`,
    'the titles of the tests; a test of the tools fails if a title changes. If two documents contradict each other, or a',
    'design decision replaces a sentence, the requirement states the rule that applies.',
    '',
    ...all.flatMap((document) => renderDocument(document, titlesIn)),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function openCount(count: number): string {
  if (count === 0) return 'None is open.';
  return count === 1 ? '1 is open and marked so.' : `${count} are open and marked so.`;
}

function renderDocument({ number, title, sections }: SourceDocument, titlesIn: TitlesIn): string[] {
  const count = sections.reduce((sum, { requirements }) => sum + requirements.length, 0);
  const rows = sections.flatMap(({ title: section, requirements }) => [
    `| | **${section}** | |`,
    ...requirements.map((requirement) => renderRequirement(requirement, titlesIn)),
  ]);
  return [
    `## ${number}: ${title}`,
    '',
    `${count} requirements.`,
    '',
    '| Id | Requirement | Shown by |',
    '|---|---|---|',
    ...rows,
    '',
  ];
}

function renderRequirement({ id, is, tests, open }: Requirement, titlesIn: TitlesIn): string {
  const shown = tests.map((test) => {
    const { file, title } = placeOf(test);
    return `[${cell(titlesIn(file)?.get(title) ?? title)}](../${file})`;
  });
  return `| ${id} | ${cell(is)} | ${[...(open === undefined ? [] : [`**open**: ${cell(open)}`]), ...shown].join('<br>')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/[[\]<>*]/g, (character) => `\\${character}`);
}

function placeOf(test: string): { file: string; title: string } {
  const at = test.indexOf(SEPARATOR);
  if (at < 0) throw new Error(`"${test}" must be a file and a title, joined by "${SEPARATOR}"`);
  const path = test.slice(0, at);
  const isWhole = /^(packages|apps)\//.test(path);
  return {
    file: `${isWhole ? path : `packages/server/test/${path}`}.test.ts`,
    title: test.slice(at + SEPARATOR.length),
  };
}

function main(): void {
  const root = resolve(import.meta.dirname, '..');
  const problems = checkDocuments(root, documents);
  const text = renderDocuments(root, documents);
  const page = join(root, PAGE);
  if (problems.length === 0 && process.argv.includes('--write')) writeFileSync(page, text);
  else if (problems.length === 0 && (!existsSync(page) || readFileSync(page, 'utf8') !== text))
    problems.push(`${PAGE} is not up to date: run \`node tools/source-documents.ts --write\``);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
