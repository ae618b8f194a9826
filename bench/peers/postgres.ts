/** A Postgres of its own for one run of the benchmark: the project's embedded binaries with their default settings. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger, startEmbedded } from '@troupe/server';
import pg from 'pg';
import { describeMachine, type Machine } from './machine.ts';
import { parentOf } from './processes.ts';

export interface BenchPostgres {
  machine: Machine;
  postmasterPid: number;
  /** Drops the database of that name, if any, and creates it empty. Returns its URL. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startPostgres(directory: string): Promise<BenchPostgres> {
  const home = join(directory, 'postgres');
  const postgres = await startEmbedded({ home, logger: silentLogger });
  const admin = new pg.Pool({ connectionString: postgres.url, max: 1 });
  admin.on('error', () => {});
  const stop = async () => {
    await admin.end();
    await postgres.stop();
    await rm(home, { recursive: true, force: true });
  };
  try {
    const machine = await describeMachine(admin);
    if (machine.fsync !== 'on' || machine.synchronousCommit !== 'on') {
      throw new Error('The benchmark needs fsync and synchronous_commit on.');
    }
    const { rows } = await admin.query<{ pid: number }>('select pg_backend_pid() as pid');
    const postmasterPid = parentOf(rows[0]!.pid);
    if (postmasterPid === undefined) throw new Error('The benchmark reads /proc and needs Linux.');
    return {
      machine,
      postmasterPid,
      async createDatabase(name) {
        await admin.query(`drop database if exists ${name} with (force)`);
        await admin.query(`create database ${name}`);
        const url = new URL(postgres.url);
        url.pathname = `/${name}`;
        return url.href;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
