import { stopwatch, until } from '@troupe/testing';
import { afterAll, describe, expect, inject, it } from 'vitest';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { agent, call, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

describe.concurrent('a worker', () => {
  it('told to stop ends what is under way, gives the rest back and is gone within 10 s', async () => {
    await using fixture = await CrashFixture.open(postgresUrl);
    const start = (turns: Turn[]) => fixture.startAgent(agent, script(turns));
    const held = await start([{ text: 'Done.' }]);
    const thinking = await start([{ delayMs: 3_000, calls: [call('write')] }, { text: 'Done.' }]);
    const acting = await start([{ calls: [call('write', 3_000), call('fetch', 3_300)] }, { text: 'Done.' }]);
    const ending = await start([{ delayMs: 3_000, text: 'Done.' }]);

    const stopping = await fixture.worker({ hold: [held] });
    await until('all are under way', async () => {
      const begun = `select distinct run_id, name from effects`;
      return (await fixture.count(`(${begun}) begun`)) === 6;
    });
    const elapsed = stopwatch();
    stopping.signal('SIGTERM');
    expect(await stopping.died).toEqual({ code: 0, signal: null });
    expect(elapsed()).toBeLessThan(10_000);

    const rows = { held, thinking, acting, ending };
    const states = await Promise.all(
      Object.entries(rows).map(async ([name, run]) => {
        const { status, step, takeovers } = await fixture.row(run);
        const calls = (await fixture.calls(run)).map((each) => each.status);
        return [name, { status, step, takeovers, calls }];
      }),
    );
    expect(Object.fromEntries(states)).toEqual({
      held: { status: 'queued', step: 0, takeovers: 0, calls: [] },
      thinking: { status: 'queued', step: 1, takeovers: 0, calls: ['requested'] },
      acting: { status: 'queued', step: 1, takeovers: 0, calls: ['completed', 'completed'] },
      ending: { status: 'completed', step: 1, takeovers: 0, calls: [] },
    });
    expect(await fixture.effects(`name = 'write' and run_id = $1`, [thinking])).toBe(0);

    await fixture.worker();
    expect(new Set(Object.values(await fixture.finish()))).toEqual(new Set(['completed']));
    expect(await fixture.effects(`kind = 'tool'`)).toBe(3);
    expect(await fixture.effects(`kind = 'model' and run_id <> $1`, [held])).toBe(5);
    await fixture.check();
  });

  it('that is full takes no more', async () => {
    await using fixture = await CrashFixture.open(postgresUrl);
    const text = script([{ calls: [call('fetch', 20)] }, { calls: [call('add', 20)] }, { text: 'Done.' }]);
    await fixture.startAgents(agent, text, 10);
    await fixture.worker({ capacity: 2 });
    let most = 0;
    await until('all runs have ended', async () => {
      most = Math.max(most, await fixture.count(`troupe.runs where status = 'running'`));
      return (await fixture.count(`troupe.runs where status = 'completed'`)) === 10;
    });
    const [seen] = await fixture.query<{ most: number }>('select max(running) as most from effects');
    expect({ most, seen: seen!.most }).toEqual({ most: 2, seen: 2 });
    await fixture.check();
  });
});
