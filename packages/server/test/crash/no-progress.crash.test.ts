import { until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, call, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

it('a run that three workers died of in the same step fails; one that got on in between does not', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  const stuck = await fixture.startAgent(agent, script([{ text: 'Done.' }]));
  const getsOn = await fixture.startAgent(agent, script([{ calls: [call('fetch')] }, { text: 'Done.' }]));
  // The third lets `getsOn` take its first step before it dies.
  const jobs = [{ hold: ['model'] }, { hold: ['model'] }, { hold: [stuck, 'fetch'] }];
  const spares = jobs.map(() => fixture.enlist());
  for (const [index, job] of jobs.entries()) {
    const victim = await fixture.worker(job, spares[index]!);
    const all = `worker_id = $1 and (run_id = $2 or kind = '${index === 2 ? 'tool' : 'model'}')`;
    await until('it is at work on both', async () => {
      return (await fixture.effects(all, [victim.incarnation, stuck])) === 2;
    });
    victim.signal('SIGKILL');
    await victim.died;
  }
  await fixture.worker();
  expect(await fixture.finish()).toEqual({ [stuck]: 'failed', [getsOn]: 'completed' });
  expect(await fixture.row(stuck)).toMatchObject({ error: { code: 'no_progress', retryable: true } });
  expect(await fixture.effects('run_id = $1', [stuck])).toBe(3);
  await fixture.check();
});
