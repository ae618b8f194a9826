/** What `work` is, as far as batches need it, until it is killed: a worker and jobs on the database given as the first argument. */
import { setTimeout as delay } from 'node:timers/promises';
import { createModels, Database, Kernel, silentLogger } from '@troupe/server';
import {
  batchTasks,
  createNetworksDoor,
  createScripted,
  createTools,
  Encryption,
  Jobs,
  toolParts,
} from '@troupe/server/parts';

const [url, key] = process.argv.slice(2);
const db = new Database({ url: url!, applicationName: 'troupe/test', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });
const encryption = new Encryption([{ id: 'v1', key: Buffer.from(key!, 'base64') }]);
const scripted = createScripted(async ({ messages }) => {
  const { text } = messages[0] as { text: string };
  await delay(5);
  return { calls: [{ name: 'respond', arguments: { payload: { echo: text } } }] };
});
await kernel.work({
  doors: [createNetworksDoor(db, encryption)],
  models: createModels({ demo: scripted.provider }),
  tools: createTools(toolParts(db, encryption)),
  capacity: 50,
});
const jobs = new Jobs({ db, logger: silentLogger, crontab: [], tasks: batchTasks(kernel, encryption) });
await jobs.start();
console.log('started');
