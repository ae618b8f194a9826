import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TriggerFixture } from './fixture.ts';

// What is stored for deliveries: a document once for each change, and not again with every attempt.

const RUNS = 20;
let fixture: TriggerFixture;
beforeAll(async () => {
  fixture = await TriggerFixture.open();
});
afterAll(() => fixture.close());

test('documents of a change are stored once, for all rules and attempts', async () => {
  const { pool } = fixture;
  // What an update leaves behind stays, so that sizes count every write.
  for (const table of ['trigger_deliveries', 'trigger_attempts', 'change_documents'])
    await pool.query(`alter table troupe.${table} set (autovacuum_enabled = false)`);
  const everything = { events: ['create', 'update', 'delete'], condition: 'true' };
  const messages = { ...everything, collection: 'users/*/orch-chats/*/messages' };
  await fixture.rule('said', messages);
  await fixture.rule('also-said', messages);
  await fixture.rule('runs', { ...everything, collection: 'runs' });
  const ada = await fixture.sync.person('ada');
  const session = await fixture.sync.session(ada);
  for (let n = 0; n < RUNS; n++) {
    await fixture.sync.say(ada, session, `${n} ${'word '.repeat(200)}`);
    await until('the run has ended and all is delivered', async () => {
      const { rows } = await pool.query(
        `select from troupe.runs where status in ('queued', 'running') union all select from troupe.changes
          union all select from troupe.trigger_deliveries where status <> 'delivered'`,
      );
      return rows.length === 0;
    });
  }
  const { rows } = await pool.query(
    `select (select count(*)::int from troupe.change_documents) as documents, (select count(distinct change_id)::int from troupe.trigger_deliveries) as changes,
      (select count(*)::int from troupe.trigger_deliveries) as deliveries, (select count(*)::int from troupe.trigger_deliveries d where d.before is not null or d.after is not null) as copies,
      (select max(pg_column_size(d.*))::int from troupe.trigger_deliveries d) as delivery,
      (select sum(pg_column_size(c.*))::int from troupe.change_documents c) as "documentBytes",
      (pg_relation_size('troupe.trigger_deliveries') + pg_relation_size('troupe.change_documents'))::int as written`,
  );
  const { documents, changes, deliveries, copies, delivery, documentBytes, written } = rows[0];
  expect(deliveries).toBeGreaterThan(changes);
  expect([documents, copies]).toEqual([changes, 0]);
  expect(delivery).toBeLessThan(700);
  // Three versions of a delivery, without its documents, and the documents once. Pages have room that is not used.
  expect(written).toBeLessThan((3 * 700 * deliveries + documentBytes) * 1.2);
  expect(written / RUNS).toBeLessThan(10 * 1024);
  // They are read with the delivery, and go with the last one.
  expect(await fixture.ended('also-said', 'delivered')).toMatchObject({
    document: { role: expect.any(String) },
  });
  await pool.query(`delete from troupe.triggers where name = 'said'`);
  expect(await fixture.count('change_documents')).toBe(changes);
  await pool.query('delete from troupe.trigger_deliveries');
  expect(await fixture.count('change_documents')).toBe(0);
});
