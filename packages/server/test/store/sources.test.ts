import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrate } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { readStatements } from '../../../../tools/schema/catalog.ts';
import { readSchemaSource, type SchemaSource } from '../../src/store/migrate.ts';
import { isLowerRelease } from '../../src/store/releases.ts';
import { parseSourceFile, type SourceObject } from '../../src/store/sources.ts';

const PROCESSES = 10;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function database(template: string | null = null): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createDatabase(inject('postgresUrl'), template);
  cleanups.push(drop);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  cleanups.push(() => client.end());
  return { url, client };
}

/** Tables, functions and triggers, which of these are enabled, and the checksums. */
async function catalog(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(
    `select p.oid::regprocedure || ' ' || obj_description(p.oid, 'pg_proc') as text from pg_proc p
      where p.pronamespace = 'troupe'::regnamespace
      union all select t.tgname || ' on ' || t.tgrelid::regclass || ' ' || obj_description(t.oid, 'pg_trigger') from pg_trigger t
        join pg_class c on c.oid = t.tgrelid where c.relnamespace = 'troupe'::regnamespace and not t.tgisinternal
      union all select obj_description('troupe'::regnamespace, 'pg_namespace') order by 1`,
  );
  const statements = await readStatements(client);
  await client.query('reset search_path');
  return [...statements.map(({ text }) => text), ...rows.map(({ text }) => text.replaceAll('troupe.', ''))];
}

/** Where each function is stored: another place after it was replaced, even by the same text. */
async function versions(client: pg.Client): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; version: string }>(
    `select proname as name, xmin || ' ' || ctid as version from pg_proc where pronamespace = 'troupe'::regnamespace`,
  );
  return Object.fromEntries(rows.map(({ name, version }) => [name, version]));
}

const current = readSchemaSource();
/** A release before the current one; `changes` replaces functions by name, or removes them. */
function earlier(changes: Record<string, string | null>, release = '0.0.9'): SchemaSource {
  const kept = current.objects.filter(({ file }) => !(nameOf(file) in changes));
  const added = Object.entries(changes).flatMap(([name, sql]) =>
    sql === null ? [] : parseSourceFile(`test/${name}.sql`, sql),
  );
  return { ...current, objects: [...kept, ...added], release };
}

const later = (objects: SourceObject[], release = '99.0.0'): SchemaSource => ({
  ...current,
  objects,
  release,
});
const nameOf = (file: string) => /([^/]+)\.sql$/.exec(file)![1]!;
const sqlOf = (name: string) =>
  current.objects
    .filter(({ file }) => nameOf(file) === name)
    .map(({ sql }) => sql)
    .join('\n');

test('race: ten processes that start at once migrate an empty database once', {
  timeout: 90_000,
}, async () => {
  const { url, client } = await database();
  const program = join(import.meta.dirname, 'migrate-process.ts');
  const started = Array.from({ length: PROCESSES }, () =>
    promisify(execFile)(process.execPath, [program, url]),
  );
  const applied = (await Promise.all(started)).map(({ stdout }) => JSON.parse(stdout) as string[]);
  expect(applied.flat()).toEqual(current.migrations.map(({ name }) => name));
  const alone = await database();
  await migrate(alone.url);
  expect(await catalog(client)).toEqual(await catalog(alone.client));
});

test('a database that is brought forward equals one made from scratch', async () => {
  const { url, client } = await database();
  const old = earlier({
    // Another body, other parameter types, another parameter name, another result, a function that is new since.
    cancel: sqlOf('cancel').replace("'run_not_found'", "'unknown_run'"),
    mentions: sqlOf('mentions').replace('p_names text[]', 'p_names varchar[], p_more int default 0'),
    shortened: sqlOf('shortened').replaceAll('p_most', 'p_length'),
    worker_lock: sqlOf('worker_lock').replace('returns bigint', 'returns numeric'),
    space_path: null,
    // A trigger of another shape, one that is gone, and functions that are gone.
    note_end: sqlOf('note_end').replace('after update of status', 'after update'),
    capture_tasks: sqlOf('capture_tasks').replace('after insert or update or delete', 'after insert'),
    watch_runs: `create or replace function troupe.watch_runs() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger runs_watch after insert on troupe.runs for each row execute function troupe.watch_runs();`,
    helper: `create or replace function troupe.helper(a int) returns int language sql as $$ select a $$;`,
  });
  await migrate(url, old);
  await client.query(`
    create function troupe.helper(a text) returns text language sql as 'select a';
    create function troupe.cancel(a int) returns int language sql as 'select a';
    create function troupe.new_id(a int) returns int language sql as 'select a'`);
  await migrate(url);

  const fresh = await database();
  await migrate(fresh.url);
  expect(await catalog(client)).toEqual(await catalog(fresh.client));
});

test('a replaced capture trigger is enabled only if a rule matches its collection', async () => {
  const { url, client } = await database();
  const other = (name: string) => sqlOf(name).replace('or delete', 'or delete ');
  await migrate(url, earlier({ capture_runs: other('capture_runs'), capture_tasks: other('capture_tasks') }));
  await client.query(`
    insert into troupe.projects (id, name) values ('00000000-0000-7000-8000-000000000001', 'p');
    insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled)
      values (gen_random_uuid(), '00000000-0000-7000-8000-000000000001', 't', '{}', '{runs}', '', '{create}', true);
    select troupe.arm_captures(1000)`);
  await migrate(url);
  const { rows } = await client.query(
    `select tgname from pg_trigger where tgname like '%_capture' and tgenabled <> 'D'`,
  );
  expect(rows).toEqual([{ tgname: 'runs_capture' }]);
});

test('only functions that differ are replaced', async () => {
  const { url, client } = await database();
  await migrate(url, earlier({ cancel: sqlOf('cancel').replace("'run_not_found'", "'unknown_run'") }));
  const before = await versions(client);
  await migrate(url);
  const after = await versions(client);
  expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual(['cancel']);
  await migrate(url);
  expect(await versions(client)).toEqual(after);
});

test('a function that is gone is dropped with its triggers', async () => {
  const { url, client } = await database();
  await migrate(url);
  await migrate(url, later(current.objects.filter(({ file }) => nameOf(file) !== 'stamp_memberships')));
  const { rows } = await client.query(
    `select proname as name from pg_proc where proname = 'stamp_memberships'
      union all select tgname from pg_trigger where tgname = 'entities_stamp'`,
  );
  expect(rows).toEqual([]);
});

test('a function that fails leaves nothing behind', async () => {
  const { url, client } = await database();
  await migrate(url, earlier({ cancel: sqlOf('cancel').replace("'run_not_found'", "'unknown_run'") }));
  const before = await catalog(client);
  const broken = parseSourceFile(
    'test/zzz.sql',
    'create or replace function troupe.zzz() returns nonsense language sql as $$ select 1 $$;',
  );
  await expect(migrate(url, later([...current.objects, ...broken]))).rejects.toThrow('nonsense');
  expect(await catalog(client)).toEqual(before);
});

test('a function whose source fails on an empty database leaves no schema', async () => {
  const { url, client } = await database();
  const broken = parseSourceFile(
    'test/zzz.sql',
    'create or replace function troupe.zzz() returns nonsense language sql as $$ select 1 $$;',
  );
  await expect(migrate(url, later([...current.objects, ...broken]))).rejects.toThrow('nonsense');
  expect((await client.query(`select from pg_namespace where nspname = 'troupe'`)).rowCount).toBe(0);
});

test('a lower release leaves the functions of a higher one alone', async () => {
  const { url, client } = await database();
  const added = parseSourceFile(
    'test/added.sql',
    'create or replace function troupe.added() returns int language sql as $$ select 1 $$;',
  );
  await migrate(url, later([...current.objects.filter(({ name }) => name !== 'shortened'), ...added]));
  const before = await catalog(client);
  await migrate(url);
  expect(await catalog(client)).toEqual(before);
});

test('a database below the baseline is refused', async () => {
  const { url, client } = await database();
  await client.query(`create schema troupe;
    create table troupe.migrations (id int primary key, name text not null, breaking boolean not null, applied_at timestamptz not null default now());
    insert into troupe.migrations values (39, '0039_before', false)`);
  await expect(migrate(url)).rejects.toMatchObject({
    code: 'schema_too_old',
    message: expect.stringContaining('0039_before'),
    hint: expect.stringContaining('previous release'),
  });
});

test('releases are ordered by Semantic Versioning', () => {
  const ordered = [
    '0.1.0-alpha',
    '0.1.0',
    '0.9.9',
    '0.10.0',
    '1.0.0-1',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.10',
    '1.0.0-rc-x.1',
    '1.0.0',
    '1.0.1',
    '10.0.0',
  ];
  for (const [index, one] of ordered.entries())
    for (const [place, other] of ordered.entries())
      expect(isLowerRelease(one, other), `${one} before ${other}`).toBe(index < place);
  // Build metadata does not count.
  expect(isLowerRelease('1.0.0+1', '1.0.0+2')).toBe(false);
  expect(isLowerRelease('1.0.0-rc.1+9', '1.0.0')).toBe(true);
});

test('a file holds one function of its name and only its triggers', () => {
  const one = 'create or replace function troupe.one() returns int language sql as $$ select 1 $$;\n';
  const two = 'create or replace function troupe.two() returns int language sql as $$ select 2 $$;\n';
  expect(parseSourceFile('base/one.sql', one)).toMatchObject([{ kind: 'function', name: 'one', base: true }]);
  for (const [file, text] of [
    ['a/two.sql', one],
    ['a/one.sql', one + two],
    ['a/one.sql', ''],
  ])
    expect(() => parseSourceFile(file!, text!)).toThrow('must define the function');
});
