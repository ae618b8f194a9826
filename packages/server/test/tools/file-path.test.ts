import fc from 'fast-check';
import { expect, test } from 'vitest';
import { directoryPath, filePath } from '../../src/base/index.ts';

/** Null: refused. Otherwise the harmless path that it stands for. */
const forms: [given: unknown, path: string | null][] = [
  ['/notes/plan.md', '/notes/plan.md'],
  ['notes.txt', '/notes.txt'],
  ['./notes.txt', '/notes.txt'],
  ['/a/./b', '/a/b'],
  ['//a///b/', '/a/b'],
  ['//server/share', '/server/share'],
  ['/etc/passwd', '/etc/passwd'],
  ['file:///etc/passwd', '/file:/etc/passwd'],
  ['~/.ssh/id_rsa', '/~/.ssh/id_rsa'],
  ['C:/Windows', '/C:/Windows'],
  ['$HOME/x', '/$HOME/x'],
  ['/e\u0301t\u00e9', '/\u00e9t\u00e9'],
  ['..', null],
  ['../x', null],
  ['/../x', null],
  ['/a/../../x', null],
  ['/a/..', null],
  ['/a/../b', null],
  ['/..../x', null],
  ['/...', null],
  ['..\\..\\x', null],
  ['/a\\b', null],
  ['\\\\server\\share', null],
  ['/a\0.txt', null],
  ['/a\nb', null],
  ['/a\u007fb', null],
  ['/a\u0085b', null],
  ['/a\u2028b', null],
  ['/%2e%2e/x', null],
  ['/%2E%2E%2Fx', null],
  ['/a%2fb', null],
  ['/a%5cb', null],
  ['/a%00b', null],
  ['/%252e%252e/x', null],
  ['/%c0%ae%c0%ae/x', null],
  ['/%u002e%u002e/x', null],
  ['/\uff0e\uff0e/x', null],
  ['/\u2024\u2024/x', null],
  ['/\u2025/x', null],
  ['/\u2026', null],
  ['/a\u2044b', null],
  ['/a\u2215b', null],
  ['/a\uff0fb', null],
  ['/a\u29f8b', null],
  ['/a\uff3cb', null],
  ['/a\u2216b', null],
  ['/a\u200bb', null],
  ['/.\u200b./x', null],
  ['/a\u202egpj.exe', null],
  ['/\ufeffa', null],
  ['/a ', null],
  ['/ a', null],
  ['/ /a', null],
  ['/a\u00a0', null],
  ['/a.', null],
  ['/.. /x', null],
  ['/\ud800', null],
  ['', null],
  ['/', null],
  ['.', null],
  [`/${'x'.repeat(256)}`, null],
  [`/${'é'.repeat(128)}`, null],
  [`/${'a/'.repeat(33)}b`, null],
  [`/${'x'.repeat(2000)}`, null],
  [`${'/abcdefghi'.repeat(30)}/${'é'.repeat(120)}/${'é'.repeat(120)}/${'é'.repeat(120)}`, null],
  [5, null],
  [null, null],
  [undefined, null],
  [['/a'], null],
  [{ toString: () => '/a' }, null],
];

test(`${forms.length} forms of a path are each refused or lead to one inside`, () => {
  for (const [given, path] of forms) {
    if (path === null) expect(() => filePath(given), JSON.stringify(given)).toThrow(/^The path /);
    else expect(filePath(given)).toBe(path);
  }
  expect(directoryPath('/')).toBe('/');
  expect(directoryPath('./')).toBe('/');
});

test('whatever is given, a path that is taken stands for itself and has no name that leads anywhere', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '..',
      '.',
      '/',
      '//',
      '\\',
      '%2e',
      '\u2024',
      '\uff0e',
      '\uff0f',
      ' ',
      '\0',
      'a',
      'é',
      'e\u0301',
      '~',
    ),
    fc.string({ unit: 'binary', maxLength: 4 }),
  );
  let taken = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      let path: string;
      try {
        path = directoryPath(pieces.join(''));
      } catch (error) {
        expect(error).toMatchObject({ code: 'path_invalid' });
        return;
      }
      taken++;
      expect(directoryPath(path)).toBe(path);
      expect(path.startsWith('/')).toBe(true);
      for (const form of ['NFC', 'NFKC']) {
        const names = path.normalize(form).split('/').slice(1);
        if (path !== '/') for (const name of names) expect(name).not.toMatch(/^\.*$|[\\\p{Cc}]/u);
        expect(names.length).toBe(path.split('/').length - 1);
      }
      expect(new URL(`file://${path.split('/').map(encodeURIComponent).join('/')}`).pathname).not.toMatch(
        /(^|\/)\.\.?(\/|$)/,
      );
    }),
    { numRuns: 3_000 },
  );
  expect(taken).toBeGreaterThan(100);
});
