import { until } from '@troupe/testing';
import { describe, expect, inject, it } from 'vitest';
import { FaultFixture } from './fixture.ts';

const postgresUrl = inject('postgresUrl');

describe('connections', () => {
  it('cut again and again where the locks are held: no living worker is taken for dead', async () => {
    const fixture = await FaultFixture.open(postgresUrl, {
      workers: 2,
      tool: () => new Promise((resolve) => setTimeout(() => resolve('ok'), 60)),
    });
    try {
      const runs = await Promise.all(Array.from({ length: 60 }, () => fixture.start()));
      let cuts = 0;
      for (let round = 0; round < 25; round++) {
        const { rowCount } = await fixture.admin.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%/signals' and datname = current_database()`,
        );
        cuts += rowCount ?? 0;
        await until('the locks are held again', async () => {
          const { rows } = await fixture.admin.query<{ n: number }>(
            `select count(*)::int n from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`,
          );
          return rows[0]!.n >= 2;
        });
      }
      expect(cuts).toBeGreaterThanOrEqual(40);
      await fixture.expectFlawless(runs);
    } finally {
      await fixture.close();
    }
  });

  it('all cut at random: every commit is written once', async () => {
    const fixture = await FaultFixture.open(postgresUrl, { workers: 2 });
    try {
      const starts = Array.from({ length: 150 }, () => fixture.start());
      let over = false;
      const ends = Promise.all(starts)
        .then((runs) => fixture.expectFlawless(runs))
        .finally(() => (over = true));
      while (!over) {
        await fixture.admin.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'worker%' and datname = current_database()
            and application_name not like '%/liveness' and random() < 0.3`,
        );
        await Promise.race([ends.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 40))]);
        if (fixture.executions.size >= 150 * 4) break;
      }
      await ends;
    } finally {
      await fixture.close();
    }
  });

  it('of the shared pool all in use: commits and heartbeats have their own', async () => {
    const fixture = await FaultFixture.open(postgresUrl, { workers: 2 });
    try {
      const pools = fixture.databases.map((db) => db.pool);
      const held = await Promise.all(
        pools.flatMap((pool) => Array.from({ length: 10 }, () => pool.connect())),
      );
      expect(pools.every((pool) => pool.idleCount === 0 && pool.totalCount === 10)).toBe(true);
      const runs = await Promise.all(Array.from({ length: 40 }, () => fixture.start()));
      await until('all are done', () => fixture.executions.size === 160);
      // Nobody else could get a connection meanwhile.
      expect(pools.every((pool) => pool.idleCount === 0)).toBe(true);
      for (const client of held) client.release();
      await fixture.expectFlawless(runs);
    } finally {
      await fixture.close();
    }
  });

  it('of the kernel all in use for a while: work waits and goes on', async () => {
    const fixture = await FaultFixture.open(postgresUrl, { workers: 1 });
    try {
      const pool = fixture.databases[0]!.kernel;
      const held = await Promise.all(Array.from({ length: 6 }, () => pool.connect()));
      const starts = Array.from({ length: 20 }, () => fixture.start());
      await until('starts wait for a connection', () => pool.waitingCount > 0);
      for (const client of held) client.release();
      await fixture.expectFlawless(await Promise.all(starts));
    } finally {
      await fixture.close();
    }
  });
});
