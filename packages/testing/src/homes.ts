import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { migrate, silentLogger, startEmbedded } from '@troupe/server';
import { migrateJobs } from '@troupe/server/parts';

/**
 * Fills a home as if `dev` had been started and stopped there before. The first one is made, the others are copies of
 * it: a first start takes two seconds of processor time, which only the tests of first starts should spend.
 * `directory` is `homesDirectory` of the test run.
 */
export async function furnish(home: string, directory: string): Promise<void> {
  const model = join(directory, 'model-home');
  if (!existsSync(model)) await makeModel(directory, model);
  execFileSync('cp', ['-Rp', join(model, 'postgres'), home]);
}

async function makeModel(directory: string, model: string): Promise<void> {
  const scratch = mkdtempSync(join(directory, 'making-'));
  const postgres = await startEmbedded({ home: scratch, logger: silentLogger });
  await migrate(postgres.url);
  await migrateJobs(postgres.url, silentLogger);
  await postgres.stop();
  // Every copy finds a port of its own and begins a log of its own.
  for (const file of ['port', 'postgres.log']) rmSync(join(scratch, 'postgres', file));
  try {
    renameSync(scratch, model);
  } catch (error) {
    // Another file was faster; its model is as good.
    if (!existsSync(model)) throw error;
    rmSync(scratch, { recursive: true });
  }
}
