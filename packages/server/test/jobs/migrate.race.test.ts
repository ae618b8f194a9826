import { silentLogger } from '@troupe/server';
import { migrateJobs } from '@troupe/server/parts';
import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';

test('ten that make the tables of jobs at once all succeed, and all is made once', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'), null);
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => migrateJobs(url, silentLogger)));
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ ids: number[] }>(
    'select array_agg(id order by id) as ids from graphile_worker.migrations',
  );
  expect(rows[0]!.ids).toEqual(rows[0]!.ids.map((_, index) => index + 1));
  await client.query(`select graphile_worker.add_job('x')`);
  await client.end();
  await drop();
});
