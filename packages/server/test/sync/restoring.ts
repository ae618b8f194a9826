import { migrate } from '@troupe/server';
import pg from 'pg';

// What pg_dump and pg_restore do, without their programs, which the embedded Postgres does not have.

async function withClient<T>(url: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}

export interface Dump {
  /** Rows as JSON, by table. */
  rows: Map<string, string>;
  stampOffset: string;
}

const TABLES = `select c.relname as name, array(select quote_ident(a.attname) from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns
  from pg_class c where c.relnamespace = 'troupe'::regnamespace and c.relkind = 'r' and c.relname <> 'migrations'`;

export function dump(url: string): Promise<Dump> {
  return withClient(url, async (client) => {
    await client.query('begin isolation level repeatable read');
    const { rows: tables } = await client.query<{ name: string }>(TABLES);
    const rows = new Map<string, string>();
    for (const { name } of tables) {
      const { rows: all } = await client.query(
        `select coalesce(json_agg(t), '[]')::text as rows from troupe.${name} t`,
      );
      rows.set(name, all[0].rows);
    }
    const { rows: functions } = await client.query(
      `select pg_get_functiondef('troupe.stamp_offset'::regproc) as text`,
    );
    return { rows, stampOffset: functions[0].text };
  });
}

/** Restores into a fresh database: constraints and triggers come after the rows, as pg_restore does it. */
export async function restore(url: string, database: string, { rows, stampOffset }: Dump): Promise<string> {
  await withClient(url, (client) => client.query(`create database ${database}`));
  const target = new URL(url);
  target.pathname = `/${database}`;
  await migrate(target.href);
  await withClient(target.href, async (client) => {
    const { rows: references } = await client.query<{ table: string; name: string; text: string }>(
      `select c.conrelid::regclass::text as table, quote_ident(c.conname) as name, pg_get_constraintdef(c.oid) as text
        from pg_constraint c where c.connamespace = 'troupe'::regnamespace and c.contype = 'f'`,
    );
    const { rows: triggers } = await client.query<{ table: string; name: string }>(
      `select t.tgrelid::regclass::text as table, t.tgname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'troupe'::regnamespace and not t.tgisinternal and t.tgenabled <> 'D'`,
    );
    const { rows: tables } = await client.query<{ name: string; columns: string[] }>(TABLES);
    await client.query('begin');
    for (const { table, name } of references)
      await client.query(`alter table ${table} drop constraint ${name}`);
    for (const { table, name } of triggers)
      await client.query(`alter table ${table} disable trigger ${name}`);
    for (const { name, columns } of tables) {
      await client.query(`truncate troupe.${name}`);
      await client.query(
        `insert into troupe.${name} (${columns}) overriding system value
          select ${columns} from json_populate_recordset(null::troupe.${name}, $1::json)`,
        [rows.get(name)],
      );
    }
    for (const { table, name } of triggers) await client.query(`alter table ${table} enable trigger ${name}`);
    for (const { table, name, text } of references)
      await client.query(`alter table ${table} add constraint ${name} ${text}`);
    const { rows: identities } = await client.query<{ table: string; column: string }>(
      `select a.attrelid::regclass::text as table, a.attname as column from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'troupe'::regnamespace and c.relkind = 'r' and a.attidentity <> ''`,
    );
    for (const { table, column } of identities)
      await client.query(
        `select setval(pg_get_serial_sequence('${table}', '${column}'), (select coalesce(max(${column}), 0) + 1 from ${table}))`,
      );
    await client.query(stampOffset);
    await client.query('commit');
  });
  return target.href;
}

/** The id that the next transaction of a cluster gets. */
export function nextTransaction(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query(
      'select pg_snapshot_xmax(pg_current_snapshot())::text::bigint::int as next',
    );
    return rows[0].next;
  });
}

/** Uses up transaction ids until the next one is at least this. */
export async function advanceTransactions(url: string, to: number): Promise<void> {
  const missing = to - (await nextTransaction(url));
  if (missing <= 0) return;
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off');
    await client.query(
      `do $$ begin for n in 1..${missing} loop perform pg_current_xact_id(); commit; end loop; end $$`,
    );
  });
}
