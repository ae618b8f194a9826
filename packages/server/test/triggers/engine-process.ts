import { silentLogger } from '../../src/base/index.ts';
import { openOutgoing } from '../../src/process/allow-lists.ts';
import { Database } from '../../src/store/index.ts';
import { Engine } from '../../src/triggers/engine.ts';

// A process that judges and delivers, and dies at the moment that it is told. No more of the server than that: it is started often.

const [url, moment] = process.argv.slice(2);
const db = new Database({ url: url!, applicationName: 'troupe/engine', logger: silentLogger });
const engine = new Engine({
  db,
  logger: silentLogger,
  outgoing: openOutgoing(() => db),
  secrets: { reveal: async () => null },
  ownKeys: () => [],
  origin: () => null,
  // Webhooks begin no runs.
  acts: { db, kernel: null as never },
  pollMs: 20,
  probe: async (at) => {
    if (at !== moment) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  },
});
engine.start();
process.send!('working');
process.on('disconnect', () => process.exit(1));
