import { createModels, Database, Kernel, silentLogger } from '@troupe/server';
import { createScripted } from '@troupe/server/parts';
import { codeTools, plainDoor, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
let second: { db: Database; kernel: Kernel };
/** Runs that both workers are thinking about right now, by lane. */
const thinking = new Map<string, number>();
let most = 0;
let release = gate();

/** Every answer waits for the gate, so that as many runs as may are at it at the same time. */
const script = async (request: { messages: { role: string; text?: string }[] }) => {
  const lane = request.messages[0]!.text!;
  const now = (thinking.get(lane) ?? 0) + 1;
  thinking.set(lane, now);
  if (lane === 'narrow') most = Math.max(most, now);
  await release.promise;
  thinking.set(lane, thinking.get(lane)! - 1);
  return { text: 'done' };
};

beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'), { capacity: 20 });
  const db = new Database({ url: fixture.databaseUrl, applicationName: 'second', logger: silentLogger });
  const kernel = new Kernel({ db, logger: silentLogger });
  const scripted = createScripted();
  scripted.add('lane', script as Parameters<typeof scripted.add>[1]);
  fixture.scripted.add('lane', script as Parameters<typeof scripted.add>[1]);
  await kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: scripted.provider }),
    tools: codeTools({}),
    capacity: 20,
  });
  second = { db, kernel };
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  await second.kernel.close();
  await second.db.close();
  await fixture.close();
});

describe('a lane', () => {
  it('has never more runs at work than its limit, over two workers, and nobody else waits for it', async () => {
    const snapshot = await fixture.snapshot({ models: [{ provider: 'scripted', model: 'lane' }] });
    const narrow = { run: { lane: 'narrow', laneLimit: 3 }, text: 'narrow' };
    const runs = await Promise.all(Array.from({ length: 12 }, () => fixture.start(snapshot, narrow)));
    await until('the lane is full', () => thinking.get('narrow') === 3);
    // Others pass by: without a lane, and in another one.
    const wide = await Promise.all([
      ...Array.from({ length: 4 }, () => fixture.start(snapshot, { text: 'none' })),
      ...Array.from({ length: 4 }, () =>
        fixture.start(snapshot, { run: { lane: 'other', laneLimit: 4 }, text: 'other' }),
      ),
    ]);
    await until('the others are at work', () => thinking.get('none') === 4 && thinking.get('other') === 4);
    expect(await running('narrow')).toBe(3);
    release.resolve();
    const ends = await Promise.all([...runs, ...wide].map(({ run }) => fixture.ended(run)));
    expect(ends.every((end) => end.status === 'completed')).toBe(true);
    expect(most).toBe(3);
  });

  it('frees a place when a run is canceled or waits for its next try', async () => {
    release = gate();
    most = 0;
    const snapshot = await fixture.snapshot({ models: [{ provider: 'scripted', model: 'lane' }] });
    const one = { run: { lane: 'one', laneLimit: 1 }, text: 'narrow' };
    const [first, other] = [await fixture.start(snapshot, one), await fixture.start(snapshot, one)];
    await until('one is at work', () => thinking.get('narrow') === 1);
    const held = (await fixture.row(first.run)).status === 'running' ? first : other;
    const waiting = held === first ? other : first;
    await fixture.kernel.cancel(held.run);
    await fixture.becomes(waiting.run, 'running');
    release.resolve();
    expect(await fixture.ended(waiting.run)).toMatchObject({ status: 'completed' });
  });
});

async function running(lane: string): Promise<number> {
  const { rows } = await fixture.db.pool.query<{ n: number }>(
    `select count(*)::int as n from troupe.runs where lane = $1 and status = 'running'`,
    [lane],
  );
  return rows[0]!.n;
}
