import { newId } from '@troupe/sdk';
import { said } from '../doubles/brain.ts';
import type { Definitions } from './definitions.ts';
import { asked, runsEnded } from './ended.ts';
import type { Requester } from './requester.ts';
import type { Slots } from './slots.ts';

/** Invokes a network in the background or waiting for its answer. */
export async function invoke(
  requester: Requester,
  { network }: Definitions,
  { inFlight }: { inFlight: Slots },
): Promise<void> {
  const { client, random } = requester;
  while (!requester.stopped) {
    const release = await inFlight.take();
    try {
      const label = newId();
      const input = said(label, random.pick(['', 'idem', 'once']));
      const mode = random.pick(['background', 'wait'] as const);
      const body = { input, mode, timeoutMs: 5_000, metadata: { label } };
      const run = await requester.make(
        { door: 'networks', made: 'invocation', label },
        (options) => client.networks.invoke({ params: { network }, body }, options),
        ({ id }) => ({ id, runs: [id] }),
      );
      if (run) await runsEnded(requester, [run.id]);
    } finally {
      release();
    }
  }
}

/** Runs batches of a network, one after the other. */
export async function batch(
  requester: Requester,
  { network }: Definitions,
  { inFlight }: { inFlight: Slots },
): Promise<void> {
  const { client, random } = requester;
  while (!requester.stopped) {
    const release = await inFlight.take();
    try {
      const label = newId();
      const rows = Array.from({ length: random.int(3, 12) }, () => ({
        input: said(newId(), random.pick(['', 'idem'])),
      }));
      const made = await requester.make(
        { door: 'batches', made: 'batch', label, size: rows.length },
        (options) =>
          client.batches.create(
            { params: { network }, body: { name: label, rows, concurrency: 4 } },
            options,
          ),
        ({ id }) => ({ id }),
      );
      if (!made) continue;
      await asked(async () => {
        const now = await requester.insist(() => client.batches.get({ params: { batchId: made.id } }));
        return now?.status !== 'running';
      });
    } finally {
      release();
    }
  }
}
