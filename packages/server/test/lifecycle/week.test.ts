import { Database, silentLogger } from '@troupe/server';
import { buildProject, buildSnapshot, createDatabase } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { simulate } from '../../../../bench/retention/week.ts';

test('keeps every table within the size of the days that are kept', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  const db = new Database({ url, applicationName: 'test/week', logger: silentLogger });
  try {
    const ids = await buildProject(db);
    const perDay = 40;
    const days = await simulate(db, ids, await buildSnapshot(db, ids), { days: 9, perDay, keepDays: 2 });
    // The day itself and two before it.
    const turns = 3 * 2 * perDay;
    const expected: Record<string, number> = {
      threads: turns,
      sessions: turns / 2,
      messages: 4 * turns,
      event_batches: 3 * turns,
      runs: turns,
      run_heads: turns,
      run_steps: 2 * turns,
      tool_calls: turns,
      deleted_threads: 0,
    };
    for (const { tables } of days.slice(2))
      expect(Object.fromEntries(Object.keys(expected).map((table) => [table, tables[table]!.rows]))).toEqual(
        expected,
      );
    // Tombstones are kept for two days: of each day a session, its messages and its run, and the run outside.
    const tombstones = days.map(({ tables }) => tables['tombstones']!.rows);
    expect(tombstones.slice(5)).toEqual(tombstones.slice(5).map(() => 2 * perDay * (1 + 4 + 1 + 1)));
    // Space that a purge frees is used again.
    for (const [table, { bytes }] of Object.entries(days.at(-1)!.tables))
      expect(bytes, table).toBeLessThanOrEqual(1.25 * days[5]!.tables[table]!.bytes + 65_536);
  } finally {
    await db.close();
    await drop();
  }
});
