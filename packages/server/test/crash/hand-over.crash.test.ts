import { until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, call, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

it('a call that was handed over by a worker that died before the run lay down is not made again', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  const entrusting = {
    ...agent,
    tools: [{ name: 'entrust', provider: 'code', effect: 'idempotent' as const }],
  };
  const run = await fixture.startAgent(entrusting, script([{ calls: [call('entrust')] }, { text: 'Done.' }]));
  const victim = await fixture.worker({ strike: { boundary: 'park', when: 'before' } });
  await victim.died;
  expect(await fixture.row(run)).toMatchObject({ status: 'running', open_calls: 1 });
  await fixture.worker();
  await until('the run waits', async () => (await fixture.row(run)).status === 'waiting_tool');
  expect(await fixture.effects(`kind = 'tool'`)).toBe(1);
  const [entrusted] = await fixture.calls(run);
  await fixture.kernel.settle(run, String(entrusted!.call_id), { status: 'completed', output: 'theirs' });
  // The canceled parent cancels its child.
  const ends = await fixture.finish();
  expect(ends[run]).toBe('completed');
  expect(Object.values(ends).sort()).toEqual(['canceled', 'completed']);
  expect(await fixture.effects(`kind = 'tool'`)).toBe(1);
  await fixture.check();
});
