import type { Door } from '@troupe/server';
import { plainDoor } from '@troupe/testing';
import { describe, expect, inject, it } from 'vitest';
import { FaultFixture } from './fixture.ts';
import { openProxy } from './proxy.ts';

const postgresUrl = inject('postgresUrl');

const talkative: Door = {
  ...plainDoor,
  async settle(view, answer) {
    const meaning = await plainDoor.settle(view, answer);
    return {
      ...meaning,
      messages: meaning.messages.map((message) => ({ ...message, metadata: { mood: 'good' } })),
    };
  },
};

// Most of the time goes by waiting, until somebody looks whether an answer was lost.
describe.concurrent('a commit whose answer is lost', () => {
  it.each([
    ['commit', ''],
    ['commit', 'with metadata'],
    ['start', ''],
    ['start', 'with a delay'],
    ['claim', ''],
  ])(
    'is not written twice: %s %s',
    async (statement, variant) => {
      const proxy = await openProxy(postgresUrl);
      const fixture = await FaultFixture.open(postgresUrl, {
        workers: 2,
        apart: statement === 'claim',
        ...(variant === 'with metadata' ? { door: talkative } : {}),
        via: (url) => proxy.via(url),
      });
      try {
        // Prepared statements are executed by name, so a request that binds it shows the name.
        let n = 0;
        proxy.loseAnswersTo((text) => text.includes(`${statement}\0`) && ++n % 3 === 0);
        // In waves, so that there are statements enough of every kind.
        const runs: string[] = [];

        while (runs.length < 40 || (proxy.lost <= 3 && runs.length < 1000)) {
          const started = await Promise.all(
            Array.from({ length: 5 }, () => fixture.start(variant === 'with a delay' ? { delayMs: 1 } : {})),
          );
          if (statement === 'claim') await fixture.kernels[0]!.ended(started[0]!);
          runs.push(...started);
        }
        await Promise.all(runs.map((run) => fixture.kernels[0]!.ended(run)));
        proxy.loseAnswersTo(() => false);
        expect(proxy.lost).toBeGreaterThan(3);
        await fixture.expectFlawless(runs);
      } finally {
        await fixture.close();
        proxy.close();
      }
    },
    90_000,
  );
});
