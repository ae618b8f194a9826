/** A process that carries out jobs of the database given as its first argument, until it is killed. */
import { Database, silentLogger } from '@troupe/server';
import { Jobs } from '@troupe/server/parts';

const url = process.argv[2]!;
const db = new Database({ url, applicationName: 'troupe/test', logger: silentLogger });
const jobs = new Jobs({
  db,
  logger: silentLogger,
  crontab: [],
  tasks: {
    note: async (payload) => {
      await db.pool.query('insert into done (what, by) values ($1, $2)', [String(payload), process.pid]);
    },
    hang: async (payload) => {
      await db.pool.query('insert into done (what, by) values ($1, $2)', [`hang ${payload}`, process.pid]);
      await new Promise(() => {});
    },
  },
});
await jobs.start();
console.log('started');
