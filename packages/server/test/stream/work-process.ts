import { createModels, Database, Kernel, silentLogger } from '@troupe/server';
import { createScripted, Stream } from '@troupe/server/parts';
import { codeTools, plainDoor } from '@troupe/testing';

// A process that only works. What its model says stands in the messages.

const db = new Database({ url: process.argv[2]!, applicationName: 'troupe/work', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });
const worker = await kernel.work({
  doors: [plainDoor],
  models: createModels({ scripted: createScripted().provider }),
  tools: codeTools({}),
});
new Stream({ db, logger: silentLogger, line: kernel });
process.send!({ incarnation: worker.incarnation });
process.on('disconnect', () => process.exit());
