import { newId } from '@troupe/server';
import { buildStart, type KernelFixture, openKernel } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// What a worker is given where both lanes and others wait. No worker is here; the tests claim.

let fixture: KernelFixture;
let snapshot: string;
beforeAll(async () => {
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: false });
  snapshot = await fixture.snapshot();
});
afterAll(() => fixture.close());

const start = async (many: number, more = {}) => {
  for (let index = 0; index < many; index++) {
    const item = buildStart(fixture.ids, snapshot, 'go');
    Object.assign(item.run, more);
    await fixture.kernel.start(item);
  }
};
const claimed = async (limit: number): Promise<{ lanes: number; all: number }> => {
  const { rows } = await fixture.db.pool.query<{ lane: string | null }>(
    `select r.lane from troupe.claim($1, $2, array['plain'], '{}'::jsonb) c join troupe.runs r on r.id = (c->>'id')::uuid`,
    [newId(), limit],
  );
  return { lanes: rows.filter(({ lane }) => lane !== null).length, all: rows.length };
};

test('lanes go on while others fill every place, and places that they leave are filled', async () => {
  await start(60);
  await start(20, { lane: 'wide', laneLimit: 9 });
  expect(await claimed(8)).toEqual({ lanes: 2, all: 8 });
  expect(await claimed(2)).toEqual({ lanes: 1, all: 2 });
  // One place at a time goes to a lane now and then.
  let lanes = 0;
  for (let turn = 0; turn < 40; turn++) lanes += (await claimed(1)).lanes;
  expect(lanes).toBeGreaterThan(0);
  expect(lanes).toBeLessThan(40);
  // The lane is full, or takes what is left of it.
  await start(30);
  const rest = await claimed(20);
  expect(rest.all).toBe(20);
  await start(10, { lane: 'wide', laneLimit: 9 });
  for (let left = 20; left > 0; left -= 5) await claimed(5);
  const { rows } = await fixture.db.pool.query<{ n: number }>(
    `select count(*)::int as n from troupe.runs where lane = 'wide' and status = 'running'`,
  );
  expect(rows[0]!.n).toBe(9);
});
