import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { nameOf, readFunctionFiles, withCallers } from '../../../../tools/schema/callers.ts';

/** Functions and migrations. The dump of the schema is generated from them. */
const MAX_SQL_LINES = 6_700;
const root = resolve(import.meta.dirname, '../../../..');
const files = readFunctionFiles();
const sqlFiles = globSync('**/*.sql', {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist|\.\w+)$/.test(path.replaceAll('\\', '/')),
}).map((path) => ({ path, text: readFileSync(resolve(root, path), 'utf8') }));

let client: pg.Client;
let drop: () => Promise<void>;
beforeAll(async () => {
  const database = await createDatabase(inject('postgresUrl'), 'template');
  drop = database.drop;
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await drop();
});

test('every function is defined in exactly one file, which has its name', async () => {
  const definitions = sqlFiles.flatMap(({ path, text }) =>
    [...text.matchAll(/create (?:or replace )?function (?:troupe\.)?(\w+)/gi)].map(([, name]) => ({
      name: name!,
      path,
    })),
  );
  expect(definitions.map(({ name, path }) => `${name} ${path}`)).toEqual(
    definitions.map(({ path }) => `${nameOf(path)} ${path}`),
  );
  const { rows } = await client.query<{ proname: string }>(
    `select proname from pg_proc where pronamespace = 'troupe'::regnamespace`,
  );
  expect(definitions.map(({ name }) => name).sort()).toEqual(rows.map(({ proname }) => proname).sort());
});

test('SQL stays short: lines of at most 120 characters, 6,700 written lines in all', () => {
  const long = sqlFiles.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => ([...line].length > 120 ? [`${path}:${index + 1}`] : [])),
  );
  expect(long).toEqual([]);
  const written = sqlFiles.filter(({ path }) => !path.endsWith('store/schema.sql'));
  const lines = written.reduce((sum, { text }) => sum + text.trimEnd().split('\n').length, 0);
  expect(lines).toBeLessThanOrEqual(MAX_SQL_LINES);
});

test('functions of the kernel name no door', () => {
  const tables =
    'sessions|spaces|memberships|reply_waits|run_shown|folded_messages|tasks|sub_agents|networks|network_\\w+|plans';
  const words = `troupe\\.(${tables})\\b|'(session|space)(\\.\\w+)?'|'(send_message|enter_space)'|\\bdoor (=|<>|in) *\\(?'`;
  const named = files
    .filter(({ path }) => path.includes('/kernel/'))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .filter((line) => !/^\s*--/.test(line) && new RegExp(words).test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
  expect(named).toEqual([]);
});

test('every function file starts with purpose, locks and callers', () => {
  const wrong = files.flatMap(({ path, text }) => {
    const header =
      /^(-- (?!Locks:|Called by:).+\n)+-- Locks: .+\n(--.*\n)*?-- Called by: .+\n(-- {3}.+\n)*create /;
    return header.test(text) ? [] : [path];
  });
  expect(wrong).toEqual([]);
});

test('the callers in a header are those of the sources', () => {
  expect(Object.fromEntries(files.map(({ path, text }) => [path, text]))).toEqual(withCallers());
});

test('comments tell no history and name no migration', () => {
  const history = /\b(as before|now also|previously|formerly|used to be)\b|\(00\d\d\)|\b00\d\d_/i;
  const wrong = sqlFiles.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const comment = /--(.*)$/.exec(line)?.[1] ?? '';
      return history.test(comment) && !comment.startsWith(' Called by:') && !comment.startsWith('   store/')
        ? [`${path}:${index + 1} ${comment}`]
        : [];
    }),
  );
  expect(wrong).toEqual([]);
});

test('every call of a function in SQL finds it, with arguments that fit', async () => {
  const { rows } = await client.query<{ name: string; most: number; least: number; is_trigger: boolean }>(
    `select proname as name, pronargs as most, pronargs - pronargdefaults as least, prorettype = 'trigger'::regtype as is_trigger
      from pg_proc where pronamespace = 'troupe'::regnamespace`,
  );
  const known = new Map(rows.map((row) => [row.name, row]));
  const wrong = files.flatMap(({ path, text }) =>
    [...callsIn(text.replace(/--.*$/gm, ''))].flatMap(({ name, args }) => {
      const found = known.get(name);
      const fits = found && (found.is_trigger || (args >= found.least && args <= found.most));
      return fits ? [] : [`${path}: troupe.${name} with ${args} arguments`];
    }),
  );
  expect(wrong).toEqual([]);
});

test('bodies of functions in SQL are valid', async () => {
  // A migration turns this check off, because functions may be created before those that they call.
  await client.query('begin; set local check_function_bodies = on');
  for (const { path, text } of files) {
    const statement = text.split(/^create (?:constraint )?trigger/m)[0]!;
    await client.query(statement).catch((error: unknown) => {
      throw new Error(`${path}: ${String(error)}`);
    });
  }
  await client.query('rollback');
});

/** Calls of `troupe.<name>(…)`, without the definition, and the number of their arguments. */
function* callsIn(text: string): Generator<{ name: string; args: number }> {
  for (const match of text.matchAll(/(?<!create or replace function )\btroupe\.(\w+)\(/g)) {
    if (/(into|references|on|update|table) $/.test(text.slice(0, match.index).slice(-12))) continue;
    let depth = 1;
    let commas = 0;
    let index = match.index + match[0].length;
    const start = index;
    for (; depth > 0; index++) {
      const letter = text[index]!;
      if (letter === "'") index = text.indexOf("'", index + 1);
      else if (letter === '(' || letter === '[') depth++;
      else if (letter === ')' || letter === ']') depth--;
      else if (letter === ',' && depth === 1) commas++;
    }
    yield { name: match[1]!, args: text.slice(start, index - 1).trim() === '' ? 0 : commas + 1 };
  }
}
