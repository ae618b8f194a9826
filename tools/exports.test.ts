import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkExports } from './exports.ts';

const made: string[] = [];

afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

const src = 'packages/server/src';

function check(files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), 'exports-'));
  made.push(root);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const { violations, counts } = checkExports(root);
  return { counts, found: violations.map(({ file, line, message }) => `${file}:${line}  ${message}`) };
}

test('reports a name of a room that no other room imports', () => {
  const { found } = check({
    [`${src}/store/index.ts`]:
      "/** The store. */\nexport {\n  read,\n  type Row,\n  write as put,\n} from './rows.ts';\n",
    [`${src}/store/other.ts`]: "import { read } from './index.ts';",
    [`${src}/kernel/kernel.ts`]: "import { type Row, put as store } from '../store/index.ts';",
    'packages/server/test/store/rows.test.ts': "import { read } from '../../src/store/index.ts';",
  });
  expect(found).toEqual([`${src}/store/index.ts:3  exports read, which nobody imports`]);
});

test('sees names that are used through a namespace or a dynamic import', () => {
  const { found } = check({
    [`${src}/store/index.ts`]: "export { a, b, type C, d } from './rows.ts';",
    [`${src}/kernel/kernel.ts`]: "import * as store from '../store/index.ts';\nconst x: store.C = store.a();",
    [`${src}/runs/runs.ts`]: "const { b: renamed } = await import('../store/index.ts');",
  });
  expect(found).toEqual([`${src}/store/index.ts:1  exports d, which nobody imports`]);
});

test('requires a list instead of a star', () => {
  const { found } = check({
    [`${src}/store/index.ts`]: "export * from './rows.ts';",
    [`${src}/kernel/kernel.ts`]: "import { a } from '../store/index.ts';",
  });
  expect(found).toEqual([`${src}/store/index.ts:1  exports *: list the names`]);
});

test('counts the names of the package, which only other packages use', () => {
  const { found, counts } = check({
    [`${src}/index.ts`]: "export { newId, type Row } from './base/index.ts';",
    [`${src}/parts.ts`]: "export { compose } from './process/index.ts';",
    [`${src}/base/index.ts`]: "export { newId, type Row } from './ids.ts';",
    [`${src}/process/index.ts`]: "export { compose } from './compose.ts';",
    'packages/server/test/a.test.ts': "import { compose } from '@troupe/server/parts';",
    'packages/troupe/test/a.test.ts': "import type { Row } from '@troupe/server';",
    'bench/commit.ts': "import { newId } from '@troupe/server';",
  });
  expect(found).toEqual([`${src}/parts.ts:1  exports compose, which nobody imports`]);
  expect(counts).toEqual({ '@troupe/server': 2, '@troupe/server/parts': 1 });
});
