import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createModels, type Model } from '@troupe/server';
import { openKernel } from '@troupe/testing';
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

/** The scripted model keeps what it was asked; this one keeps nothing. */
const model: Model = {
  async generate({ step }) {
    const calls = step === 1 ? [{ id: 'call', name: 'echo', arguments: {} }] : [];
    return {
      text: step === 1 ? '' : 'Done.',
      calls,
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1 },
    };
  },
};

it('a run that has ended leaves nothing in memory: 1,000 more take no more', async () => {
  const fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    work: { models: createModels({ scripted: () => model }) },
    tools: { echo: () => 'x'.repeat(2_000) },
  });
  try {
    const snapshot = await fixture.snapshot({ tools: [{ name: 'echo', provider: 'code' }] });
    const play = async (runs: number) => {
      for (let done = 0; done < runs; done += 20) {
        await Promise.all(
          Array.from({ length: 20 }, () => fixture.play(snapshot, { text: 'y'.repeat(2_000) })),
        );
      }
    };
    await play(400);
    const before = await inUse();
    await play(1_000);
    const grown = (await inUse()) - before;
    // Each run carries four kilobytes of text; one in eight left behind would show.
    expect(grown / 1_000, `${Math.round(grown / 1024)} KB for 1,000 runs`).toBeLessThan(512);
  } finally {
    await fixture.close();
  }
});
