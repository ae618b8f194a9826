import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Stage } from '@troupe/testing';
import { expect, inject, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What is in use, in bytes, once everything that can go is gone. */
async function inUse(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}

it('a run that has ended leaves nothing in memory: 1,000 more take no more', async () => {
  const stage = await Stage.open({
    postgresUrl: inject('postgresUrl'),
    script: (request) =>
      request.step === 1 ? { calls: [{ name: 'echo', arguments: {} }] } : { text: 'Done.' },
    tools: { echo: () => 'x'.repeat(2_000) },
  });
  try {
    const snapshot = await stage.snapshot({ tools: [{ name: 'echo', provider: 'code' }] });
    const play = async (runs: number) => {
      for (let done = 0; done < runs; done += 20) {
        await Promise.all(Array.from({ length: 20 }, () => stage.play(snapshot, 'y'.repeat(2_000))));
      }
    };
    await play(400);
    const before = await inUse();
    await play(1_000);
    const grown = (await inUse()) - before;
    // Each run carries four kilobytes of text; one in eight left behind would show.
    expect(grown / 1_000, `${Math.round(grown / 1024)} KB for 1,000 runs`).toBeLessThan(512);
  } finally {
    await stage.close();
  }
});
