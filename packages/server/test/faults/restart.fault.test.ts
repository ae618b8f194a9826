import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { FaultFixture } from './fixture.ts';
import { openPostgres } from './postgres.ts';

let postgres: Awaited<ReturnType<typeof openPostgres>>;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(() => postgres.close());

describe('Postgres restarts under load', () => {
  it.each([['in good order', 'SIGINT'] as const, ['by a crash', 'SIGQUIT'] as const])(
    '%s: runs go on, nothing is lost, nothing is double, and no living worker is taken for dead',
    async (_how, signal) => {
      const fixture = await FaultFixture.open(postgres.url, {
        workers: 2,
        tool: () => new Promise((resolve) => setTimeout(() => resolve('ok'), 5)),
      });
      try {
        const starts: Promise<string>[] = [];
        for (let round = 0; round < 3; round++) {
          const goal = fixture.executions.size + 60;
          for (let n = 0; n < 40; n++) starts.push(fixture.start());
          await until('work is under way', () => fixture.executions.size >= goal);
          await postgres.restart(signal);
        }
        await fixture.expectFlawless(await Promise.all(starts));
      } finally {
        await fixture.close();
      }
    },
    90_000,
  );
});
