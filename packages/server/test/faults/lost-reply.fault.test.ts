import { describe, expect, inject, it } from 'vitest';
import { Company } from './company.ts';
import { openProxy } from './proxy.ts';

const postgresUrl = inject('postgresUrl');

describe('a commit whose answer is lost', () => {
  it.each([['step'], ['step_many'], ['advance'], ['start_many'], ['claim']])(
    'is not written twice: %s',
    async (statement) => {
      const proxy = await openProxy(postgresUrl);
      const company = await Company.open(postgresUrl, {
        workers: 2,
        apart: statement === 'claim',
        via: (url) => proxy.via(url),
      });
      try {
        // Prepared statements are executed by name, so a request that binds it shows the name.
        let n = 0;
        proxy.loseAnswersTo((text) => text.includes(`${statement}\0`) && ++n % 3 === 0);
        // In waves, so that there are statements enough of every kind.
        const runs: string[] = [];
        const wave = statement === 'step' ? 1 : 5; // a lone commit goes alone
        while (runs.length < 40 || (proxy.lost <= 3 && runs.length < 1000)) {
          const started = await Promise.all(Array.from({ length: wave }, () => company.start()));
          if (wave === 1 || statement === 'claim') await company.kernels[0]!.ended(started[0]!);
          runs.push(...started);
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
