import { createModels, Database, Kernel, newId, silentLogger } from '@troupe/server';
import type { Script } from '@troupe/server/parts';
import { codeTools, plainDoor, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { IdSet } from '../../src/kernel/id-set.ts';
import { StandingBudgets } from '../../src/kernel/standing-budgets.ts';
import { leaseBudget, reportBudgets, setBudget } from '../../src/store/queries/budgets.ts';
import { reap } from '../../src/store/queries/workers.ts';
import { raiseBudget } from '../raise-budget.ts';
import { call, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

type Policy = 'stop' | 'fallback' | 'wait';

async function budget(amount: number, onExhausted: Policy = 'stop', unit: 'tokens' | 'cost' = 'tokens') {
  const id = newId();
  await setBudget(
    fixture.db.rows,
    { project: fixture.ids.project, scope: 'agent', scopeId: newId(), unit },
    { id, amount, onExhausted },
  );
  return id;
}

/** An agent whose every step uses 40 tokens and may use 20 more than its input. */
const usage = { inputTokens: 20, outputTokens: 20 };
async function agent(script: Script, more: { models?: object[]; tools?: object[]; limits?: object } = {}) {
  const name = `script ${newId()}`;
  fixture.scripted.add(name, script);
  return fixture.snapshot({
    models: [{ provider: 'scripted', model: name, maxOutputTokens: 20 }, ...(more.models ?? [])],
    ...(more.tools ? { tools: more.tools } : {}),
    ...(more.limits ? { limits: more.limits } : {}),
  } as Parameters<ScriptedFixture['snapshot']>[0]);
}
/** A list, so that the model can say beforehand what it will use. */
const answers = (steps: number): Script => [
  ...Array.from({ length: steps - 1 }, (_, n) => ({ calls: [call('noop', {}, `call ${n}`)], usage })),
  { text: 'done', usage },
];
const tools = [codeTool('noop')];

async function row(id: string): Promise<{ amount: number; spent: number; leased: number }> {
  const { rows } = await fixture.db.pool.query(
    'select amount::int, spent::int, leased::int from troupe.budgets where id = $1',
    [id],
  );
  return rows[0];
}
async function used(id: string): Promise<number> {
  const { rows } = await fixture.db.pool.query(
    `select coalesce(sum(s.input_tokens + s.output_tokens), 0)::int as n from troupe.run_steps s
      join troupe.runs r on r.id = s.run_id where $1 = any(r.budget_ids)`,
    [id],
  );
  return rows[0].n;
}
const settled = (id: string) => until('all leases are back', async () => (await row(id)).leased === 0);

describe('a budget', () => {
  it('is not touched where none is set', async () => {
    fixture.tools.noop = () => null;
    await fixture.kernel.budgetChanged(await budget(0));
    fixture.statements.length = 0;
    expect(await fixture.play(await agent(answers(3), { tools }))).toMatchObject({ status: 'completed' });
    expect(fixture.statements).toContain('commit');
    expect(fixture.statements.filter((name) => name.includes('budget'))).toEqual([]);
    const { rows } = await fixture.db.pool.query('select from troupe.run_steps where budgeted');
    expect(rows).toEqual([]);
  });

  it('is leased in pieces, spent in memory and reported: not a statement per step', async () => {
    fixture.tools.noop = () => null;
    const id = await budget(100_000);
    fixture.statements.length = 0;
    const ended = await fixture.play(await agent(answers(8), { tools }), { run: { budgets: [id] } });
    expect(ended.status).toBe('completed');
    expect(fixture.statements.filter((name) => name === 'lease_budget').length).toBeLessThanOrEqual(2);
    await settled(id);
    expect(await row(id)).toEqual({ amount: 100_000, spent: 8 * 40, leased: 0 });
  });
});

describe('budgets that are set for something', () => {
  const { signal } = new AbortController();
  const standing = async () => {
    const one = new StandingBudgets(fixture.db);
    await one.start();
    one.stop();
    return one;
  };
  /** As the row of a run of an agent: no row has its id, so that nothing is written. */
  const runOf = (agentId: string) =>
    ({
      id: newId(),
      epoch: 1,
      projectId: newId(),
      agentId,
      spaceId: null,
      threadId: newId(),
      budgetIds: null,
    }) as never;
  const set = `insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount) values ($1, $2, 'agent', $3, 'tokens', 1)`;

  it('are found however late the transaction ends that sets them, and no longer when they are deleted', async () => {
    const { pool } = fixture.db;
    const { project } = fixture.ids;
    const [early, late, agentId] = [newId(), newId(), newId()];
    const known = await standing();
    const client = await pool.connect();
    await client.query('begin');
    await client.query(set, [late, project, agentId]);
    await pool.query(set, [early, project, newId()]);
    // Knows of what came after it, and that something before that is not over.
    known.changed();
    fixture.statements.length = 0;
    expect(await known.of(runOf(agentId), signal)).toBeNull();
    expect(fixture.statements).not.toContain('budgets_for');
    await client.query('commit');
    client.release();
    // Nobody has told of it.
    expect(await known.of(runOf(agentId), signal)).toBeNull();
    known.changed();
    expect(await known.of(runOf(agentId), signal)).toEqual([late]);
    // Asked for once, until something changes.
    expect(await known.of(runOf(agentId), signal)).toEqual([late]);
    expect(fixture.statements.filter((name) => name === 'budgets_for')).toHaveLength(1);
    await pool.query('delete from troupe.budgets where id = any($1)', [[early, late]]);
    known.changed();
    expect(await known.of(runOf(agentId), signal)).toBeNull();
  });

  it('are known of a database that was restored from another, where transactions had higher numbers', async () => {
    const { pool } = fixture.db;
    const [restored, agentId] = [newId(), newId()];
    await pool.query(set, [restored, fixture.ids.project, agentId]);
    await pool.query('update troupe.budgets set xid = 9000000000 where id = $1', [restored]);
    const known = await standing();
    expect(await known.of(runOf(agentId), signal)).toEqual([restored]);
    // And one that is set now.
    const other = newId();
    const id = newId();
    await pool.query(set, [id, fixture.ids.project, other]);
    known.changed();
    expect(await known.of(runOf(other), signal)).toEqual([id]);
    await pool.query('delete from troupe.budgets where id = any($1)', [[restored, id]]);
  });

  it('are as many as one likes', () => {
    const ids = Array.from({ length: 20_000 }, () => newId());
    const few = new IdSet();
    for (const id of [...ids, ...ids.slice(0, 100)]) few.add(id);
    expect(few.size).toBe(20_000);
    expect(ids.every((id) => few.has(id))).toBe(true);
    expect(ids.some(() => few.has(newId()))).toBe(false);
  });
});

// Beside each other: most of their time goes by until idle shares are given back.
describe.concurrent('a budget', () => {
  it('is reserved before the call: what cannot be paid is not asked', async () => {
    const id = await budget(100);
    const snapshot = await agent(answers(1));
    const ends = [];
    for (let n = 0; n < 4; n++) ends.push(await fixture.play(snapshot, { run: { budgets: [id] } }));
    expect(ends.map((end) => end.status)).toEqual(['completed', 'completed', 'canceled', 'canceled']);
    expect(await fixture.row(ends[3]!.run)).toMatchObject({
      status: 'canceled',
      cancel_reason: 'budget',
      step: 0,
    });
    expect(fixture.requests(ends[3]!.run)).toEqual([]);
    expect(await fixture.types(ends[3]!.thread)).toContain('budget.exhausted');
    await settled(id);
    expect(await row(id)).toEqual({ amount: 100, spent: 80, leased: 0 });
  });

  it('bounds an answer by what is left of it', async () => {
    const id = await budget(120);
    const name = `script ${newId()}`;
    fixture.scripted.add(name, [{ text: 'short', usage: { inputTokens: 20, outputTokens: 5 } }]);
    const snapshot = await fixture.snapshot({
      models: [{ provider: 'scripted', model: name, maxOutputTokens: 1_000 }],
    });
    const { run } = await fixture.play(snapshot, { run: { budgets: [id] } });
    const [request] = fixture.requests(run);
    expect(request!.maxOutputTokens).toBeLessThanOrEqual(100);
    expect(request!.maxOutputTokens).toBeGreaterThan(50);
    await settled(id);
  });

  it('is never exceeded by twenty runs at once in two workers, and nothing of it is lost', async () => {
    fixture.tools.noop = () => null;
    const db = new Database({ url: fixture.databaseUrl, applicationName: 'second', logger: silentLogger });
    const kernel = new Kernel({ db, logger: silentLogger });
    await kernel.work({
      doors: [plainDoor],
      models: createModels({ scripted: fixture.scripted.provider }),
      tools: codeTools(fixture.tools),
      capacity: 10,
    });
    for (const amount of [1_000, 1_990]) {
      const id = await budget(amount);
      const snapshot = await agent(answers(4), { tools });
      const runs = await Promise.all(
        Array.from({ length: 20 }, () => fixture.start(snapshot, { run: { budgets: [id] } })),
      );
      const ends = await Promise.all(runs.map(({ run }) => fixture.ended(run)));
      expect(await used(id)).toBeLessThanOrEqual(amount);
      // Twenty times 160 do not fit; as much as fits was used.
      expect(await used(id)).toBeGreaterThan(amount - 200);
      expect(new Set(ends.map((end) => end.status))).toContain('canceled');
      await settled(id);
      expect((await row(id)).spent).toBe(await used(id));
    }
    await kernel.close();
    await db.close();
  });

  it('in money counts what each model costs', async () => {
    const id = await budget(1_000, 'stop', 'cost');
    const name = `script ${newId()}`;
    fixture.scripted.add(name, [{ text: 'dear', usage }]);
    const snapshot = await fixture.snapshot({
      models: [{ provider: 'scripted', model: name, maxOutputTokens: 20, inputPrice: 5, outputPrice: 15 }],
    });
    const ends = [];
    for (let n = 0; n < 3; n++) ends.push(await fixture.play(snapshot, { run: { budgets: [id] } }));
    expect(ends.map((end) => end.status)).toEqual(['completed', 'completed', 'canceled']);
    await settled(id);
    expect(await row(id)).toMatchObject({ spent: 800 });
  });

  it('of several kinds at once: the tightest decides, and the others get back what was reserved', async () => {
    const [wide, narrow] = [await budget(10_000), await budget(50)];
    const snapshot = await agent(answers(1));
    const run = () => fixture.play(snapshot, { run: { budgets: [wide, narrow] } });
    expect((await run()).status).toBe('completed');
    expect((await run()).status).toBe('canceled');
    await Promise.all([settled(wide), settled(narrow)]);
    expect([(await row(wide)).spent, (await row(narrow)).spent]).toEqual([40, 40]);
  });

  it('gets back what a failed try had reserved', async () => {
    const id = await budget(60);
    const error = { code: 'busy', message: 'busy', retryable: true };
    const snapshot = await agent([{ text: 'ok', usage, error, faultTimes: 2 }], {
      limits: { retryBackoffMs: 1 },
    });
    expect(await fixture.play(snapshot, { run: { budgets: [id] } })).toMatchObject({ status: 'completed' });
    await settled(id);
    expect(await row(id)).toMatchObject({ spent: 40 });
  });
});

describe.concurrent('at the end of a budget', () => {
  it('with policy fallback the cheaper model of the list answers', async () => {
    const id = await budget(1_000, 'fallback', 'cost');
    fixture.scripted.add('same', [{ text: 'cheap', usage }]);
    const model = { provider: 'scripted', model: 'same', maxOutputTokens: 20 };
    const snapshot = await fixture.snapshot({
      models: [
        { ...model, inputPrice: 100, outputPrice: 100 },
        { ...model, inputPrice: 1, outputPrice: 1 },
      ],
    });
    const { run, thread, ...ended } = await fixture.play(snapshot, { run: { budgets: [id] } });
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'cheap' } });
    expect(await fixture.row(run)).toMatchObject({ model_index: 1, cost: 40 });
    expect((await fixture.types(thread)).filter((type) => type === 'budget.exhausted')).toHaveLength(1);
    await settled(id);
  });

  it('with policy fallback and nothing cheaper the run ends', async () => {
    const id = await budget(10, 'fallback');
    const { run } = await fixture.play(await agent(answers(1)), { run: { budgets: [id] } });
    expect(await fixture.row(run)).toMatchObject({ cancel_reason: 'budget' });
  });

  it('with policy wait the run waits until the budget is raised, then goes on', async () => {
    fixture.tools.noop = () => null;
    const id = await budget(50, 'wait');
    const { run, thread } = await fixture.start(await agent(answers(3), { tools }), {
      run: { budgets: [id] },
    });
    await fixture.becomes(run, 'waiting_tool');
    expect(await fixture.row(run)).toMatchObject({
      step: 1,
      open_calls: 0,
      wait_state: { kind: 'budget', budget: id },
    });
    expect(await fixture.types(thread)).toContain('budget.exhausted');
    await raiseBudget(fixture, id, 500);
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
    expect(fixture.requests(run)).toHaveLength(3);
    await settled(id);
    expect(await row(id)).toEqual({ amount: 500, spent: 120, leased: 0 });
  });

  it('with policy wait a canceled run is not woken by a raise', async () => {
    const id = await budget(10, 'wait');
    const { run } = await fixture.start(await agent(answers(1)), { run: { budgets: [id] } });
    await fixture.becomes(run, 'waiting_tool');
    await fixture.kernel.cancel(run);
    await raiseBudget(fixture, id, 500);
    expect((await fixture.row(run)).status).toBe('canceled');
  });
});

describe('a budget that is raised', () => {
  it('while a run lies down to wait for it does not leave that run behind', async () => {
    const id = await budget(10, 'wait');
    const parking = gate();
    const goOn = gate();
    const snapshot = await agent(answers(1));
    fixture.atPark = async () => {
      parking.resolve();
      await goOn.promise;
    };
    const { run } = await fixture.start(snapshot, { run: { budgets: [id] } });
    await parking.promise;
    // The run does not wait yet.
    await raiseBudget(fixture, id, 500);
    fixture.atPark = undefined;
    goOn.resolve();
    expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
  });
});

describe('a worker that dies', () => {
  it('gives back what its steps do not show as spent', async () => {
    const id = await budget(10_000);
    const worker = newId();
    const { pool } = fixture.db;
    // A worker that leased 1,000, reported 40 of the 80 that its two steps used, and is gone.
    expect(await leaseBudget(fixture.db, id, worker, 0, 1_000)).toMatchObject({ granted: 1_000 });
    const { run } = await fixture.start(await agent(answers(1)), {
      run: { budgets: [id], delayMs: 3_600_000 },
    });
    for (const step of [1, 2]) {
      await pool.query(
        `insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, finished_at,
          input_tokens, output_tokens, cost, finish_reason, budgeted) values ($1, $2, 'p', 'm', $3, 1, 1, now(), now(), 20, 20, 0, 'stop', true)`,
        [run, step, worker],
      );
    }
    await pool.query('update troupe.runs set step = 2 where id = $1', [run]);
    await reportBudgets(fixture.db, worker, [{ budget: id, spent: 40, returned: 100 }]);
    expect(await row(id)).toEqual({ amount: 10_000, spent: 40, leased: 860 });
    expect(await reap(fixture.db, worker, null, false)).toBe(0);
    expect(await row(id)).toEqual({ amount: 10_000, spent: 80, leased: 0 });
    // Whatever it still reports changes nothing.
    await reportBudgets(fixture.db, worker, [{ budget: id, spent: 500, returned: 0 }]);
    expect(await row(id)).toEqual({ amount: 10_000, spent: 80, leased: 0 });
    await fixture.kernel.cancel(run);
  });
});
