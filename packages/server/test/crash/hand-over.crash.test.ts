import { until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, call, script } from './agents.ts';
import { Scene } from './scene.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

it('a call that was handed over by a worker that died before the run lay down is not made again', async () => {
  await using scene = await Scene.open(postgresUrl);
  const entrusting = {
    ...agent,
    tools: [{ name: 'entrust', provider: 'code', effect: 'idempotent' as const }],
  };
  const run = await scene.start(entrusting, script([{ calls: [call('entrust')] }, { text: 'Done.' }]));
  const victim = await scene.worker({ strike: { boundary: 'park', when: 'before' } });
  await victim.died;
  expect(await scene.stage.row(run)).toMatchObject({ status: 'running', open_calls: 1 });
  await scene.worker();
  await until('the run waits', async () => (await scene.stage.row(run)).status === 'waiting_tool');
  expect(await scene.effects(`kind = 'tool'`)).toBe(1);
  const [entrusted] = await scene.stage.calls(run);
  await scene.stage.kernel.settle(run, String(entrusted!.call_id), { status: 'completed', output: 'theirs' });
  expect(await scene.finish()).toEqual({ [run]: 'completed' });
  expect(await scene.effects(`kind = 'tool'`)).toBe(1);
  await scene.check();
});
