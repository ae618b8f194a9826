import type pg from 'pg';
import type { SourceObject } from './sources.ts';

// Each function and trigger has the checksum of its source as its comment in the database, so that a start changes only
// those that differ.

const PREFIX = 'source:';
const INVALID_FUNCTION_DEFINITION = '42P13';

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
  const changed = objects.filter((object) => {
    const present = stored.get(keyOf(object)) ?? [];
    return present.length !== 1 || present[0]!.checksum !== object.checksum;
  });
  if (changed.length === 0) return [];
  // A function may call one that is created after it.
  await client.query('set local check_function_bodies = off');
  const functions = changed.filter(({ kind }) => kind === 'function');
  const before = await readVersions(client, functions);
  for (const object of functions) await replaceFunction(client, object, stored.get(keyOf(object)) ?? []);
  const comments: string[] = [];
  for (const { name, identity, version } of await readVersions(client, functions)) {
    // Unchanged: an overload with other parameters, which `create or replace` leaves.
    if (before.some((other) => other.version === version)) comments.push(`drop function ${identity}`);
    else comments.push(commentOn(`function ${identity}`, functions.find((object) => object.name === name)!));
  }
  for (const object of changed) {
    if (object.kind !== 'trigger') continue;
    const drops = (stored.get(keyOf(object)) ?? []).map(({ identity }) => `drop trigger ${identity};`);
    await client.query([...drops, object.sql].join('\n'));
    comments.push(commentOn(`trigger ${object.name} on troupe.${object.table}`, object));
  }
  await client.query(comments.join(';\n'));
  return changed.map(({ name }) => name);
}

const commentOn = (what: string, { checksum }: SourceObject) =>
  `comment on ${what} is '${PREFIX}${checksum}'`;

/** `create or replace` refuses another result type, parameter name or default: then the function is dropped first. */
async function replaceFunction(client: pg.Client, object: SourceObject, present: Stored[]): Promise<void> {
  try {
    await client.query(`savepoint replacing;\n${object.sql}\n;release savepoint replacing`);
  } catch (error) {
    if ((error as { code?: string }).code !== INVALID_FUNCTION_DEFINITION) throw error;
    const drops = present.map(({ identity }) => `drop function ${identity};`);
    await client.query(['rollback to savepoint replacing;', ...drops, object.sql].join('\n'));
  }
}

interface Version {
  name: string;
  identity: string;
  /** Where its row is stored, which changes when the function is replaced. */
  version: string;
}

async function readVersions(client: pg.Client, functions: SourceObject[]): Promise<Version[]> {
  const { rows } = await client.query<Version>(
    `select p.proname as name, p.oid::regprocedure::text as identity, p.oid || ' ' || p.ctid as version from pg_proc p
      where p.pronamespace = to_regnamespace('troupe') and p.proname = any($1)`,
    [functions.map(({ name }) => name)],
  );
  return rows;
}

async function readStored(client: pg.Client): Promise<Map<string, Stored[]>> {
  const { rows } = await client.query<Stored>(STORED);
  return Map.groupBy(rows, keyOf);
}

function keyOf({ kind, name, table }: { kind: string; name: string; table?: string | null }): string {
  return `${kind} ${name} ${table ?? ''}`;
}
