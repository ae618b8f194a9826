/** The machine and the settings that figures depend on. */
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import type pg from 'pg';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
  postgres: string;
  fsync: string;
  synchronousCommit: string;
  walSyncMethod: string;
}

export async function describeMachine(admin: pg.Pool): Promise<Machine> {
  const setting = async (name: string) =>
    (await admin.query<{ value: string }>('select current_setting($1) as value', [name])).rows[0]!.value;
  const cores = cpus();
  return {
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: /PRETTY_NAME="(.*)"/.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux',
    node: process.version,
    postgres: await setting('server_version'),
    fsync: await setting('fsync'),
    synchronousCommit: await setting('synchronous_commit'),
    walSyncMethod: await setting('wal_sync_method'),
  };
}

export function machineText(machine: Machine): string {
  return (
    `${machine.cores} cores of ${machine.cpu}, ${machine.memoryGb} GB, ${machine.system}, ` +
    `Node ${machine.node}, PostgreSQL ${machine.postgres} with fsync ${machine.fsync}, ` +
    `synchronous_commit ${machine.synchronousCommit}, wal_sync_method ${machine.walSyncMethod}`
  );
}
