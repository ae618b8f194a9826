import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { setBudget } from '../../src/store/queries/budgets.ts';
import { agent, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

// A step reserves 1,100 tokens and uses 900: the sixth just fits, a seventh does not.
const AMOUNT = 5_500;
const models = [{ provider: 'scripted', model: 'script', maxOutputTokens: 1_000 }];
const text = script([{ text: 'Done.', usage: { inputTokens: 100, outputTokens: 800 } }]);

it('a worker that was taken for dead does not spend the share of a budget that it held', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  const { ids, db, kernel } = fixture;
  const budget = newId();
  await setBudget(
    db.rows,
    { project: ids.project, scope: 'agent', scopeId: ids.agent, unit: 'tokens' },
    { id: budget, amount: AMOUNT, onExhausted: 'stop' },
  );
  const snapshot = await fixture.snapshot({ ...agent, models });
  const start = async () => {
    const item = fixture.item(snapshot, text, { run: { budgets: [budget] } });
    await kernel.start(item);
    return item.run.id;
  };

  const survivor = fixture.enlist();
  await survivor.ready;
  await start();
  const zombie = await fixture.worker({ hold: ['model'] });
  await until('it is with the model', () => fixture.effects('true'));
  zombie.signal('SIGSTOP');
  await Promise.all(Array.from({ length: 5 }, start));
  await fixture.worker({ capacity: 1 }, survivor);
  expect(new Set(Object.values(await fixture.finish()))).toEqual(new Set(['completed']));
  await fixture.dismiss(survivor);

  const beyond = await start();
  void zombie.order({ type: 'release' });
  zombie.signal('SIGCONT');
  expect((await fixture.finish())[beyond]).toBe('canceled');
  expect(await fixture.row(beyond)).toMatchObject({ cancel_reason: 'budget' });
  const [used] = await fixture.query<{ tokens: number }>(
    'select sum(input_tokens + output_tokens)::int as tokens from troupe.run_steps where budgeted',
  );
  expect(used!.tokens).toBeLessThanOrEqual(AMOUNT);
  expect(await fixture.count(`troupe.events where type = 'budget.warning'`)).toBe(1);
  await fixture.check();
});

it('a worker that is killed before it reports its spending leaves one warning', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  const { ids, db, kernel } = fixture;
  await setBudget(
    db.rows,
    { project: ids.project, scope: 'agent', scopeId: ids.agent, unit: 'tokens' },
    // One step reserves 1,100 and spends 900, which is more than 80 %.
    { id: newId(), amount: 1_110, onExhausted: 'stop' },
  );
  const item = fixture.item(await fixture.snapshot({ ...agent, models }), text);
  await kernel.start(item);
  const victim = await fixture.worker({ strike: { boundary: 'answer', when: 'after' } });
  await victim.died;
  expect(await fixture.count(`troupe.events where type = 'budget.warning'`)).toBe(0);
  await fixture.worker();
  await until('the lease is settled', async () => (await fixture.count('troupe.budget_leases')) === 0);
  const warnings = await fixture.query(
    `select thread_id, run_id, step from troupe.events where type = 'budget.warning'`,
  );
  expect(warnings).toEqual([{ thread_id: item.thread, run_id: item.run.id, step: 1 }]);
  await fixture.check();
});
