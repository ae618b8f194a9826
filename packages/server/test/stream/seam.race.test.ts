import { setTimeout as delay } from 'node:timers/promises';
import { Kernel, silentLogger } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Client } from './client.ts';
import { connect, StreamFixture, upTo } from './fixture.ts';

let fixture: StreamFixture;
const elsewhere: { kernel?: Kernel; db?: ReturnType<typeof connect> } = {};
beforeAll(async () => {
  fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  elsewhere.db = connect(fixture.databaseUrl);
  elsewhere.kernel = new Kernel({ db: elsewhere.db, logger: silentLogger });
  await elsewhere.kernel.listen();
});
afterAll(async () => {
  await elsewhere.kernel?.close();
  await elsewhere.db?.close();
  await fixture[Symbol.asyncDispose]();
});

const TRIALS = 60;
const WRITES = 30;

test('readers that come while events are written have no gap and nothing twice', async () => {
  let caughtInBetween = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    const session = await fixture.session();
    const clients: { client: Client; after: number }[] = [];
    let written = 0;
    const writing = (async () => {
      for (let n = 0; n < WRITES; n++) {
        const count = 1 + (n % 7 === 0 ? 20 : n % 3);
        await fixture.append(session.thread, count, 0, elsewhere.db);
        written += count;
        if (n % 4 > 0) elsewhere.kernel!.hint({ threads: [session.thread] });
      }
    })();
    for (let n = 0; n < 4; n++) {
      await delay(Math.random() * 8);
      const after = Math.floor(Math.random() * (written + 1)); // up to the last one that was seen
      clients.push({ after, client: fixture.connect(session, { lastEventId: after }) });
    }
    await writing;
    elsewhere.kernel!.hint({ threads: [session.thread] });
    for (const { client, after } of clients) {
      await until(`all ${written} after ${after}`, () => (client.ids.at(-1) ?? after) >= written);
      expect(client.ids).toEqual(upTo(written, after + 1));
      const { lastSequence } = client.connected;
      if (lastSequence > after && lastSequence < written) caughtInBetween++;
      client.close();
    }
  }
  // Otherwise nothing was tested: replay and live must both have had their part.
  expect(caughtInBetween).toBeGreaterThan(TRIALS / 2);
});
