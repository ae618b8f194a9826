import type pg from 'pg';

// Statements of the one direct connection of a process: it hears and sends hints and holds the worker's lock.

const CHANNEL = 'troupe';

/** Begins to hear hints and takes the lock that shows a worker alive. False where a pooler changes the backend in between. */
export async function openSignals(client: pg.Client, lockFor: string | null): Promise<boolean> {
  const before = await backend(client);
  await client.query(`listen ${CHANNEL}`);
  if (lockFor) await client.query('select pg_advisory_lock(troupe.worker_lock($1))', [lockFor]);
  return (await backend(client)) === before;
}

async function backend(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]!.pid;
}

export async function notify(client: pg.Client, payload: string): Promise<void> {
  await client.query({ name: 'notify', text: 'select pg_notify($1, $2)', values: [CHANNEL, payload] });
}
