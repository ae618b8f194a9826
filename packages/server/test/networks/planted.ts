import type { Database } from '@troupe/server';

/**
 * Where in the database a value stands, as a dump would show it: every column of every table of Troupe and of its jobs, as it is,
 * in JSON, in base64 and in hex.
 */
export async function placesOf(db: Database, value: string): Promise<string[]> {
  const { rows: tables } = await db.pool.query<{ table: string }>(
    `select format('%I.%I', n.nspname, c.relname) as table from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('troupe', 'graphile_worker') and c.relkind in ('r', 'p')`,
  );
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString('base64').replace(/.=*$/, ''),
    Buffer.from(value).toString('hex'),
  ];
  const found: string[] = [];
  for (const { table } of tables) {
    const { rows } = await db.pool.query<{ column: string }>(
      `select distinct x.key as column from ${table} t, jsonb_each_text(to_jsonb(t)) x
        where exists (select from unnest($1::text[]) form where position(lower(form) in lower(x.value)) > 0)`,
      [forms],
    );
    found.push(...rows.map(({ column }) => `${table}.${column}`));
  }
  return found.sort();
}
