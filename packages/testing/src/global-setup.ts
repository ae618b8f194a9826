import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBinaries, migrate, silentLogger, startEmbedded } from '@troupe/server';
import { migrateJobs } from '@troupe/server/parts';
import pg from 'pg';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Postgres of this test run; its database `template` is migrated and cloned for every test file. */
    postgresUrl: string;
    /** Where homes.ts keeps the home that it copies. */
    homesDirectory: string;
  }
}

/** One real Postgres for the whole test run, with fsync on as in production. TROUPE_TEST_POSTGRES=15 takes the oldest supported one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-test-'));
  const binaries = process.env.TROUPE_TEST_POSTGRES === '15' ? findBinaries(15) : undefined;
  const postgres = await startEmbedded({ home, logger: silentLogger, ...(binaries ? { binaries } : {}) });
  await createTemplate(postgres.url);
  project.provide('postgresUrl', postgres.url);
  project.provide('homesDirectory', home);
  return async () => {
    await postgres.stop();
    rmSync(home, { recursive: true, force: true });
  };
}

export async function createTemplate(url: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query('create database template');
  await admin.end();
  const template = new URL(url);
  template.pathname = '/template';
  await migrate(template.href);
  await migrateJobs(template.href, silentLogger);
}
