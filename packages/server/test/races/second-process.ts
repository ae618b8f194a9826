/**
 * Another Troupe process against the same database, for races that cross processes. Started with the database's address;
 * does what its parent sends and answers with the outcome.
 */
import { Database, Kernel, type StartItem, silentLogger } from '@troupe/server';
import { work } from './echo.ts';

export type Order =
  | { id: number; do: 'start'; items: StartItem[] }
  | { id: number; do: 'post'; items: Parameters<Kernel['post']>[0][] }
  | { id: number; do: 'cancel'; runs: string[] }
  | { id: number; do: 'work' };

const db = new Database({ url: process.argv[2]!, applicationName: 'process 2', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });

async function obey(order: Order): Promise<unknown> {
  if (order.do === 'work') return work(kernel);
  if (order.do === 'cancel') return Promise.all(order.runs.map((run) => kernel.cancel(run)));
  if (order.do === 'post') return Promise.all(order.items.map((item) => kernel.post(item)));
  return Promise.all(order.items.map((item) => kernel.start(item)));
}

process.on('message', (order: Order) => {
  obey(order).then(
    (answer) => process.send!({ id: order.id, answer }),
    (error: unknown) => process.send!({ id: order.id, error: String(error) }),
  );
});
process.once('disconnect', async () => {
  await kernel.close();
  await db.close();
  process.exit(0);
});
process.send!({ id: 0, answer: 'ready' });
