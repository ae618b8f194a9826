import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Database, type Logger, silentLogger } from '@troupe/server';
import { Jobs } from '@troupe/server/parts';
import { createDatabase, until } from '@troupe/testing';
import { inject } from 'vitest';
import type { Task } from '../../src/jobs/task.ts';
import { after } from '../after.ts';

export function connect(url: string): Database {
  const db = new Database({ url, applicationName: 'troupe/test', logger: silentLogger });
  after(() => db.close());
  return db;
}

/** A database with a table `done`, in which tasks write down what they did. */
export async function freshDatabase(): Promise<Database & { url: string }> {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const db = connect(url);
  await db.pool.query('create table done (what text, by int, at timestamptz default clock_timestamp())');
  return Object.assign(db, { url });
}

export async function startJobs(
  db: Database,
  tasks: Record<string, Task>,
  logger: Logger = silentLogger,
): Promise<Jobs> {
  const jobs = new Jobs({ db, logger, tasks, crontab: [] });
  await jobs.start();
  after(() => jobs.close(2_000));
  return jobs;
}

export async function done(db: Database): Promise<string[]> {
  const { rows } = await db.pool.query<{ what: string }>('select what from done order by at');
  return rows.map((row) => row.what);
}

/** Writes its payload into `done`. */
export const note: Task = async (payload, { db }) => {
  await db.pool.query('insert into done (what, by) values ($1, $2)', [String(payload), process.pid]);
};

/** No job is left, whether waiting or taken. */
export async function allGone(db: Database): Promise<void> {
  await until('no job is left', async () => {
    const { rows } = await db.pool.query('select from graphile_worker.jobs');
    return rows.length === 0;
  });
}

/** Jobs in a process of their own; without another script `note`, and `hang`, which never ends. */
export async function jobsProcess(
  url: string,
  script = new URL('process.ts', import.meta.url),
): Promise<ChildProcess> {
  const child = spawn(process.execPath, [fileURLToPath(script), url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => end(child, 'SIGKILL'));
  for await (const line of createInterface({ input: child.stdout! })) if (line === 'started') return child;
  throw new Error(`the process ended with ${child.exitCode}`);
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
