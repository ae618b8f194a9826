import { Troupe } from '@troupe/sdk';
import { createDatabase, openServer } from '@troupe/testing';
import pg from 'pg';
import { CapturedPlans, type Execution, explained } from './captured-plans.ts';
import { grow, sizeOf } from './grow.ts';
import { type Growth, growing } from './growth.ts';
import { makeTemplate, script } from './template.ts';
import { use } from './use.ts';

export interface Comparison {
  sizes: { runs: number; messages: number }[];
  grown: Growth[];
  /** With the long history, the most expensive first. */
  slowest: Execution[];
  executions: Execution[];
}

/** Uses a server with a history of a third of these runs, then with all of them, and compares the pages that each statement reads. */
export async function compare(postgresUrl: string, { runs }: { runs: number }): Promise<Comparison> {
  const database = await createDatabase(postgresUrl);
  const plans = new CapturedPlans();
  const server = await openServer({
    postgresUrl,
    databaseUrl: explained(database.url),
    script,
    jobs: true,
    triggers: true,
  });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const troupe = new Troupe({ baseUrl: server.url });
    const ids = await makeTemplate(troupe, server);
    const perCopy = (await sizeOf(client)).runs;
    const copies = Math.ceil(runs / perCopy);
    const sizes: Comparison['sizes'] = [];
    const measure = async (from: number, to: number) => {
      await grow(client, from, to);
      sizes.push(await sizeOf(client));
      // The first use plans the statements and fills the caches.
      await use(troupe, server, ids);
      plans.take();
      await use(troupe, server, ids);
      return plans.take();
    };
    const before = await measure(1, Math.ceil(copies / 3));
    const after = await measure(Math.ceil(copies / 3), copies);
    const slowest = after.toSorted((one, two) => two.pages - one.pages).slice(0, 10);
    return { sizes, grown: growing(before, after), slowest, executions: after };
  } finally {
    await client.end();
    await server.close();
    plans.close();
    await database.drop();
  }
}
