import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { patiently } from '../../src/kernel/patiently.ts';
import { leaseBudget, reportBudgets, setBudget } from '../../src/store/queries/budgets.ts';
import { reap } from '../../src/store/queries/workers.ts';
import { raiseBudget } from '../raise-budget.ts';
import { call, codeTool, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

async function budget(
  amount: number,
  unit: 'tokens' | 'cost' = 'tokens',
  onExhausted: 'stop' | 'wait' = 'stop',
) {
  const id = newId();
  await setBudget(
    fixture.db.rows,
    { project: fixture.ids.project, scope: 'agent', scopeId: newId(), unit },
    { id, amount, onExhausted },
  );
  return id;
}

interface Warning {
  thread_id: string;
  run_id: string;
  step: number | null;
  data: object;
}

async function warnings(budget: string): Promise<Warning[]> {
  const { rows } = await fixture.db.pool.query(
    `select thread_id, run_id, step, data from troupe.events
      where type = 'budget.warning' and data->>'budget' = $1 order by created_at, thread_id, seq`,
    [budget],
  );
  return rows;
}

/** A run that does nothing: its thread gets the warning. */
async function idleRun(budgets: string[]) {
  const snapshot = await fixture.agent([{ text: 'done' }]);
  return fixture.start(snapshot, { run: { budgets, delayMs: 3_600_000 } });
}

/** A worker that holds a share of the budget. */
async function lease(budget: string, amount: number): Promise<string> {
  const worker = newId();
  expect(await leaseBudget(fixture.db, budget, worker, 0, amount)).toMatchObject({ granted: amount });
  return worker;
}

const usage = { inputTokens: 20, outputTokens: 20 };
const model = (name: string, more = {}) => ({
  models: [{ provider: 'scripted', model: name, maxOutputTokens: 20, ...more }],
});

it('warns in the thread of the run that reaches 80 %, before the budget is exhausted', async () => {
  fixture.tools.noop = () => null;
  const id = await budget(100);
  const script = fixture.addScript([
    { calls: [call('noop', {}, 'a')], usage },
    { calls: [call('noop', {}, 'b')], usage },
    { text: 'done', usage },
  ]);
  const snapshot = await fixture.snapshot({ ...model(script), tools: [codeTool('noop')] });
  const { run, thread } = await fixture.play(snapshot, { run: { budgets: [id] } });
  expect(await fixture.row(run)).toMatchObject({ status: 'canceled', cancel_reason: 'budget' });
  expect(await warnings(id)).toEqual([
    {
      thread_id: thread,
      run_id: run,
      step: 2,
      data: { budget: id, policy: 'stop', unit: 'tokens', amount: 100, spent: 80 },
    },
  ]);
  const types = await fixture.types(thread);
  expect(types.filter((type) => type.startsWith('budget.'))).toEqual(['budget.warning', 'budget.exhausted']);
});

it('does not warn below 80 %', async () => {
  const id = await budget(101);
  const snapshot = await fixture.snapshot(model(fixture.addScript([{ text: 'done', usage }])));
  for (let n = 0; n < 2; n++) await fixture.play(snapshot, { run: { budgets: [id] } });
  await until('all is reported', async () => (await spentOf(id)) === 80);
  expect(await warnings(id)).toEqual([]);
});

it('states the amounts of a cost budget in the unit of the prices', async () => {
  const id = await budget(1_000_000, 'cost', 'wait');
  const script = fixture.addScript([{ text: 'dear', usage }]);
  const snapshot = await fixture.snapshot(model(script, { inputPrice: 20_000, outputPrice: 22_500 }));
  const { thread } = await fixture.play(snapshot, { run: { budgets: [id] } });
  await until('it warns', async () => (await warnings(id)).length > 0);
  expect(await warnings(id)).toMatchObject([
    { thread_id: thread, step: 1, data: { policy: 'wait', unit: 'cost', amount: 1, spent: 0.85 } },
  ]);
});

it('warns again after the budget was raised, once 80 % of the new amount are spent', async () => {
  const id = await budget(100);
  const { run, thread } = await idleRun([id]);
  const worker = await lease(id, 100);
  const spend = (spent: number) =>
    reportBudgets(fixture.db, worker, [{ budget: id, spent, returned: 0, run, step: 1 }]);
  await spend(79);
  expect(await warnings(id)).toHaveLength(0);
  await spend(80);
  expect(await warnings(id)).toHaveLength(1);
  // Reported again, and an older report that arrives late.
  await spend(80);
  await spend(70);
  expect(await spentOf(id)).toBe(80);
  await spend(85);
  expect(await warnings(id)).toHaveLength(1);
  // 85 of 105 are still more than 80 %: nothing is crossed.
  await raiseBudget(fixture, id, 105);
  await spend(86);
  expect(await warnings(id)).toHaveLength(1);
  await raiseBudget(fixture, id, 110);
  await spend(87);
  expect(await warnings(id)).toHaveLength(1);
  await spend(88);
  expect(await warnings(id)).toMatchObject([
    { thread_id: thread, data: { amount: 100, spent: 80 } },
    { thread_id: thread, data: { amount: 110, spent: 88 } },
  ]);
  await reportBudgets(fixture.db, worker, [{ budget: id, spent: 88, returned: 12 }]);
  await fixture.kernel.cancel(run);
});

it('warns once per crossing if many workers report at the same time', async () => {
  const WORKERS = 12;
  for (let round = 0; round < 8; round++) {
    const ids = [await budget(1_200), await budget(1_200)];
    const runs = await Promise.all(Array.from({ length: WORKERS }, () => idleRun(ids)));
    const workers: string[] = [];
    for (let n = 0; n < WORKERS; n++) workers.push(await lease(ids[0]!, 100));
    for (const worker of workers) await leaseBudget(fixture.db, ids[1]!, worker, 0, 100);
    // Each worker reports twice, once in each order of the budgets, while other transactions write to the same threads.
    await Promise.all(
      workers.flatMap((worker, n) =>
        [50, 100].map(async (spent) => {
          const { run } = runs[n]!;
          const other = runs[(n + 5) % WORKERS]!.run;
          await reportBudgets(fixture.db, worker, [
            { budget: ids[n % 2]!, spent, returned: 0, run, step: 1 },
            { budget: ids[1 - (n % 2)]!, spent, returned: 0, run: other, step: 1 },
          ]);
          await patiently(() => fixture.kernel.cancel(run));
        }),
      ),
    );
    for (const id of ids) {
      expect(await spentOf(id)).toBe(1_200);
      expect(await warnings(id)).toHaveLength(1);
    }
  }
});

it.each(['report', 'takeover'])('a %s locks the thread before the budget, as a raise does', async (how) => {
  const id = await budget(50);
  const { run, thread } = await idleRun([id]);
  const worker = await lease(id, 50);
  await addSteps(run, worker, [1]);
  const client = await fixture.db.pool.connect();
  try {
    await client.query('begin');
    await client.query('select from troupe.threads where id = $1 for no key update', [thread]);
    const crossing =
      how === 'report'
        ? reportBudgets(fixture.db, worker, [{ budget: id, spent: 40, returned: 10, run, step: 1 }])
        : reap(fixture.db, worker, null, false);
    await until('it waits for the thread', async () => {
      const { rows } = await fixture.db.pool.query('select from pg_locks where not granted');
      return rows.length > 0;
    });
    await client.query('select from troupe.budgets where id = $1 for no key update nowait', [id]);
    await client.query('commit');
    await crossing;
  } finally {
    client.release();
  }
  expect(await warnings(id)).toHaveLength(1);
  await fixture.kernel.cancel(run);
});

it('warns when the unreported spending of a worker that died is booked', async () => {
  const id = await budget(100);
  const { run, thread } = await idleRun([id]);
  const worker = await lease(id, 100);
  await addSteps(run, worker, [1, 2]);
  const report = () =>
    reportBudgets(fixture.db, worker, [{ budget: id, spent: 80, returned: 0, run, step: 2 }]).catch(() => {});
  // The last report of the worker and its takeover at the same time.
  await Promise.all([report(), reap(fixture.db, worker, null, false), report()]);
  expect(await spentOf(id)).toBe(80);
  expect(await warnings(id)).toMatchObject([{ thread_id: thread, run_id: run, step: 2 }]);
  await report();
  expect(await warnings(id)).toHaveLength(1);
  await fixture.kernel.cancel(run);
});

async function spentOf(id: string): Promise<number> {
  const { rows } = await fixture.db.pool.query('select spent::int from troupe.budgets where id = $1', [id]);
  return rows[0].spent;
}

/** Steps of 40 tokens each that are on disk. */
async function addSteps(run: string, worker: string, steps: number[]): Promise<void> {
  await fixture.db.pool.query(
    `insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, finished_at,
      input_tokens, output_tokens, cost, finish_reason, budgeted)
      select $1, s, 'p', 'm', $2, 1, 1, now(), now() + s * interval '1 s', 20, 20, 0, 'stop', true from unnest($3::int[]) s`,
    [run, worker, steps],
  );
  await fixture.db.pool.query('update troupe.runs set step = $2 where id = $1', [run, steps.length]);
}
