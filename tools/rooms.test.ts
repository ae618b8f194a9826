// biome-ignore-all lint/suspicious/noTemplateCurlyInString: some of the sources under test contain templates
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { checkRooms, reserved, rooms } from './rooms.ts';

const made: string[] = [];

afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

/** The violations of a tree, as they are printed. */
function violations(files: Record<string, string>): string[] {
  const root = mkdtempSync(join(tmpdir(), 'rooms-'));
  made.push(root);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return checkRooms(root).map(({ file, line, message }) => `${file}:${line}  ${message}`);
}

const src = 'packages/server/src';

describe('the table', () => {
  test('names only rooms that exist', () => {
    const named = [...Object.values(rooms).flatMap((room) => room.may), ...Object.values(reserved).flat()];
    expect(named.filter((name) => !rooms[name])).toEqual([]);
  });

  test('has no two rooms that import each other, however far around', () => {
    const visit = (name: string, path: string[]): string[][] =>
      path.includes(name)
        ? [[...path, name]]
        : rooms[name]!.may.flatMap((next) => visit(next, [...path, name]));
    expect(Object.keys(rooms).flatMap((name) => visit(name, []))).toEqual([]);
  });

  test('is kept by the real tree', () => {
    expect(checkRooms(resolve(import.meta.dirname, '..'))).toEqual([]);
  });
});

describe('imports', () => {
  test('a room imports only the rooms of its line', () => {
    expect(
      violations({
        [`${src}/base/clock.ts`]: "\nimport { open } from '../store/index.ts';\n",
        [`${src}/store/open.ts`]: "import { a } from '../kernel/index.ts';",
        [`${src}/http/routes/runs.ts`]:
          "import { a } from '../../kernel/index.ts';\nimport '../../models/index.ts';",
        [`${src}/main.ts`]:
          "import { scripted } from './models/index.ts';\nimport { dev } from './process/dev.ts';",
      }),
    ).toEqual([
      `${src}/base/clock.ts:2  imports ../store/index.ts: base may import only protocol`,
      `${src}/http/routes/runs.ts:2  imports ../../models/index.ts: http may import only lifecycle, overview, sync, stream, triggers, ` +
        'access, doors/sessions, doors/spaces, doors/networks, doors/tasks, runs, memories, plans, definitions/capabilities, definitions/models, definitions/tools, definitions/mcp-servers, definitions/agents, definitions/networks, kernel, config, store, base, protocol',
      `${src}/store/open.ts:1  imports ../kernel/index.ts: store may import only base, protocol`,
    ]);
  });

  test('every way to write an import is seen, at the line where it begins', () => {
    const file = `${src}/base/a.ts`;
    const only = 'base may import only protocol';
    expect(
      violations({
        [file]: [
          "import type { A } from '../kernel/ports.ts';",
          'import {',
          '  b,',
          "} from '../store/index.ts';",
          "import c, * as d from '../config/index.ts';",
          "export * from '../plans/index.ts';",
          "export type { E } from '../access/index.ts';",
          "import '../stream/index.ts';",
          'export function f() {}',
          "export { g } from '../sync/index.ts';",
          "const h = await import('../http/index.ts');",
          'const i = await import(/* why */ `../tools/index.ts`);',
          "const j = require('../models/index.ts');",
        ].join('\n'),
      }),
    ).toEqual([
      `${file}:1  imports ../kernel/ports.ts: ${only}`,
      `${file}:2  imports ../store/index.ts: ${only}`,
      `${file}:5  imports ../config/index.ts: ${only}`,
      `${file}:6  imports ../plans/index.ts: ${only}`,
      `${file}:7  imports ../access/index.ts: ${only}`,
      `${file}:8  imports ../stream/index.ts: ${only}`,
      `${file}:10  imports ../sync/index.ts: ${only}`,
      `${file}:11  imports ../http/index.ts: ${only}`,
      `${file}:12  imports ../tools/index.ts: ${only}`,
      `${file}:13  imports ../models/index.ts: ${only}`,
    ]);
  });

  test('what only looks like an import is not one', () => {
    expect(
      violations({
        [`${src}/base/a.ts`]: [
          "// import { a } from '../store/index.ts';",
          "/* import '../kernel/index.ts' */",
          'const text = "import \'../store/index.ts\'";',
          "const nested = `${`${{ a: '`' }.a}`} import('../store/index.ts')`;",
          "const pattern = /['\"`]/; const half = 4 / 2; // '",
          "loader.import('../store/index.ts');",
          "const list = Array.from('../store/index.ts');",
        ].join('\n'),
        'apps/console/page.tsx': "export const Page = () => <p>Don't import './x' <br /> it's</p>;\n",
      }),
    ).toEqual([]);
  });

  test.each([
    ['inside a template', "const a = `${await import('../store/index.ts')}`;"],
    ['between templates', "f(`${{ a }.g('`')}`, import('../store/index.ts'), `${b}`);"],
    ['after a regular expression', "const a = /[/`]/; import('../store/index.ts'); const b = /`/;"],
    ['after a division', "const a = b / 2; import('../store/index.ts'); const c = d / 2;"],
    ['after an apostrophe in a comment', "// don't\nimport '../store/index.ts';"],
  ])('an import is seen %s', (_, text) => {
    expect(violations({ [`${src}/base/a.ts`]: text })).toHaveLength(1);
  });

  test('an import is seen between apostrophes of JSX text, and as a type', () => {
    const page = "export const Page = () => <p>Don't {import('@troupe/server')} it's</p>;\n";
    const type = "export type Server = import('@troupe/server').Server;\n";
    expect(violations({ 'apps/console/page.tsx': page, 'apps/console/type.ts': type })).toHaveLength(2);
  });

  test('a file that cannot be parsed is an error', () => {
    expect(() => violations({ [`${src}/base/a.ts`]: 'const = 1;' })).toThrow(`${src}/base/a.ts`);
  });

  test('models and tools see the types of the ports and nothing else of the kernel', () => {
    const only = 'may import only outgoing, base, protocol, types of kernel/ports.ts';
    expect(
      violations({
        [`${src}/models/demo.ts`]: [
          "import type { Model } from '../kernel/ports.ts';",
          "import { type Tools } from '../kernel/ports.ts';",
          "import type { Loop } from '../kernel/index.ts';",
        ].join('\n'),
        [`${src}/tools/http/call.ts`]: "export { run } from '../../kernel/ports.ts';",
      }),
    ).toEqual([
      `${src}/models/demo.ts:2  imports ../kernel/ports.ts: models ${only}; write \`import type\``,
      `${src}/models/demo.ts:3  imports ../kernel/index.ts: models ${only}`,
      `${src}/tools/http/call.ts:1  imports ../../kernel/ports.ts: tools ${only}; write \`import type\``,
    ]);
  });

  test('doors do not import each other', () => {
    expect(
      violations({
        [`${src}/doors/sessions/settle.ts`]:
          "import { post } from '../spaces/index.ts';\nimport './context.ts';",
      }),
    ).toEqual([
      `${src}/doors/sessions/settle.ts:1  imports ../spaces/index.ts: doors/sessions may import only doors/shared, runs, kernel, memories, plans, ` +
        'definitions/capabilities, definitions/models, definitions/tools, definitions/mcp-servers, definitions/agents, ' +
        'definitions/networks, store, base, protocol',
    ]);
  });

  test('another room is entered through its index, the kernel through its ports too', () => {
    expect(
      violations({
        [`${src}/http/server.ts`]: [
          "import { runs } from '../store/queries/runs.ts';",
          "import { loop } from '../kernel/loop.ts';",
          "import type { Model } from '../kernel/ports.ts';",
          "import { store } from '../store/index.ts';",
          "import '../store';",
        ].join('\n'),
        'packages/sdk/src/index.ts': "import { run } from '@troupe/protocol/runs';",
      }),
    ).toEqual([
      'packages/sdk/src/index.ts:1  imports @troupe/protocol/runs: protocol is entered through index.ts or files or snapshots only',
      `${src}/http/server.ts:1  imports ../store/queries/runs.ts: store is entered through index.ts only`,
      `${src}/http/server.ts:2  imports ../kernel/loop.ts: kernel is entered through index.ts or ports.ts only`,
      `${src}/http/server.ts:5  imports ../store: store is entered through index.ts only`,
    ]);
  });

  test('packages import each other by name, and only those of their line', () => {
    expect(
      violations({
        'packages/sdk/src/index.ts': "import '../../protocol/src/index.ts';\nimport '@troupe/protocol';",
        'packages/ui/src/chat.tsx': "import { client } from '@troupe/sdk';",
        'apps/console/main.tsx': "import '@troupe/ui';\nimport '@troupe/server';",
        [`${src}/kernel/loop.ts`]: "import '@troupe/testing';",
      }),
    ).toEqual([
      'packages/sdk/src/index.ts:1  imports ../../protocol/src/index.ts: another package is imported by its name, @troupe/protocol',
      `${src}/kernel/loop.ts:1  imports @troupe/testing: kernel may import only store, base, protocol`,
      'packages/ui/src/chat.tsx:1  imports @troupe/sdk: ui may import only react',
      'apps/console/main.tsx:2  imports @troupe/server: console may import only ui, react, sdk, protocol',
    ]);
  });

  test('npm packages and node: modules', () => {
    expect(
      violations({
        'packages/protocol/src/runs.ts': "import { z } from 'zod';\nimport 'pino';\nimport 'node:crypto';",
        'packages/sdk/src/index.ts': "import { open } from 'node:fs/promises';",
        [`${src}/kernel/loop.ts`]:
          "import type { Pool } from 'pg';\nimport 'node:crypto';\nimport 'p-limit';",
        [`${src}/store/pool.ts`]: "import { Pool } from 'pg';\nimport { Kysely } from 'kysely';",
        [`${src}/tools/ask.ts`]: "import { openai } from '@ai-sdk/openai';\nimport '#inside';",
      }),
    ).toEqual([
      'packages/protocol/src/runs.ts:2  imports pino: protocol may import only zod',
      'packages/protocol/src/runs.ts:3  imports node:crypto: protocol may import only zod',
      'packages/sdk/src/index.ts:1  imports node:fs/promises: sdk runs in browsers too: no node: modules',
      `${src}/kernel/loop.ts:1  imports pg: only store, testing may import it`,
      `${src}/tools/ask.ts:1  imports @ai-sdk/openai: only models may import it`,
      `${src}/tools/ask.ts:2  imports #inside: use a relative path or the name of a package`,
    ]);
  });

  test('every file is in a room', () => {
    expect(
      violations({
        [`${src}/utils/strings.ts`]: '',
        [`${src}/base/a.ts`]:
          "import '../utils/strings.ts';\nimport '../../package.json' with { type: 'json' };",
      }),
    ).toEqual([
      `${src}/base/a.ts:1  imports ../utils/strings.ts: ${src}/utils/strings.ts belongs to no room of tools/rooms.ts`,
      `${src}/utils/strings.ts:1  belongs to no room: add its room to tools/rooms.ts`,
    ]);
  });

  test('tests import anything', () => {
    const text = "import '../kernel/loop.ts';\nimport 'pg';\nprocess.env.HOME;";
    expect(
      violations({
        'packages/server/test/loop.test.ts': text,
        [`${src}/base/a.test.ts`]: text,
        'apps/console/vite.config.ts': text,
      }),
    ).toEqual([]);
  });
});

describe('what is kept in one place', () => {
  test('process.env is read in config and by the processes', () => {
    const message = 'reads process.env: only config, process, troupe, testing may';
    const file = `${src}/kernel/worker.ts`;
    expect(
      violations({
        [file]: [
          "import { env } from 'node:process';",
          'const a = process.env.PORT;',
          "const b = process['env'];",
          'const { env: c } = process;',
          'const d = `${globalThis.process?.env.HOME}`;',
          "const e = 'process.env' + /process.env/; // process.env",
          'const { pid } = process;',
        ].join('\n'),
        [`${src}/config/environment.ts`]: 'export const env = process.env;',
        [`${src}/process/dev.ts`]: 'export const env = process.env;',
      }),
    ).toEqual([1, 2, 3, 4, 5].map((line) => `${file}:${line}  ${message}`));
  });

  test('SQL is in the store', () => {
    const message = 'contains SQL: only store, testing may';
    const file = `${src}/kernel/worker.ts`;
    const sql = [
      'await store.query(statement);',
      'await store.query<{ id: string }>(statement);',
      "const a = 'select id from runs where status = $1';",
      'const b = `',
      '  INSERT INTO runs (id) VALUES ($' + '{id})`;',
      "const c = 'update runs set epoch = epoch + 1';",
      "const d = 'delete from runs where id = $1';",
      "const e = 'with due as (select 1) select * from due';",
      "const f = 'listen runs';",
      "const g = 'drop table runs';",
    ].join('\n');
    expect(
      violations({
        [file]: sql,
        [`${src}/store/queries/runs.ts`]: sql,
        [`${src}/http/routes/runs.ts`]: [
          "const after = context.req.query('after');",
          "const help = 'Select an agent from the list.';",
          "const hint = 'update the agent, then set a model';",
        ].join('\n'),
      }),
    ).toEqual([1, 2, 3, 4, 6, 7, 8, 9, 10].map((line) => `${file}:${line}  ${message}`));
  });
});
