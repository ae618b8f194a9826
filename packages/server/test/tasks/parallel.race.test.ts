import { fork } from 'node:child_process';
import { join } from 'node:path';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Chat, call, calls, final, give, results, TaskFixture } from './fixture.ts';
import type { Order } from './settling-process.ts';

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl') });
  await fixture.made('/v1/tools', { name: 'press', kind: 'client' });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('presser', { tools: ['press'], limits: { fanOut: 50 } });
});
afterAll(async () => {
  await fixture.joined();
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const PROCESSES = 3;
const ROUNDS = 2;

function enlist() {
  const child = fork(join(import.meta.dirname, 'settling-process.ts'), { execArgv: [] });
  const ready = new Promise((resolve) => child.once('message', resolve));
  return async (order: Order): Promise<number> => {
    await ready;
    const done = new Promise<{ queued: number }>((resolve) => child.once('message', resolve));
    child.send(order);
    const { queued } = await done;
    child.disconnect();
    return queued;
  };
}

test('fifty calls of one turn of a sub-agent, settled in any order by several processes: exactly one next turn', async () => {
  const processes = Array.from({ length: PROCESSES * ROUNDS }, enlist);
  for (let round = 0; round < ROUNDS; round++) {
    const turns: number[] = [];
    const chat: Chat = await fixture.session('boss', (request, who) => {
      const got = results(request);
      if (who !== 'presser')
        return got[0] ? { text: String(got[0].result) } : calls(give('presser', `Press. ${chat.word}`));
      turns.push(request.step);
      return got.length === 0
        ? calls(...Array.from({ length: 50 }, () => call('press')))
        : final(`pressed ${got.length}`);
    });
    const { run } = await chat.post();
    await until('it waits', async () => {
      const [waiting] = await fixture.rows<{ n: number }>(
        `select r.open_calls as n from troupe.runs r join troupe.tasks t on t.run_id = r.id where t.chat_id = $1 and r.status = 'waiting_tool'`,
        chat.id,
      );
      return waiting?.n === 50;
    });
    const { run_id } = await chat.task();
    const open = await fixture.rows<{ call_id: string }>(
      'select call_id from troupe.tool_calls where run_id = $1 order by random()',
      run_id,
    );
    const queued = await Promise.all(
      processes.splice(0, PROCESSES).map((settle, place) =>
        settle({
          url: fixture.server.databaseUrl,
          run: run_id,
          calls: open.flatMap((one, index) => (index % PROCESSES === place ? one.call_id : [])),
        }),
      ),
    );
    expect(await chat.answered(run!.id)).toBe('pressed 50');
    expect(queued.reduce((sum, n) => sum + n, 0)).toBe(1);
    expect(turns).toEqual([1, 2]);
  }
});

test('what an assistant says starts nothing', async () => {
  const chat: Chat = await fixture.session('boss', (request, who) => {
    if (who === 'presser') return final('done');
    return results(request)[0] ? { text: 'ok' } : calls(give('presser', `Do it. ${chat.word}`));
  });
  await chat.say();
  await chat.rests();
  const [runs] = await fixture.rows<{ n: number; steps: number }>(
    `select count(*)::int as n, sum(step)::int as steps from troupe.runs r where r.thread_id in (select thread_id from troupe.sessions where id = $1)
      or r.task_id in (select id from troupe.tasks where chat_id = $1)`,
    chat.id,
  );
  expect(runs).toEqual({ n: 2, steps: 3 });
});
