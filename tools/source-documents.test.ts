import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { open, type SourceDocument, shown } from './source-documents/document.ts';
import { readTitles } from './source-documents/titles.ts';
import { checkDocuments, documents, PAGE, renderDocuments } from './source-documents.ts';

const root = resolve(import.meta.dirname, '..');
const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

function withTests(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'source-documents-'));
  made.push(folder);
  const file = join(folder, 'packages/server/test/http/one.test.ts');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return folder;
}
const listOf = (...requirements: SourceDocument['sections'][number]['requirements']): SourceDocument => ({
  number: '009',
  title: 'a list',
  sections: [{ title: 'One', requirements }],
});

test('every requirement of the source documents names tests that exist', () => {
  expect(checkDocuments(root, documents)).toEqual([]);
});

test('the page of the source documents is up to date', () => {
  expect(readFileSync(join(root, PAGE), 'utf8')).toBe(renderDocuments(root, documents));
});

test('reads titles as they are written, of tests of every form', () => {
  const folder = withTests(`
    describe('a group', () => { it('is inside', () => {}); });
    test.each([[1, 2]])('%i is less than %i', () => {});
    test.skipIf(true)('may be skipped', () => {});
    for (const name of names) test(\`\${name} is good\`, { timeout: 5 }, () => {});
    expect(/x/.test('no title')).toBe(false);
  `);
  const file = join(folder, 'packages/server/test/http/one.test.ts');
  expect(readTitles(file)).toEqual([
    { title: 'is inside', groups: ['a group'] },
    { title: '%i is less than %i', groups: [] },
    { title: 'may be skipped', groups: [] },
    { title: `\${name} is good`, groups: [] },
  ]);
});

test('reports a renamed test, a missing file, a requirement without a test and a duplicate id', () => {
  const folder = withTests(`test('holds', () => {});`);
  const problems = checkDocuments(folder, [
    listOf(
      shown('009-1', 'Holds.', 'http/one > holds'),
      shown('009-2', 'Was renamed.', 'http/one > held'),
      shown('009-3', 'Has no file.', 'http/two > holds'),
      shown('009-4', 'Has no test.'),
      open('009-5', 'Is open.', 'not built'),
      shown('009-1', 'Is there twice.', 'http/one > holds'),
      shown('008-1', 'Is of another document.', 'http/one > holds'),
    ),
  ]);
  expect(problems).toEqual([
    '009-2: packages/server/test/http/one.test.ts has no test "held"',
    '009-3: the file packages/server/test/http/two.test.ts does not exist',
    '009-4: has no test and is not marked as open',
    '009-1: is duplicated',
    '008-1: must start with "009-"',
  ]);
});

test('names the group of a test in the table', () => {
  const folder = withTests(`describe('a run', () => { test('holds', () => {}); });`);
  const page = renderDocuments(folder, [listOf(shown('009-1', 'Holds.', 'http/one > holds'))]);
  expect(page).toContain('[a run: holds](../packages/server/test/http/one.test.ts)');
});

test('marks open requirements in the table', () => {
  const page = renderDocuments(root, [listOf(open('009-1', 'Is | open.', 'not built'))]);
  expect(page).toContain('1 is open and marked so.');
  expect(page).toContain('| 009-1 | Is \\| open. | **open**: not built |');
});
