import { expect, test } from 'vitest';
import { sourceFiles, staleComments, stalePointers } from './pointers.ts';

test('ARCHITECTURE.md names only paths and symbols that exist', () => {
  expect(stalePointers('ARCHITECTURE.md')).toEqual([]);
});

test('comments of the server and headers of rooms name only files that exist', () => {
  const files = sourceFiles('{packages/server/src/**/*.{ts,sql},packages/*/src/**/index.{ts,tsx}}');
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap(staleComments)).toEqual([]);
});
