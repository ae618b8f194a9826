import { until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, call, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

it('a once call whose outcome is unknown waits for a person, who lets it go on in any way', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  const { kernel } = fixture;
  const text = script([{ calls: [call('write'), call('fetch')] }, { text: 'Done.' }]);
  const runs = await fixture.startAgents({ ...agent, inDoubt: 'wait' }, text, 3);
  const victim = await fixture.worker({ hold: ['write'] });
  const begun = `troupe.tool_calls where tool = 'fetch' and status = 'completed'`;
  await until('all write', async () => (await fixture.effects(`name = 'write'`)) === 3);
  await until('the rest is done', async () => (await fixture.count(begun)) === 3);
  victim.signal('SIGKILL');
  await fixture.worker();
  await until('all wait for a person', async () => {
    const waiting = `troupe.tool_calls c join troupe.runs r on r.id = c.run_id
      where c.status = 'in_doubt' and c.waits_for = 'person' and r.status = 'waiting_tool' and r.worker_id is null`;
    return (await fixture.count(waiting)) === 3;
  });
  expect(await fixture.effects(`name = 'write'`)).toBe(3);
  await fixture.check();

  const writeOf = async (run: string) => (await fixture.calls(run))[0]!;
  const id = async (run: string) => String((await writeOf(run)).call_id);
  const [again, done, given] = runs as [string, string, string];
  await kernel.settle(again, await id(again), { status: 'proceed' }, 'ann');
  await kernel.settle(done, await id(done), { status: 'completed', output: 'it was written' }, 'ann');
  const error = { code: 'not_written', message: 'It was not written.' };
  await kernel.settle(given, await id(given), { status: 'failed', error }, 'ann');
  expect(new Set(Object.values(await fixture.finish()))).toEqual(new Set(['completed']));

  expect(await writeOf(again)).toMatchObject({
    status: 'completed',
    output: { done: 'write' },
    error: null,
    attempt: 2,
  });
  expect(await writeOf(done)).toMatchObject({
    status: 'completed',
    output: 'it was written',
    error: null,
    settled_by: 'ann',
  });
  expect(await writeOf(given)).toMatchObject({ status: 'failed', output: null, error, settled_by: 'ann' });
  const times = await Promise.all(
    runs.map((run) => fixture.effects(`name = 'write' and run_id = $1`, [run])),
  );
  expect(times).toEqual([2, 1, 1]);
  expect(await fixture.effects(`name = 'fetch'`)).toBe(3);
  await fixture.check();
});
