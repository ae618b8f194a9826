import type pg from 'pg';
import { newId } from '../base/index.ts';

/**
 * Whether statements that are named here can be executed by name later. Not so behind a pooler that gives every transaction another session and
 * hands names on as they are, such as PgBouncer before 1.21: there, a name is unknown to the next session (26000), or taken in it (42P05).
 * One that tracks names replaces them by its own, which shows in the session.
 */
export async function tracksNames(pool: pg.Pool): Promise<boolean> {
  const client = await pool.connect();
  const name = `troupe_${newId()}`;
  try {
    await client.query('begin');
    const { rows } = await client.query<{ pid: number }>({ name, text: 'select pg_backend_pid() as pid' });
    // A pooler gives out process ids of its own.
    const isDirect = (client as unknown as { processID: number | null }).processID === rows[0]!.pid;
    const { rows: known } = await client.query('select from pg_prepared_statements where name = $1', [name]);
    if (known.length > 0) await client.query(`deallocate "${name}"`);
    await client.query('commit');
    return isDirect || known.length === 0;
  } finally {
    // Its session may still have the name.
    client.release(true);
  }
}
