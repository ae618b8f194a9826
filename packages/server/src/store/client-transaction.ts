import type pg from 'pg';
import type { Database } from './database.ts';

/** Runs `work` in a transaction on a connection of the shared pool. `mode`: as after `begin`. */
export async function inTransaction<Result>(
  db: Database,
  work: (client: pg.PoolClient) => Promise<Result>,
  mode = '',
): Promise<Result> {
  const client = await db.pool.connect();
  let broken = true;
  try {
    await client.query(`begin ${mode}`);
    const result = await work(client);
    await client.query('commit');
    broken = false;
    return result;
  } catch (error) {
    await client.query('rollback').then(
      () => (broken = false),
      () => {},
    );
    throw error;
  } finally {
    client.release(broken);
  }
}
