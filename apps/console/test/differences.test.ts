import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differences, wordsOf } from '../src/blocks/differences.ts';

const side = (found: ReturnType<typeof differences>, kind: 'gone' | 'new') =>
  found.filter((one) => one.kind === 'same' || one.kind === kind).map(({ item }) => item);

test('holds both lists, removed items before added ones', () => {
  const list = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 });
  fc.assert(
    fc.property(list, list, (before, after) => {
      const found = differences(before, after);
      expect(side(found, 'gone')).toEqual(before);
      expect(side(found, 'new')).toEqual(after);
      const kinds = found.map(({ kind }) => kind).join(' ');
      expect(kinds).not.toContain('new gone');
    }),
  );
});

test('finds a few changes in long lists', () => {
  const before = Array.from({ length: 20_000 }, (_, index) => `line ${index}`);
  const after = before.with(7, 'first').with(19_000, 'second');
  expect(differences(before, after).filter(({ kind }) => kind !== 'same')).toEqual([
    { kind: 'gone', item: 'line 7' },
    { kind: 'new', item: 'first' },
    { kind: 'gone', item: 'line 19000' },
    { kind: 'new', item: 'second' },
  ]);
});

test('treats lists with thousands of changes as replaced', () => {
  const before = Array.from({ length: 20_000 }, (_, index) => `before ${index}`);
  const after = before.map((_, index) => (index % 2 === 0 ? 'same in all' : `after ${index}`));
  const kinds = differences(['head', ...before], ['head', ...after]).map(({ kind }) => kind);
  expect(kinds.lastIndexOf('gone')).toBe(20_000);
  expect(kinds.indexOf('new')).toBe(20_001);
});

test('splits a line into words of any script, spaces and marks', () => {
  expect(wordsOf('Привет, мир_1  ok!')).toEqual(['Привет', ',', ' ', 'мир_1', '  ', 'ok', '!']);
});
