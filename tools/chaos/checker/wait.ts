import type { History } from '../clients/history.ts';
import { pause } from '../clients/requester.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { RestlessFact } from './evidence.ts';
import { threadsOf } from './labels.ts';
import { readRestless } from './rest.ts';

/** Longer than any timeout, backoff or takeover of the product, also on a busy machine. */
const REST_MS = 180_000;
const LOOK_MS = 500;

/** Waits until nothing is under way and every reader is at the end; answers with what is not, after a long time. */
export async function waitForRest(
  fleet: Fleet,
  history: History,
  log: (line: string) => void,
): Promise<RestlessFact[]> {
  await fleet.ready();
  const began = Date.now();
  for (let looks = 0; ; looks++) {
    const restless = await fleet.postgres.withClient(async (client) => {
      const found = await readRestless(client);
      // Readers are behind only for a moment; looked at when the rest is quiet, since this reads all threads.
      return found.length > 0 ? found : readersBehind(client, history);
    });
    if (restless.length === 0) return [];
    if (looks % 20 === 19)
      log(
        `waiting for ${restless.length}: ${restless
          .slice(0, 3)
          .map(({ table, state }) => `${table} ${state}`)
          .join('; ')}`,
      );
    if (Date.now() - began > REST_MS) return restless;
    await pause(LOOK_MS);
  }
}

async function readersBehind(
  client: Parameters<typeof threadsOf>[0],
  history: History,
): Promise<RestlessFact[]> {
  const threads = await threadsOf(client);
  const { rows } = await client.query<{ id: string; last: string }>(
    'select id, last_event_seq as last from troupe.threads',
  );
  const last = new Map(rows.map((row) => [row.id, Number(row.last)]));
  return history.readers.flatMap(({ thread, events }) => {
    const end = last.get(threads.get(thread) ?? thread) ?? 0;
    const at = events.at(-1)?.sequence ?? 0;
    return at >= end ? [] : [{ table: 'reader', id: thread, state: `at ${at} of ${end}` }];
  });
}
