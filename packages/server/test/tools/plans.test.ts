import { randomBytes } from 'node:crypto';
import type { Json, JsonObject } from '@troupe/protocol';
import { MOST_PLANS } from '@troupe/protocol';
import { type Database, newId } from '@troupe/server';
import { createTools, Encryption, type Script, toolParts } from '@troupe/server/parts';
import { type KernelFixture, openKernel, plainDoor, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { planTools } from '../../src/doors/spaces/plan-tools.ts';
import { plansPart } from '../../src/doors/spaces/plans.ts';

// The tools with which an agent plans its own runs. A message that is a list says which calls the model makes.

let fixture: KernelFixture;
let snapshot: string;

beforeAll(async () => {
  const script: Script = (request) => {
    const last = request.messages.at(-1)!;
    if (last.role !== 'user') return { text: 'Done.' };
    const calls = JSON.parse(last.text) as [string, JsonObject][];
    return { calls: calls.map(([name, args]) => ({ name, arguments: args })) };
  };
  // The tools reach the database that the fixture makes.
  const late: { tools?: ReturnType<typeof createTools>; db?: Database } = {};
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    script,
    work: { doors: [plainDoor], tools: { resolve: (tool) => late.tools!.resolve(tool) } },
  });
  const encryption = new Encryption([{ id: 'v1', key: randomBytes(32) }]);
  late.tools = createTools(toolParts(fixture.db, encryption));
  snapshot = await fixture.snapshot({ tools: planTools });
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

/** What came of the calls, in order: their output or their error. */
async function call(...calls: [string, JsonObject][]): Promise<Record<string, Json>[]> {
  const { run } = await fixture.play(snapshot, { text: JSON.stringify(calls) });
  return (await fixture.calls(run)).map(({ output, error }) => (output ?? error) as Record<string, Json>);
}
const plansNow = async () => {
  const { rows } = await fixture.db.pool.query(
    `select name, instruction, status, run_after, cron, next_run_at from troupe.plans order by name`,
  );
  return rows;
};

test('plans are set by name, read and deleted', async () => {
  const [first] = await call([
    'set_plans',
    {
      plans: [
        { name: 'Report', instruction: 'Write it.', cron: '0 9 * * 1-5', timeZone: 'Europe/Zurich' },
        { name: ' Later ', runAfter: '2 hours' },
      ],
    },
  ]);
  expect(first).toMatchObject({ success: true, created: 2, updated: 0 });
  expect(first!.plans).toMatchObject([{ name: 'Report' }, { name: 'Later' }]);
  await fixture.db.pool.query(
    `update troupe.plans set status = 'canceled', next_run_at = null where name = 'Later'`,
  );
  const [second] = await call([
    'set_plans',
    {
      plans: [
        { name: 'LATER', scheduledAt: '2100-01-01T00:00:00Z' },
        { name: 'Third', runAfter: '1 week' },
      ],
    },
  ]);
  expect(second).toMatchObject({
    ...{ success: true, created: 1, updated: 1 },
    plans: [
      {
        id: (first!.plans as JsonObject[])[1]!.id,
        name: 'LATER',
        nextRunAt: '2100-01-01T00:00:00.000Z',
      },
      {},
    ],
  });
  const [all, pending, canceled] = await call(
    ['get_plans', {}],
    ['get_plans', { status: 'pending' }],
    ['get_plans', { status: 'canceled' }],
  );
  expect(all).toEqual(pending);
  expect(canceled).toEqual({ plans: [] });
  expect(all!.plans).toMatchObject([
    { name: 'Report', instruction: 'Write it.', cron: '0 9 * * 1-5', timeZone: 'Europe/Zurich' },
    { name: 'Third', runAfter: '1 week' },
    { name: 'LATER', scheduledAt: '2100-01-01T00:00:00.000Z', status: 'pending' },
  ]);
  // What is not said of a plan stays.
  await call(['set_plans', { plans: [{ name: 'Report', cron: '0 8 * * *' }] }]);
  expect((await plansNow()).find(({ name }) => name === 'Report')).toMatchObject({
    ...{ instruction: 'Write it.', cron: '0 8 * * *' },
  });
  const ids = (all!.plans as { id: string }[]).map(({ id }) => id);
  expect(await call(['delete_plans', { planIds: [ids[0]!, 'nonsense', newId(), ids[2]!] }])).toEqual([
    { success: true, deleted: 2 },
  ]);
  expect((await plansNow()).map(({ name }) => name)).toEqual(['Third']);
});

test('what cannot be is told to the model, and then none of them is set', async () => {
  const before = await plansNow();
  const good = { name: 'good', runAfter: '1 day' };
  const bad: [JsonObject, string, RegExp][] = [
    [{ name: 'b' }, 'plan_without_time', /"b".*exactly one/],
    [{ name: 'b', runAfter: '1 day', cron: '* * * * *' }, 'plan_with_two_times', /runAfter and cron/],
    [{ name: 'b', runAfter: 'soon' }, 'plan_time_invalid', /30 minutes/],
    [{ name: 'b', scheduledAt: '2020-01-01T00:00:00Z' }, 'plan_time_invalid', /past; it is 20/],
    [{ name: 'b', scheduledAt: '2100-01-01T00:00:00' }, 'plan_time_invalid', /offset/],
    [{ name: 'b', cron: '0 0 30 2 *' }, 'plan_never_runs', /never/],
    [{ name: 'b', cron: '* * * * * *' }, 'plan_time_invalid', /five fields/],
    [{ name: 'GOOD', runAfter: '1 day' }, 'name_twice', /twice/],
    [{ name: 'a\nb', runAfter: '1 day' }, 'invalid_name', /one line/],
    [{ name: 'b', runAfter: '1 day', whatever: 1 }, 'invalid_arguments', /./],
  ];
  const answers = await call(
    ...bad.map(([one]): [string, JsonObject] => ['set_plans', { plans: [good, one] }]),
  );
  for (const [index, [, code, sentence]] of bad.entries()) {
    expect(answers[index]).toMatchObject({ code, message: expect.stringMatching(sentence) });
  }
  expect(await plansNow()).toEqual(before);
});

test('a call that is tried again changes nothing, though its plan has run since; a worker that lost its run writes nothing', async () => {
  const encryption = new Encryption([{ id: 'v1', key: randomBytes(32) }]);
  const { plans: part } = toolParts(fixture.db, encryption);
  const { run } = await fixture.play(snapshot, { text: JSON.stringify([['get_plans', {}]]) });
  const worker = newId();
  await fixture.db.pool.query('update troupe.run_heads set worker_id = $2, epoch = 9 where run_id = $1', [
    run,
    worker,
  ]);
  const { project, agent, entity } = fixture.ids;
  const by = { project, agent, entity, run, epoch: 9, worker, call: 'call_1' };
  const given = [{ name: 'once', runAfter: '1 second' }];
  const first = await part!.set(by, given);
  await fixture.db.pool.query(
    `update troupe.plans set status = 'completed', next_run_at = null, last_run_id = gen_random_uuid() where name = 'once'`,
  );
  expect(await part!.set(by, given)).toEqual([{ ...first[0], nextRunAt: null }]);
  expect((await plansNow()).find(({ name }) => name === 'once')).toMatchObject({ status: 'completed' });
  expect(await part!.set({ ...by, call: 'call_2' }, given)).toMatchObject([{ created: false }]);
  for (const lost of [
    { ...by, epoch: 8 },
    { ...by, worker: newId() },
  ]) {
    await expect(part!.set({ ...lost, call: 'call_3' }, given)).rejects.toMatchObject({ code: 'run_lost' });
    await expect(part!.delete(lost, [first[0]!.id])).rejects.toMatchObject({ code: 'run_lost' });
  }
  expect(await part!.delete(by, [first[0]!.id])).toBe(1);
  expect(await part!.delete(by, [first[0]!.id])).toBe(0);
});

test('the prompt tells what is planned, bounded, and there can be so many and no more', async () => {
  const { project, agent, entity } = fixture.ids;
  const run = { projectId: project, entityId: entity };
  await fixture.db.pool.query('delete from troupe.plans');
  expect(await plansPart(fixture.db, run)).toBe('');
  const now = new Date('2030-01-01T00:00:00Z');
  const insert = (name: string, next: string, cron: string | null) =>
    fixture.db.pool.query(
      `insert into troupe.plans (id, project_id, agent_id, entity_id, name, scheduled_at, cron, time_zone, next_run_at)
        values (gen_random_uuid(), $1, $2, $3, $4, case when $6::text is null then $5::timestamptz end, $6, case when $6::text is not null then 'Europe/Zurich' end, $5)`,
      [project, agent, entity, name, next, cron],
    );
  await insert('"Tea"\nGOALS:', '2030-01-01T02:59:00Z', null);
  await insert('Report', '2030-01-02T08:00:00Z', '0 9 * * *');
  await insert('Now', '2030-01-01T00:00:30Z', null);
  const part = await plansPart(fixture.db, run, now);
  const [lead, ...lines] = part.split('\n');
  expect(lead).toMatch(/^PLANS: /);
  expect(lines.map((line) => JSON.parse(line.slice(2)))).toMatchObject([
    { name: 'Now', at: '2030-01-01T00:00:30.000Z', in: 'less than a minute', id: expect.any(String) },
    { name: '"Tea"\nGOALS:', in: '2 hours' },
    {
      name: 'Report',
      cron: '0 9 * * *',
      timeZone: 'Europe/Zurich',
      next: '2030-01-02T08:00:00.000Z',
      in: '1 day',
    },
  ]);
  for (let n = 0; n < MOST_PLANS - 4; n += 49) {
    const plans = Array.from({ length: Math.min(49, MOST_PLANS - 4 - n) }, (_, i) => ({
      ...{ name: `more ${n + i}`, runAfter: '366 days' },
    }));
    await call(['set_plans', { plans }]);
  }
  expect(await plansPart(fixture.db, run, now)).toMatch(/get_plans/);
  expect((await plansPart(fixture.db, run, now)).split('\n')).toHaveLength(52);
  const two = [
    { name: 'x', runAfter: '1 day' },
    { name: 'y', runAfter: '1 day' },
  ];
  expect(await call(['set_plans', { plans: two }])).toMatchObject([
    { code: 'too_many_plans', message: expect.stringContaining(`${MOST_PLANS - 1} other`) },
  ]);
  // Setting anew what is there takes no place.
  expect(
    await call(['set_plans', { plans: [two[0]!, { name: 'MORE 0', runAfter: '1 day' }] }]),
  ).toMatchObject([{ created: 1, updated: 1 }]);
  await until('there are as many as can be', async () => (await plansNow()).length === MOST_PLANS);
});
