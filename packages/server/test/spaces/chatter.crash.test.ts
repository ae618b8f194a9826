import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isLong, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SpaceFixture } from './fixture.ts';

const MESSAGES = isLong ? 500 : 120;
const KILLS = Number(process.env.TROUPE_KILLS ?? (isLong ? 6 : 3));
const seed = Number(process.env.TROUPE_SEED ?? Math.floor(Math.random() * 1e9));

/** mulberry32: the same seed, the same afternoon. */
function random(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const living = new Set<ChildProcess>();
let fixture: SpaceFixture;
beforeAll(async () => {
  fixture = await SpaceFixture.open([], { works: false });
});
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  await fixture.close();
});

async function worker(): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'worker-process.ts'), [fixture.server.databaseUrl], {
    execArgv: [],
  });
  living.add(child);
  child.once('exit', () => living.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', (code) => reject(new Error(`a worker ended with ${code} before it worked`)));
  });
  return child;
}

test(`three agents and two people, ${MESSAGES} messages, and workers killed at any moment`, async () => {
  console.info(`TROUPE_SEED=${seed}`);
  const next = random(seed);
  const people = [await fixture.person('Ann'), await fixture.person('Ben')];
  const agents = [];
  for (const name of ['Ada', 'Bea', 'Cleo']) agents.push(await fixture.agent(name));
  const space = await fixture.space([...people, ...agents]);
  const workers = await Promise.all([worker(), worker()]);

  const talking = people.map(async (person, who) => {
    for (let n = 0; n < MESSAGES / 2; n++) {
      await fixture.say(space, person, `${person.name} ${n}`);
      await delay(next() * 20 + who);
    }
  });
  const done = Promise.all(talking);
  let kills = 0;
  const killing = (async () => {
    while (kills < KILLS) {
      await delay(200 + next() * 400);
      const [victim] = workers.splice(Math.floor(next() * workers.length), 1);
      victim!.kill('SIGKILL');
      kills++;
      workers.push(await worker());
    }
  })();
  await Promise.all([done, killing]);
  const { pool } = fixture.server.db;
  const count = async (text: string, values: unknown[] = []) =>
    Number((await pool.query(`select count(*) as n from (${text}) x`, values)).rows[0].n);
  await until(
    'every run has ended',
    async () =>
      (await count(`select from troupe.runs where status not in ('completed', 'failed', 'canceled')`)) === 0,
    90_000,
  );
  console.info(
    `${await count('select from troupe.runs')} runs, ${await count('select from troupe.messages where thread_id = $1', [space])} messages, ${await count('select from troupe.runs where takeovers_in_all > 0')} runs taken over, ${kills} kills`,
  );

  // Every message of a person was worked on by every agent, once, and to the end.
  const { rows: otherwise } = await pool.query(
    `select status, error->>'code' as code, cancel_reason, step, takeovers_in_all from troupe.runs where status <> 'completed'`,
  );
  expect(otherwise).toEqual([]);
  const heard = `select m.id, e.id as entity, (select count(*) from troupe.runs r where r.trigger_message_id = m.id and r.entity_id = e.id) as runs, b.seen @> m.seq as seen
    from troupe.messages m, troupe.entities e join troupe.memberships b on b.entity_id = e.id and b.space_id = $1
    where m.thread_id = $1 and m.role = 'user' and e.type = 'agent'`;
  expect(await count(heard, [space])).toBe(MESSAGES * 3);
  expect(await count(`select from (${heard}) h where h.runs <> 1 or not h.seen`, [space])).toBe(0);
  // No message is lost, said twice or out of order.
  const messages = [];
  for (let after = 0; ; ) {
    const { data, hasMore } = await fixture.done<{
      data: { sequence: number; senderName: string; content: { text: string } }[];
      hasMore: boolean;
    }>('GET', `/v1/spaces/${space}/messages?limit=1000&after=${after}`);
    messages.push(...data);
    after = data.at(-1)?.sequence ?? after;
    if (!hasMore) break;
  }
  expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_, index) => index + 1));
  for (const { name } of people) {
    const own = messages.filter(({ senderName }) => senderName === name).map(({ content }) => content.text);
    expect(own).toEqual(Array.from({ length: MESSAGES / 2 }, (_, n) => `${name} ${n}`));
  }
  // What an agent called for was said, once for each call.
  expect(await count(`select from troupe.tool_calls where status <> 'completed'`)).toBe(0);
  const said = await count(`select from troupe.tool_calls where tool = 'send_message'`);
  expect(messages.filter(({ senderName }) => !people.some(({ name }) => name === senderName))).toHaveLength(
    said,
  );
  expect(said).toBeGreaterThan(MESSAGES / 5);
  // No loop beyond the guard.
  expect(await count(`select from troupe.runs where chain_depth > 8`)).toBe(0);
  expect(
    await count(
      `select origin_id from troupe.runs where chain_depth > 0 group by origin_id having count(*) > 50`,
    ),
  ).toBe(0);
  expect(await violations(pool)).toEqual([]);
}, 180_000);
