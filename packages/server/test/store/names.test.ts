import { readdirSync, readFileSync } from 'node:fs';
import { readMigrations } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';

test('names that were told apart by case alone stay, the later one with its id behind it', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'), null);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('create schema troupe');
    const index = readMigrations().findIndex(({ name }) => name === '0009_names');
    for (const { sql } of readMigrations().slice(0, index)) await client.query(sql);
    await client.query(`insert into troupe.projects (id, name) values (gen_random_uuid(), 'p')`);
    const add = (name: string) =>
      client.query(
        'insert into troupe.agents (id, project_id, name) select gen_random_uuid(), id, $1 from troupe.projects returning id',
        [name],
      );
    await add('Ärger');
    await add(`Ö${'x'.repeat(199)}`);
    const later = [await add('ärger'), await add(`ö${'x'.repeat(199)}`)].map(({ rows }) => rows[0].id);
    await client.query(readMigrations()[index]!.sql);
    const { rows } = await client.query('select name from troupe.agents order by created_at');
    expect(rows.map(({ name }) => name)).toEqual([
      'Ärger',
      `Ö${'x'.repeat(199)}`,
      `ärger ${later[0]}`,
      `ö${'x'.repeat(162)} ${later[1]}`,
    ]);
    await expect(add('ÄRGER')).rejects.toMatchObject({ constraint: 'agents_name' });
  } finally {
    await client.end();
    await drop();
  }
});

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
