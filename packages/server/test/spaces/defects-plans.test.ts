import type { Agent, Goal, Plan } from '@troupe/protocol';
import { newId, silentLogger } from '@troupe/server';
import { planTasks } from '@troupe/server/parts';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, calls, openScriptedSpaces, type Request, type say, triggerIn } from './scripted-agents.ts';

// As defects.test.ts: plans, goals and what an agent is made of.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces());
});
afterAll(() => fixture.close());

const outputOf = ({ messages }: Request) => {
  const last = messages.at(-1)!;
  return last.role === 'tool' ? (last.output as Record<string, unknown>) : null;
};
const lineOf = (prompt: string, name: string) => new RegExp(`^- ${name}: (.*)$`, 'm').exec(prompt)?.[1];

/** What an agent is told with every run, by its trigger. */
function prompts(name: string, act: (request: Request) => ReturnType<typeof say>[] = () => []) {
  const told: string[] = [];
  parts.set(name, (request) => {
    if (request.step === 1) told.push(request.system);
    return act(request);
  });
  return told;
}

async function pair(name: string, more: object = {}) {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent(name, more)];
  return { ann, ada, space: await fixture.space([ann, ada]) };
}

describe('plans, goals and the agent itself', () => {
  const planOf = (agent: Agent, body: object) =>
    fixture.done<Plan>('POST', `/v1/agents/${agent.id}/plans`, { name: newId(), ...body });

  test('that a plan is told without its instruction, with another time, or not at all when it is late, is not so here', async () => {
    const { ada } = await pair('Planning Ada');
    const told = prompts('Planning Ada');
    const plan = await planOf(ada, { name: 'Remind', instruction: 'Remind Ann.', runAfter: '1 hour' });
    // As after downtime: its time was long ago when somebody looks.
    const { rows } = await fixture.server.db.pool.query(
      `update troupe.plans set next_run_at = date_trunc('milliseconds', now() - interval '2 days') where id = $1 returning next_run_at as at`,
      [plan.id],
    );
    await planTasks(fixture.server.kernel).fire_plan!(
      { planId: plan.id },
      {
        ...{ db: fixture.server.db, logger: silentLogger, signal: new AbortController().signal },
        ...{ attempt: 1, lastAttempt: false },
      },
    );
    const fired = await until('it has fired', async () => {
      const now = await fixture.done<Plan>('GET', `/v1/agents/${ada.id}/plans/${plan.id}`);
      return now.lastRunId && (await fixture.run(now.lastRunId)).status === 'completed' ? now : null;
    });
    expect(fired.status).toBe('completed');
    expect(told).toHaveLength(1);
    expect(lineOf(told[0]!, 'instruction')).toBe('"Remind Ann."');
    expect(lineOf(told[0]!, 'scheduledAt')).toBe(rows[0].at.toISOString());
  });

  test('that a recurring plan is due at once, or in a zone that nobody knows, is not so here', async () => {
    const { ada } = await pair('Recurring Ada');
    const inZone = await planOf(ada, { cron: '0 9 * * *', timeZone: 'Asia/Kolkata' });
    const without = await planOf(ada, { cron: '0 9 * * *' });
    expect([inZone.timeZone, without.timeZone]).toEqual(['Asia/Kolkata', 'UTC']);
    expect(inZone.nextRunAt).toMatch(/T03:30:00/);
    expect(without.nextRunAt).toMatch(/T09:00:00/);
    for (const { nextRunAt } of [inZone, without]) expect(Date.parse(nextRunAt!)).toBeGreaterThan(Date.now());
  });

  test('that the first of two goals is now the larger and now the smaller number is not so here', async () => {
    const { ann, space } = await pair('Goal Ada');
    const goals = [3, 1, 2].map((priority) => ({ description: `of ${priority}`, priority }));
    let listed: Goal[] = [];
    const told = prompts('Goal Ada', (request) => {
      if (request.step === 3) listed = outputOf(request)!.goals as Goal[];
      return triggerIn(request.system) === 'Set'
        ? [calls(call('set_goals', { goals })), calls(call('get_goals'))]
        : [];
    });
    await fixture.ended((await fixture.say(space, ann, 'Set')).runs[0]!.id);
    await fixture.ended((await fixture.say(space, ann, 'And now?')).runs[0]!.id);
    expect(listed.map(({ description }) => description)).toEqual(['of 1', 'of 2', 'of 3']);
    const lines = told[1]!.split('GOALS:')[1]!.split('\n').slice(1, 4);
    expect(lines.map((line) => JSON.parse(line.slice(2)).priority)).toEqual([1, 2, 3]);
  });

  test('that what is written of an agent is taken and then ignored is not so here', async () => {
    for (const field of [
      { temperature: 0 },
      { config: {} },
      { configJson: { temperature: 0 } },
      { mcp: { servers: [] } },
    ])
      expect(await fixture.refused('POST', '/v1/agents', { name: newId(), ...field })).toEqual([
        ...[422, 'invalid_request'],
      ]);
  });
});
