import type pg from 'pg';
import type { SourceObject } from './sources.ts';

// Each function and trigger carries the checksum of its source as its comment in the database, so that a start changes only what differs.

const PREFIX = 'source:';

interface Stored {
  kind: SourceObject['kind'];
  name: string;
  table: string | null;
  /** How `drop` names it. */
  identity: string;
  checksum: string | null;
}

const STORED = `select 'function' as kind, p.proname as name, null as table, p.oid::regprocedure::text as identity,
    substring(obj_description(p.oid, 'pg_proc') from '^${PREFIX}(.*)$') as checksum
  from pg_proc p where p.pronamespace = to_regnamespace('troupe')
  union all
  select 'trigger', t.tgname, c.relname, format('%I on %s', t.tgname, c.oid::regclass),
    substring(obj_description(t.oid, 'pg_trigger') from '^${PREFIX}(.*)$')
  from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where c.relnamespace = to_regnamespace('troupe') and not t.tgisinternal`;

/** Creates the functions that tables are built with. Returns the names of those that changed. */
export async function applyBaseFunctions(client: pg.Client, objects: SourceObject[]): Promise<string[]> {
  const stored = await readStored(client);
  return applyChanged(
    client,
    objects.filter((object) => object.base),
    stored,
  );
}

/** Makes the functions and triggers of the schema equal to the source. Returns the names of those that changed. */
export async function applySources(client: pg.Client, objects: SourceObject[]): Promise<string[]> {
  const stored = await readStored(client);
  const wanted = new Set(objects.map(keyOf));
  const gone = [...stored.values()].flat().filter((object) => !wanted.has(keyOf(object)));
  // Triggers first: Postgres refuses to drop a function that a trigger executes.
  for (const kind of ['trigger', 'function'] as const)
    for (const object of gone)
      if (object.kind === kind) await client.query(`drop ${kind} ${object.identity}`);
  const changed = await applyChanged(client, objects, stored);
  return [...gone.map(({ name }) => name), ...changed];
}

async function applyChanged(
  client: pg.Client,
  objects: SourceObject[],
  stored: Map<string, Stored[]>,
): Promise<string[]> {
  // A function may call one that is created after it.
  await client.query('set local check_function_bodies = off');
  const changed: string[] = [];
  for (const kind of ['function', 'trigger'] as const)
    for (const object of objects) {
      if (object.kind !== kind) continue;
      const present = stored.get(keyOf(object)) ?? [];
      if (present.length === 1 && present[0]!.checksum === object.checksum) continue;
      await (kind === 'function' ? replaceFunction : replaceTrigger)(client, object, present);
      changed.push(object.name);
    }
  return changed;
}

/** A changed signature needs a drop: `create or replace` would keep the old function beside the new one, or refuse. */
async function replaceFunction(client: pg.Client, object: SourceObject, present: Stored[]): Promise<void> {
  await client.query('savepoint replacing');
  try {
    await client.query(object.sql);
  } catch (error) {
    if ((error as { code?: string }).code !== '42P13') throw error;
    await client.query('rollback to savepoint replacing');
    for (const { identity } of present) await client.query(`drop function ${identity}`);
    await client.query(object.sql);
  }
  await client.query('release savepoint replacing');
  // The youngest row is the one just written; the others are overloads with an earlier signature.
  const { rows } = await client.query<{ identity: string }>(
    `select p.oid::regprocedure::text as identity from pg_proc p
      where p.pronamespace = 'troupe'::regnamespace and p.proname = $1 order by age(p.xmin)`,
    [object.name],
  );
  const [current, ...earlier] = rows;
  for (const { identity } of earlier) await client.query(`drop function ${identity}`);
  await client.query(`comment on function ${current!.identity} is '${PREFIX}${object.checksum}'`);
}

async function replaceTrigger(client: pg.Client, object: SourceObject, present: Stored[]): Promise<void> {
  for (const { identity } of present) await client.query(`drop trigger ${identity}`);
  await client.query(object.sql);
  await client.query(
    `comment on trigger ${object.name} on troupe.${object.table} is '${PREFIX}${object.checksum}'`,
  );
}

async function readStored(client: pg.Client): Promise<Map<string, Stored[]>> {
  const { rows } = await client.query<Stored>(STORED);
  return Map.groupBy(rows, keyOf);
}

function keyOf({ kind, name, table }: { kind: string; name: string; table?: string | null }): string {
  return `${kind} ${name} ${table ?? ''}`;
}
