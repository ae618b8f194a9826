/** A process that fires plans of the database given as its first argument, until it is killed. Imports no more than it needs. */
import { silentLogger } from '../../src/base/index.ts';
import { Jobs } from '../../src/jobs/index.ts';
import { Kernel } from '../../src/kernel/index.ts';
import { planTasks } from '../../src/process/plan-tasks.ts';
import { Database } from '../../src/store/index.ts';

const db = new Database({ url: process.argv[2]!, applicationName: 'troupe/test', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });
await kernel.listen();
const jobs = new Jobs({ db, logger: silentLogger, crontab: [], tasks: planTasks(kernel) });
await jobs.start();
console.log('started');
