import { type Logger, silentLogger } from '../base/index.ts';
import { Database, withMigrationLock } from '../store/index.ts';
import { graphile } from './graphile.ts';
import { graphileLogger } from './logger.ts';

/** Brings Graphile Worker's schema up to date. `url` must reach Postgres directly: the lock is that of a session. */
export async function migrateJobs(url: string, logger: Logger): Promise<void> {
  await withMigrationLock(url, async () => {
    const db = new Database({ url, applicationName: 'troupe/migrate', logger: silentLogger });
    const jobs = db.createJobsPool(1);
    try {
      await graphile().runMigrations({ pgPool: jobs.pool, logger: graphileLogger(logger) });
    } finally {
      await jobs.end(1_000);
      await db.close();
    }
  });
}
