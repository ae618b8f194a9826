import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/**
 * A fresh database, cloned from the migrated template. Copying its files takes 20 ms; through the log of Postgres, which is what it
 * does when it is not told, it takes 60.
 */
export async function createDatabase(
  postgresUrl: string,
  template: string | null = 'template',
): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(postgresUrl, async (admin) => {
    await admin.query(`create database ${name}${template ? ` template ${template} strategy file_copy` : ''}`);
  });
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () =>
      asAdmin(
        postgresUrl,
        async (admin) => void (await admin.query(`drop database if exists ${name} with (force)`)),
      ),
  };
}

async function asAdmin(url: string, action: (admin: pg.Client) => Promise<void>): Promise<void> {
  // A template cannot be cloned while anybody is connected to it, another clone under way included: try again.
  for (let attempt = 1; ; attempt++) {
    const admin = new pg.Client({ connectionString: url });
    admin.on('error', () => {});
    await admin.connect();
    try {
      return await action(admin);
    } catch (error) {
      if ((error as { code?: string }).code !== '55006' || attempt >= 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20 * attempt));
    } finally {
      await admin.end();
    }
  }
}
