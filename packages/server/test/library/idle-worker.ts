/** A worker of the library without work, in a process of its own: prints which packages and rooms it loaded, and its memory. */
import { registerHooks } from 'node:module';

const packages = new Set<string>();
const rooms = new Set<string>();
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(found.url)?.[1];
    const room = /\/packages\/((?:protocol|server)\/src\/[^/]+)/.exec(found.url)?.[1];
    if (name) packages.add(name);
    else if (room) rooms.add(room.replace('/src', ''));
    return found;
  },
});

const { createModels, Database, Kernel, silentLogger } = await import('@troupe/server');
const url = process.argv[2]!;
let looks = 0;
const idle = Promise.withResolvers<void>();
const db = new Database({
  url,
  applicationName: 'test/idle',
  logger: silentLogger,
  onStatement: (name) => {
    if (name === 'claim' && ++looks === 4) idle.resolve();
  },
});
const kernel = new Kernel({ db, logger: silentLogger });
const unused = async (): Promise<never> => {
  throw new Error('There is no work.');
};
await kernel.work({
  doors: [],
  models: createModels({ none: () => ({ generate: unused }) }),
  tools: { resolve: () => unused },
});
await idle.promise; // it has polled the queue four times
const megabytes = Math.round(process.memoryUsage.rss() / 2 ** 20);
console.log(JSON.stringify({ packages: [...packages].sort(), rooms: [...rooms].sort(), megabytes }));
await kernel.close();
await db.close();
