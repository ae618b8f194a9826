import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, startEmbedded } from '@troupe/server';
import { until } from '@troupe/testing';
import { createTemplate } from '@troupe/testing/global-setup';
import pg from 'pg';

/** A Postgres of the test's own, to be mistreated. */
export async function openPostgres() {
  const home = mkdtempSync(join(tmpdir(), 'troupe-fault-'));
  const postgres = await startEmbedded({ home, logger: silentLogger });
  await createTemplate(postgres.url);
  const pid = () => Number(readFileSync(join(home, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    url: postgres.url,
    /** `SIGINT` ends every session in good order, `SIGQUIT` is a crash with recovery. Its owner starts it again. */
    async restart(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
      const before = pid();
      process.kill(before, signal);
      await until('Postgres is up again', async () => {
        const client = new pg.Client({ connectionString: postgres.url });
        client.on('error', () => {});
        try {
          await client.connect();
          await client.query('select 1');
          return pid() !== before;
        } catch {
          return false;
        } finally {
          await client.end().catch(() => {});
        }
      });
    },
    async close(): Promise<void> {
      await postgres.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
