import { expect, test } from 'vitest';
import { stalePointers } from './pointers.ts';

test('ARCHITECTURE.md names only paths and symbols that exist', () => {
  expect(stalePointers('ARCHITECTURE.md')).toEqual([]);
});
