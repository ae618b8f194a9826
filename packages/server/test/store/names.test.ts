import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('each statement has a name of its own: a connection refuses a second one of the same name', () => {
  const folder = new URL('../../src/store/', import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const names = files.flatMap((file) =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(/\bname: (['`])([^\n]+?)\1,\s+text\b/g)].map(
      ([, , name]) => name!,
    ),
  );
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
