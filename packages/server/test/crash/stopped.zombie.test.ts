import { contention, until } from '@troupe/testing';
import { afterAll, describe, expect, inject, it } from 'vitest';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { agent, call, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import type { Job } from './orders.ts';
import { endAll, type WorkerProcess } from './worker-processes.ts';

// A worker process that stands still until others have taken its runs, and then wakes up as if nothing had happened.

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

interface Moment {
  title: string;
  turns: Turn[];
  job: Omit<Job, 'url'>;
  /** Resolves when the worker is where it is to stop. */
  reached(fixture: CrashFixture, worker: WorkerProcess): Promise<unknown>;
  inDoubt: number;
}

const moments: Moment[] = [
  {
    title: 'in a model call',
    turns: [{ calls: [call('write'), call('fetch')] }, { text: 'Done.' }],
    job: { hold: ['model'] },
    reached: (fixture) => until('the model is asked', () => fixture.effects(`kind = 'model'`)),
    inDoubt: 0,
  },
  {
    title: 'in its tools',
    turns: [{ calls: [call('write'), call('fetch')] }, { calls: [call('write')] }, { text: 'Done.' }],
    job: { hold: ['write', 'fetch'] },
    reached: (fixture) => until('both tools run', async () => (await fixture.effects(`kind = 'tool'`)) === 2),
    inDoubt: 1,
  },
  {
    title: 'between the commit of an answer and its tools',
    turns: [{ calls: [call('write'), call('fetch'), call('add')] }, { text: 'Done.' }],
    job: { strike: { boundary: 'answer', when: 'after', signal: 'SIGSTOP' } },
    reached: (_scene, worker) => until('it has stopped itself', () => worker.struck),
    inDoubt: 1,
  },
];

describe.concurrent('a worker stopped', () => {
  it.each(moments)('$title: writes and begins nothing more of what it lost, and goes on', async (moment) => {
    await using fixture = await CrashFixture.open(postgresUrl);
    const survivor = fixture.enlist();
    await survivor.ready;
    const run = await fixture.startAgent(agent, script(moment.turns));
    const zombie = await fixture.worker(moment.job);
    await moment.reached(fixture, zombie);
    // One that stops itself must not be stopped before it does: it would stop once more when it is woken.
    if (!moment.job.strike) zombie.signal('SIGSTOP');
    const stoppedAt = Date.now();

    await fixture.worker({}, survivor);
    expect(await fixture.finish()).toEqual({ [run]: 'completed' });
    const [took] = await fixture.takenAgain([run], stoppedAt);
    console.info(`takeover after SIGSTOP ${moment.title}: ${Math.round(took!)} ms`);
    expect(took! / contention()).toBeLessThanOrEqual(5_000);
    const doubtful = await fixture.count(`troupe.tool_calls where status = 'in_doubt'`);
    expect(doubtful).toBe(moment.inDoubt);
    await fixture.dismiss(survivor);

    const record = await fixture.record(run);
    const effects = await fixture.effects('run_id = $1', [run]);
    const next = await fixture.startAgent(agent, script(moment.turns));
    void zombie.order({ type: 'release' }); // is read when it wakes, before anything from the database can be
    zombie.signal('SIGCONT');
    expect(await fixture.finish()).toEqual({ [run]: 'completed', [next]: 'completed' });

    expect(await fixture.record(run)).toEqual(record);
    expect(await fixture.effects('run_id = $1', [run])).toBe(effects);
    const byZombie = await fixture.count('troupe.run_steps where run_id = $1 and worker_id = $2', [
      next,
      zombie.incarnation,
    ]);
    expect(byZombie).toBe(moment.turns.length);
    expect(await fixture.count(`troupe.tool_calls where status = 'in_doubt'`)).toBe(moment.inDoubt);
    await fixture.check();
  });

  it('takes back a run that nobody else had room for, and holds it once', async () => {
    await using fixture = await CrashFixture.open(postgresUrl);
    const text = script([{ calls: [call('write', 2_500)] }, { text: 'Done.' }]);
    await fixture.startAgent(agent, script([{ text: 'Done.' }]));
    const full = await fixture.worker({ capacity: 1, hold: ['model'] });
    await until('the other worker is full', async () => (await fixture.heldBy(full)).length === 1);
    const run = await fixture.startAgent(agent, text);
    const zombie = await fixture.worker({ hold: ['model'] });
    await until('the model is asked', () => fixture.effects('run_id = $1', [run]));
    zombie.signal('SIGSTOP');
    await until('it is taken from the zombie', () =>
      fixture.count(`troupe.runs where id = $1 and status = 'queued'`, [run]),
    );
    void zombie.order({ type: 'release' });
    zombie.signal('SIGCONT');
    await until('the run has ended', () =>
      fixture.count(`troupe.runs where id = $1 and status = 'completed'`, [run]),
    );
    expect(await fixture.row(run)).toMatchObject({ epoch: 2, takeovers: 0 });
    expect(await fixture.calls(run)).toMatchObject([{ status: 'completed', attempt: 1 }]);
    void full.order({ type: 'release' });
    await fixture.finish();
    await fixture.check();
  });
});
