import type pg from 'pg';

// Statements of the one direct connection of a process: it hears and sends hints and holds its lock.

const CHANNEL = 'troupe';

/** What is known to live while the connection does. A shared lock is never waited for, also while a lost connection still holds it. */
export interface LockFor {
  incarnation: string;
  isShared: boolean;
}

/** Begins to hear hints and takes the lock that shows the process alive. False where a pooler changes the backend in between. */
export async function openSignals(client: pg.Client, { incarnation, isShared }: LockFor): Promise<boolean> {
  const before = await backend(client);
  await client.query(`listen ${CHANNEL}`);
  const lock = isShared ? 'pg_advisory_lock_shared' : 'pg_advisory_lock';
  await client.query(`select ${lock}(troupe.worker_lock($1))`, [incarnation]);
  return (await backend(client)) === before;
}

async function backend(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]!.pid;
}

export async function notify(client: pg.Client, payload: string): Promise<void> {
  await client.query({ name: 'notify', text: 'select pg_notify($1, $2)', values: [CHANNEL, payload] });
}
