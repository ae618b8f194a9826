import { expect, inject, it } from 'vitest';
import { silentLogger } from '../../src/base/index.ts';
import { Database } from '../../src/store/index.ts';

it('a connection that is lost while it is lent fails what is sent over it, and nothing else', async () => {
  const db = new Database({
    url: inject('postgresUrl'),
    applicationName: 'troupe/test',
    logger: silentLogger,
  });
  try {
    const client = await db.pool.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await db.kernel.query('select pg_terminate_backend($1)', [rows[0]!.pid]);
    await ended;
    await expect(client.query('select 1')).rejects.toThrow();
    client.release(true);
    expect((await db.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  } finally {
    await db.close();
  }
});
