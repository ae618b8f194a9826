// npm run bench:retention [-- runs per day]
// Days of load with retention on: how large every table is after each day, and how long loading and purging took. What is
// printed is after a plain vacuum, as autovacuum does it; nothing is rewritten.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, migrate, silentLogger, startEmbedded } from '@troupe/server';
import { buildProject, buildSnapshot } from '@troupe/testing';
import { migrateJobs } from '../packages/server/src/jobs/migrate.ts';
import { simulate, TABLES } from './retention/week.ts';

const perDay = Number(process.argv[2] ?? 10_000) / 2;
const home = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const postgres = await startEmbedded({ home, logger: silentLogger });
await migrate(postgres.url);
const db = new Database({ url: postgres.url, applicationName: 'bench', logger: silentLogger });
await migrateJobs(postgres.url, silentLogger);
const ids = await buildProject(db);
const snapshot = await buildSnapshot(db, ids);
const megabytes = (bytes: number) => (bytes / 1_048_576).toFixed(1).padStart(7);

console.log(
  `${perDay} sessions and ${perDay} runs outside sessions per day, kept for 2 days; MB with indexes`,
);
console.log(
  ['day', 'load s', 'purge s', 'all', ...TABLES.slice(0, 9)]
    .map((text) => text.slice(0, 8).padStart(8))
    .join(' '),
);
await simulate(db, ids, snapshot, { days: 7, perDay, keepDays: 2 }, ({ day, loadMs, purgeMs, tables }) => {
  const all = Object.values(tables).reduce((sum, { bytes }) => sum + bytes, 0);
  const cells = [day, (loadMs / 1000).toFixed(1), (purgeMs / 1000).toFixed(1), megabytes(all)];
  console.log(
    [...cells, ...TABLES.slice(0, 9).map((table) => megabytes(tables[table]!.bytes))]
      .map((cell) => String(cell).padStart(8))
      .join(' '),
  );
});
await db.close();
await postgres.stop();
rmSync(home, { recursive: true, force: true });
