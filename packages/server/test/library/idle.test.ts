import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createDatabase } from '@troupe/testing';
import { expect, inject, test } from 'vitest';

/** 196 MB when every package was imported at start; 107 MB from sources, of which 25 MB are the type stripping of Node. */
const MAX_MEGABYTES = 130;

test('an idle worker of the library loads the driver, lru-cache, zod and four rooms', async () => {
  const database = await createDatabase(inject('postgresUrl'));
  try {
    const program = join(import.meta.dirname, 'idle-worker.ts');
    // Without the hooks and caches of a test run: as the process of a user.
    const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, [program, database.url], { env });
    const { packages, rooms, megabytes } = JSON.parse(stdout) as {
      packages: string[];
      rooms: string[];
      megabytes: number;
    };
    const driver = /^(pg|pg-.*|postgres-.*|xtend|pgpass|split2)$/;
    expect(packages.filter((name) => !driver.test(name))).toEqual(['lru-cache', 'zod']);
    expect(rooms).toEqual([
      'protocol/common.ts',
      'protocol/endpoint.ts',
      'protocol/files.ts',
      'protocol/json.ts',
      'protocol/snapshots.ts',
      'protocol/tool-calls.ts',
      'server/base',
      'server/index.ts',
      'server/kernel',
      'server/models',
      'server/store',
    ]);
    expect(megabytes).toBeLessThan(MAX_MEGABYTES);
  } finally {
    await database.drop();
  }
});
