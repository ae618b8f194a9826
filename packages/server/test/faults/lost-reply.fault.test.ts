import { describe, expect, inject, it } from 'vitest';
import { Company } from './company.ts';
import { openProxy } from './proxy.ts';

const postgresUrl = inject('postgresUrl');

describe('a commit whose answer is lost', () => {
  it.each([['step'], ['step_many'], ['advance'], ['start_many'], ['claim']])(
    'is not written twice: %s',
    async (statement) => {
      const proxy = await openProxy(postgresUrl);
      const company = await Company.open(postgresUrl, { workers: 2, via: (url) => proxy.via(url) });
      try {
        // Prepared statements are executed by name, so a request that binds it shows the name.
        let n = 0;
        proxy.loseAnswersTo((text) => text.includes(`${statement}\0`) && ++n % 3 === 0);
        // In waves, so that there are claims enough.
        const runs: string[] = [];
        for (let wave = 0; wave < 12; wave++) {
          runs.push(...(await Promise.all(Array.from({ length: 5 }, () => company.start()))));
        }
        await Promise.all(runs.map((run) => company.kernels[0]!.ended(run, { timeoutMs: 40_000 })));
        proxy.loseAnswersTo(() => false);
        expect(proxy.lost).toBeGreaterThan(3);
        await company.expectFlawless(runs, 20_000);
      } finally {
        await company.close();
        proxy.close();
      }
    },
    90_000,
  );
});
