import { expect, test } from 'vitest';
import { growing } from './growth.ts';

const execution = (text: string, pages: number) => ({ text, pages, scanned: [] });

test('reports a statement that reads in proportion to the history', () => {
  const before = [execution('select 1', 100), execution('select 2', 100)];
  const after = [execution('select 1', 300), execution('select 2', 110)];
  expect(growing(before, after)).toEqual([{ text: 'select 1', before: 100, after: 300 }]);
});

test('compares the most expensive execution of a list, whatever its filter', () => {
  const before = [execution('select 1', 5), execution('select 1', 400)];
  const after = [execution('select 1', 5), execution('select 1', 1_200)];
  expect(growing(before, after)).toEqual([{ text: 'select 1', before: 400, after: 1_200 }]);
});

test('leaves out the execution of a function that makes its plans', () => {
  const pages = (...list: number[]) => list.map((one) => execution('select troupe.commit($1)', one));
  expect(growing(pages(50, 50, 900), pages(55, 55, 2_400))).toEqual([]);
});
