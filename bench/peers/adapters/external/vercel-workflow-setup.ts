/** Creates the tables of @workflow/world-postgres with the command that it brings. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Service, ServiceOptions } from '../../adapter.ts';

export async function start({ databaseUrl }: ServiceOptions): Promise<Service> {
  const main = fileURLToPath(import.meta.resolve('@workflow/world-postgres'));
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(dirname(main), '../bin/setup.js')], {
    env: { ...process.env, WORKFLOW_POSTGRES_URL: databaseUrl },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr || stdout);
  return { pids: [], stop: async () => {} };
}
