import { Database, silentLogger } from '@troupe/server';
import { houseTasks } from '../../src/jobs/housekeeping.ts';

// A process that purges, again and again, until it is killed.

const db = new Database({ url: process.argv[2]!, applicationName: 'test/retention', logger: silentLogger });
const signal = new AbortController().signal;
process.stdout.write('purging\n');
for (;;) {
  const context = { db, logger: silentLogger, signal, attempt: 1, lastAttempt: false };
  await houseTasks()['retention']!({}, context).catch(() => {});
}
