import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { migrate } from '@troupe/server';
import { createDatabase, until } from '@troupe/testing';
import pg from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { StartupError } from '../../src/base/errors.ts';
import { readSchemaSource, type SchemaSource } from '../../src/store/migrate.ts';
import { oldPostgres } from './old-postgres.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function emptyDatabase(): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createDatabase(inject('postgresUrl'), null);
  cleanups.push(drop);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  cleanups.push(() => client.end());
  return { url, client };
}

const onlyMigrations = (...migrations: SchemaSource['migrations']): SchemaSource => ({
  migrations,
  objects: [],
  release: '0.0.1',
});

async function refusal(url: string): Promise<StartupError> {
  const error = await migrate(url).then(
    () => new Error('the migration was not refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StartupError)) throw error;
  return error;
}

test('orders migrations by number, and no two share one', () => {
  const ids = readSchemaSource().migrations.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
});

test('refuses a Postgres that is too old and names its version', async () => {
  const server = oldPostgres('140011').listen(0, '127.0.0.1');
  cleanups.push(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const error = await refusal(`postgres://troupe@127.0.0.1:${port}/troupe`);
  expect(error).toMatchObject({ code: 'database_too_old', hint: expect.stringContaining('Upgrade') });
  expect(error.message).toContain('version 14');
});

test('rolls back a failed migration', async () => {
  const { url, client } = await emptyDatabase();
  const broken = {
    id: 2,
    name: '0002_broken',
    breaking: false,
    sql: 'create table troupe.half (); select 1/0',
  };
  const good = { id: 1, name: '0001_good', breaking: false, sql: 'create table troupe.good ()' };
  await expect(migrate(url, onlyMigrations(good, broken))).rejects.toThrow('division by zero');
  expect((await client.query(`select from pg_namespace where nspname = 'troupe'`)).rowCount).toBe(0);
  expect(await migrate(url, onlyMigrations(good))).toEqual(['0001_good']);
  expect(await migrate(url, onlyMigrations(good))).toEqual([]);
});

test('race: retries a migration that Postgres aborts to break a deadlock with a worker', async () => {
  const { url, client } = await emptyDatabase();
  const migration = (id: number, sql: string) => ({ id, name: `000${id}_x`, breaking: false, sql });
  const first = migration(1, 'create table troupe.runs (a int); create table troupe.calls (a int)');
  const second = migration(2, 'alter table troupe.runs add b int; alter table troupe.calls add b int');
  await migrate(url, onlyMigrations(first));
  // Postgres aborts the transaction that detects the deadlock first: with this timeout, the migration.
  await client.query(`set deadlock_timeout = '60s'`);
  await client.query('begin; lock table troupe.calls in row exclusive mode');
  const migrated = migrate(url, onlyMigrations(first, second));
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  cleanups.push(() => other.end());
  await until('the migration waits for the worker', async () => {
    const { rowCount } = await other.query(
      `select from pg_locks where relation = 'troupe.calls'::regclass and not granted`,
    );
    return rowCount === 1;
  });
  await client.query('select from troupe.runs; commit');
  expect(await migrated).toEqual(['0002_x']);
});

test('needs no right to create when the schema is current', async () => {
  const { url, client } = await emptyDatabase();
  const name = new URL(url).pathname.slice(1);
  await client.query(
    `create role owner_of_${name} login password 'x'; grant create on database ${name} to owner_of_${name}`,
  );
  cleanups.push(() => client.query(`drop owned by owner_of_${name} cascade; drop role owner_of_${name}`));
  const address = new URL(url);
  Object.assign(address, { username: `owner_of_${name}`, password: 'x' });
  expect(await migrate(address.href)).toHaveLength(readSchemaSource().migrations.length);
  await client.query(`revoke create on database ${name} from owner_of_${name}`);
  expect(await migrate(address.href)).toEqual([]);
});

test('names the missing right if the user may not create the schema', async () => {
  const { url, client } = await emptyDatabase();
  const name = `guest_of_${new URL(url).pathname.slice(1)}`;
  await client.query(`create role ${name} login password 'x'`);
  cleanups.push(() => client.query(`drop role ${name}`));
  const address = new URL(url);
  Object.assign(address, { username: name, password: 'x' });
  expect(await refusal(address.href)).toMatchObject({
    code: 'database_rights',
    hint: expect.stringContaining('CREATE'),
  });
});
