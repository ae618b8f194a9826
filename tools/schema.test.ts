import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { readColumns, readStatements } from './schema/catalog.ts';
import { renderSql, renderTypes } from './schema/render.ts';

async function withDatabase<T>(
  template: string | null,
  action: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const { url, drop } = await createDatabase(inject('postgresUrl'), template);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
    await drop();
  }
}

const dump = async (client: pg.Client) => renderSql(await readStatements(client));

test('the dump loads into an empty database and gives the same dump there: nothing is missing', async () => {
  const made = await withDatabase('template', dump);
  const loaded = await withDatabase(null, async (client) => {
    // Functions are dumped by name, whichever calls which.
    await client.query(`set check_function_bodies = off; ${made}`);
    return dump(client);
  });
  expect(loaded).toBe(made);
  expect(made).toContain('create unlogged table troupe.workers');
});

const EVERYTHING = `
  create schema troupe;
  create type troupe.mood as enum ('good', 'bad');
  create type troupe.pair as (one text, two uuid);
  create sequence troupe.rev as bigint;
  create table troupe.parents (id uuid primary key);
  create table troupe.things (
    id bigint generated always as identity primary key,
    parent_id uuid references troupe.parents on delete cascade,
    mood troupe.mood not null default 'good',
    kind text not null check (kind in ('one', 'two')),
    tags text[] not null default '{}',
    extra jsonb,
    doubled int generated always as (length(kind) * 2) stored,
    made_at timestamptz not null default now(),
    gone_at timestamptz,
    unique (kind, mood)
  ) with (fillfactor = 50);
  create index things_kind on troupe.things (lower(kind)) where extra is not null;
  create view troupe.good_things as select id, kind from troupe.things where mood = 'good';
  create function troupe.touch() returns trigger language plpgsql as $$ begin return new; end $$;
  create trigger touch before update on troupe.things for each row execute function troupe.touch();
  create trigger idle after insert on troupe.things for each row execute function troupe.touch();
  alter table troupe.things disable trigger idle;
  comment on table troupe.things is 'it''s a table';
  comment on column troupe.things.kind is 'one or two';`;

test('every kind of object is dumped, and loads', async () => {
  const made = await withDatabase(null, async (client) => {
    await client.query(EVERYTHING);
    return dump(client);
  });
  const loaded = await withDatabase(null, async (client) => {
    await client.query(made);
    return dump(client);
  });
  expect(loaded).toBe(made);
  const words = ['fillfactor=50', 'on delete cascade', 'identity', 'stored', 'things_kind', 'good_things'];
  for (const word of [
    ...words,
    'create trigger touch',
    'disable trigger idle',
    'troupe.pair as',
    `it''s a table`,
    'one or two',
    'troupe.rev',
  ]) {
    expect(made.toLowerCase().replace(/\s+/g, ' ')).toContain(word);
  }
});

test('types follow nullability, defaults and what is allowed', async () => {
  const types = await withDatabase(null, async (client) => {
    await client.query(EVERYTHING);
    return renderTypes(await readColumns(client));
  });
  expect(types).toContain(`export interface Things {
  id: Generated<number>;
  parent_id: string | null;
  mood: Generated<'good' | 'bad'>;
  kind: 'one' | 'two';
  tags: Generated<string[]>;
  extra: JsonColumn<null | undefined>;
  doubled: Generated<number | null>;
  made_at: Timestamp<undefined>;
  gone_at: Timestamp<null | undefined>;
}`);
  expect(types).toContain(
    'export interface DB {\n  good_things: GoodThings;\n  parents: Parents;\n  things: Things;\n}',
  );
});
