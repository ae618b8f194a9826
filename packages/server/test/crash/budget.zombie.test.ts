import { createBudget, newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, script } from './agents.ts';
import { Scene } from './scene.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

// A step reserves 1,100 tokens and uses 900: the sixth just fits, a seventh does not.
const AMOUNT = 5_500;
const models = [{ provider: 'scripted', model: 'script', maxOutputTokens: 1_000 }];
const text = script([{ text: 'Done.', usage: { inputTokens: 100, outputTokens: 800 } }]);

it('a worker that was taken for dead does not spend the share of a budget that it held', async () => {
  await using scene = await Scene.open(postgresUrl);
  const { cast, db, kernel } = scene.stage;
  const budget = newId();
  await createBudget(db, {
    id: budget,
    project: cast.project,
    scope: 'agent',
    scopeId: cast.agent,
    unit: 'tokens',
    amount: AMOUNT,
    onExhausted: 'stop',
  });
  const snapshot = await scene.stage.snapshot({ ...agent, models });
  const start = async () => {
    const item = scene.item(snapshot, text, { run: { budgets: [budget] } });
    await kernel.start(item);
    return item.run.id;
  };

  const survivor = scene.enlist();
  await survivor.ready;
  await start();
  const zombie = await scene.worker({ hold: ['model'] });
  await until('it is with the model', () => scene.effects('true'));
  zombie.signal('SIGSTOP');
  await Promise.all(Array.from({ length: 5 }, start));
  await scene.worker({ capacity: 1 }, survivor);
  expect(new Set(Object.values(await scene.finish()))).toEqual(new Set(['completed']));
  await scene.dismiss(survivor);

  const beyond = await start();
  void zombie.order({ type: 'release' });
  zombie.signal('SIGCONT');
  expect((await scene.finish())[beyond]).toBe('canceled');
  expect(await scene.stage.row(beyond)).toMatchObject({ cancel_reason: 'budget' });
  const [used] = await scene.query<{ tokens: number }>(
    'select sum(input_tokens + output_tokens)::int as tokens from troupe.run_steps where budgeted',
  );
  expect(used!.tokens).toBeLessThanOrEqual(AMOUNT);
  await scene.check();
});
