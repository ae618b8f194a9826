import type pg from 'pg';
import { findCallers, readFunctionFiles } from './callers.ts';

// Processes of the last release call functions by these signatures while a newer release already runs on the database.

export const RELEASED = 'packages/server/test/store/released-signatures.txt';

/** Signature of every function in the schema, by name: `troupe.cancel(uuid,text,text) returns jsonb`. */
export async function readSignatures(client: pg.Client): Promise<Map<string, string>> {
  await client.query(`set search_path = ''`);
  const { rows } = await client.query<{ name: string; signature: string }>(
    `select p.proname as name, format('troupe.%s(%s) returns %s', p.proname, array_to_string(array(
        select format_type(t.type, null) from unnest(p.proargtypes) with ordinality t(type, place) order by t.place), ', '),
        pg_get_function_result(p.oid)) as signature
      from pg_proc p where p.pronamespace = 'troupe'::regnamespace and p.prorettype <> 'trigger'::regtype order by p.proname collate "C"`,
  );
  return new Map(rows.map(({ name, signature }) => [name, signature]));
}

/** The signatures that the program itself calls, one per line. */
export async function renderSignatures(client: pg.Client): Promise<string> {
  const callers = findCallers(readFunctionFiles());
  const isCalled = (name: string) => callers.get(name)?.some((caller) => caller.endsWith('.ts'));
  const lines = [...(await readSignatures(client))].flatMap(([name, signature]) =>
    isCalled(name) ? [signature] : [],
  );
  return `${lines.join('\n')}\n`;
}
