import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '../../src/base/index.ts';
import { createSpacesDoor, spaceActs } from '../../src/doors/spaces/index.ts';
import { Kernel } from '../../src/kernel/index.ts';
import { createModels } from '../../src/models/registry.ts';
import { createScripted, type Turn } from '../../src/models/scripted/index.ts';
import { Database } from '../../src/store/index.ts';
import { createTools } from '../../src/tools/index.ts';
import { chance, nameIn, senderTypeIn, triggerIn } from './chatter.ts';

// A worker in a process of its own, to be killed. What its agents do follows from the prompt and nothing else, so that
// whoever takes a run over does the same.

const [url] = process.argv.slice(2);
const db = new Database({ url: url!, applicationName: 'troupe/space-worker', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });
const scripted = createScripted(async ({ system, step, runId }): Promise<Turn> => {
  const [name, text] = [nameIn(system), triggerIn(system)];
  await delay(2 + chance(`${runId} ${step}`) * 20);
  const talks = senderTypeIn(system) === 'human' || chance(`${name} ${text}`) < 0.2;
  if (step === 1 && chance(`${runId} reads`) < 0.3)
    return { calls: [{ name: 'read_messages', arguments: { limit: 5 } }] };
  if (step <= 2 && talks && chance(`${runId} ${step} says`) < 0.12)
    return { calls: [{ name: 'send_message', arguments: { text: `${name} on ${text.slice(0, 40)}` } }] };
  return { text: 'Nothing to add.' };
});
await kernel.work({
  doors: [createSpacesDoor(db)],
  models: createModels({ demo: scripted.provider }),
  tools: createTools({ ofDoors: spaceActs({ db, kernel }) }),
  capacity: 20,
});
process.send!('working');
process.on('disconnect', () => process.exit(1));
