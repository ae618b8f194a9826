import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  call,
  calls,
  end,
  gate,
  marksIn,
  openScriptedSpaces,
  type Request,
  say,
  triggerIn,
} from './scripted-agents.ts';

// What a run does to other runs of its agent, and what it is told of them.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces());
});
afterAll(() => fixture.close());

const outputOf = ({ messages }: Request) => {
  const last = messages.at(-1)!;
  return last.role === 'tool' ? (last.output as Record<string, unknown>) : null;
};
const runIn = (system: string, text: string) =>
  new RegExp(`^- (\\S+): .* saying "${text}"`, 'm').exec(system.split('ACTIVE RUNS')[1]!)?.[1];

describe('absorb_run', () => {
  test('stops the model call of the other run, and takes its trigger and all that it did', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Absorb Ada')];
    const { closed, open } = gate();
    let absorbed: Record<string, unknown> | null = null;
    let thinking = false;
    parts.set('Absorb Ada', (request) => {
      const { system, step } = request;
      if (triggerIn(system) === 'Book a table') {
        if (step === 1) return [calls(call('set_memories', { memories: [{ key: 'k', value: 'v' }] }))];
        if (step === 2) return [end, say('One moment.')];
        thinking = true;
        return [end, end, { ...say('Booked for two.'), gate: closed }];
      }
      if (step === 2) absorbed = outputOf(request);
      return [calls(call('absorb_run', { runId: runIn(system, 'Book a table')! })), say('Booked for three.')];
    });
    const space = await fixture.space([ann, ada]);
    const [first] = (await fixture.say(space, ann, 'Book a table')).runs;
    await until('the first run thinks', () => thinking);
    const [second] = (await fixture.say(space, ann, 'For three')).runs;
    expect((await fixture.ended(second!.id)).status).toBe('completed');
    expect(await fixture.ended(first!.id)).toMatchObject({
      status: 'canceled',
      cancelReason: 'absorbed',
      absorbedBy: second!.id,
    });
    open();
    await fixture.quiet();
    expect(absorbed).toMatchObject({
      success: true,
      absorbedRunId: first!.id,
      absorbed: {
        trigger: { type: 'space_message', text: 'Book a table', senderId: ann.id },
        actionsTaken: [
          { tool: 'set_memories', status: 'completed', output: { success: true } },
          { tool: 'send_message', input: { text: 'One moment.' }, output: { success: true } },
        ],
      },
    });
    expect(await fixture.lines(space)).toEqual([
      'Ann: Book a table',
      'Absorb Ada: One moment.',
      'Ann: For three',
      'Absorb Ada: Booked for three.',
    ]);
    const absorbing = (await fixture.events(space)).filter(({ type }) => type === 'run.absorbed');
    expect(absorbing).toMatchObject([{ runId: first!.id, data: { absorbedBy: second!.id } }]);
  });

  test('a run that waits to begin is absorbed with the messages that it was for, and these count as seen', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Queued Ada')];
    const shown: string[][] = [];
    const { closed, open } = gate();
    parts.set('Queued Ada', ({ system, step }) => {
      const text = triggerIn(system);
      if (step === 1) shown.push(marksIn(system));
      if (text === 'busy') return [{ ...end, gate: closed }];
      return text === 'take it' ? [calls(call('absorb_run', { runId: runIn(system, 'first')! }))] : [];
    });
    const [space, other] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
    await fixture.done('POST', `/v1/spaces/${space}/members`, { agentId: ada.id, ordering: 'serial' });
    const [busy] = (await fixture.say(space, ann, 'busy')).runs;
    await until('the run thinks', () => shown.length === 1);
    const [first] = (await fixture.say(space, ann, 'first')).runs;
    expect((await fixture.say(space, ann, 'and this')).runs).toMatchObject([
      { id: first!.id, outcome: 'folded' },
    ]);
    const [taker] = (await fixture.say(other, ann, 'take it')).runs;
    await fixture.ended(taker!.id);
    expect(await fixture.run(first!.id)).toMatchObject({
      status: 'canceled',
      absorbedBy: taker!.id,
      step: 0,
    });
    open();
    await fixture.ended(busy!.id);
    await fixture.ended((await fixture.say(space, ann, 'third')).runs[0]!.id);
    expect(shown.at(-1)).toEqual(['SEEN busy', 'SEEN first', 'SEEN and this', 'NEW third']);
  });

  test('of two that absorb the same run at once, the first wins', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Race Ada')];
    const { closed, open } = gate();
    const both = gate();
    const answers: unknown[] = [];
    let ready = 0;
    parts.set('Race Ada', async (request) => {
      const { system, step } = request;
      if (triggerIn(system) === 'target') return [{ ...end, gate: closed }];
      if (step === 2) answers.push(outputOf(request)!.code ?? 'absorbed');
      const other = calls(call('absorb_run', { runId: runIn(system, 'target') ?? 'none' }));
      if (step === 1 && ++ready === 2) both.open();
      if (step === 1) await both.closed;
      return [other];
    });
    const space = await fixture.space([ann, ada]);
    const [target] = (await fixture.say(space, ann, 'target')).runs;
    const takers = await Promise.all([fixture.say(space, ann, 'take a'), fixture.say(space, ann, 'take b')]);
    for (const { runs } of takers) await fixture.ended(runs[0]!.id);
    open();
    expect(answers.sort()).toEqual(['absorbed', 'already_absorbed']);
    const { absorbedBy } = await fixture.ended(target!.id);
    expect(takers.map(({ runs }) => runs[0]!.id)).toContain(absorbedBy);
  });

  test('itself, one that has ended, one of another agent and one that is not there: told, and nothing changes', async () => {
    const ann = await fixture.person('Ann');
    const [ada, bea] = [await fixture.agent('Wrong Ada'), await fixture.agent('Wrong Bea')];
    const { closed, open } = gate();
    const space = await fixture.space([ann, ada, bea]);
    parts.set('Wrong Bea', () => [{ ...end, gate: closed }]);
    const before = (await fixture.say(space, ann, 'before')).runs;
    const own = before.find(({ entityId }) => entityId === ada.entityId)!.id;
    const foreign = before.find(({ entityId }) => entityId === bea.entityId)!.id;
    await fixture.ended(own);
    const answers: unknown[] = [];
    const wrong = (runId: string) => [runId, own, foreign, newId(), 'nonsense'];
    parts.set('Wrong Ada', (request) => {
      if (request.step > 1) answers.push(outputOf(request)!.code);
      return wrong(request.runId).flatMap((runId) => [
        calls(call('absorb_run', { runId })),
        calls(call('stop_run', { runId })),
      ]);
    });
    const after = (await fixture.say(space, ann, 'after')).runs.find(
      ({ entityId }) => entityId === ada.entityId,
    )!;
    expect((await fixture.ended(after.id)).status).toBe('completed');
    expect(answers).toEqual([
      ...[
        'cannot_absorb_itself',
        'cannot_stop_itself',
        'run_ended',
        'run_ended',
        'not_your_run',
        'not_your_run',
      ],
      ...['run_not_found', 'run_not_found', 'run_not_found', 'run_not_found'],
    ]);
    open();
    expect((await fixture.ended(foreign)).status).toBe('completed');
    expect((await fixture.run(own)).status).toBe('completed');
  });

  test('what the absorbed run is about to say is not said any more', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Fenced Ada')];
    const space = await fixture.space([ann, ada]);
    const { closed, open } = gate();
    let thinking = false;
    parts.set('Fenced Ada', ({ system }) => {
      if (triggerIn(system) === 'old') {
        thinking = true;
        return [{ ...end, gate: closed }];
      }
      return [];
    });
    const [old] = (await fixture.say(space, ann, 'old')).runs;
    await until('the run thinks', () => thinking);
    const { rows } = await fixture.server.db.pool.query(
      'select epoch, worker_id as worker, entity_id as entity from troupe.runs where id = $1',
      [old!.id],
    );
    // As a worker that has not heard of it would: the same statement, with the fence it had.
    await fixture.server.kernel.cancel(old!.id, 'absorbed');
    const post = {
      project: fixture.project,
      space,
      message: {
        id: newId(),
        role: 'assistant',
        content: { text: 'Late.' },
        sender: rows[0].entity,
        metadata: {},
      },
      by: { run: old!.id, epoch: rows[0].epoch, worker: rows[0].worker, call: 'c', step: 1 },
      mentions: [],
      starts: true,
      agents: [],
    };
    const late = await fixture.server.db.pool.query('select troupe.post_to_space($1::jsonb) as answer', [
      JSON.stringify(post),
    ]);
    open();
    expect(late.rows[0].answer).toEqual({ ok: false, code: 'run_lost' });
    expect(await fixture.lines(space)).toEqual(['Ann: old']);
  });
});

test('stop_run stops a run of its own; get_my_runs tells what each did', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Stop Ada')];
  const { closed, open } = gate();
  const answers: Record<string, unknown>[] = [];
  let spoken = false;
  parts.set('Stop Ada', (request) => {
    const { system, step } = request;
    if (triggerIn(system) === 'work') {
      if (step === 2) spoken = true;
      return [say('Working on it.'), { ...end, gate: closed }];
    }
    if (step > 1) answers.push(outputOf(request)!);
    return [
      calls(call('get_my_runs', { status: 'running' })),
      calls(call('stop_run', { runId: runIn(system, 'work')! })),
      calls(call('stop_run', { runId: runIn(system, 'work')! })),
      calls(call('stop_run', { runId: request.runId })),
      calls(call('get_my_runs', { limit: 2 })),
    ];
  });
  const space = await fixture.space([ann, ada]);
  const [work] = (await fixture.say(space, ann, 'work')).runs;
  await until('the run has spoken', () => spoken);
  const [stop] = (await fixture.say(space, ann, 'stop that')).runs;
  expect((await fixture.ended(stop!.id)).status).toBe('completed');
  expect(await fixture.ended(work!.id)).toMatchObject({ status: 'canceled', cancelReason: 'user' });
  open();
  const [running, stopped, again, self, all] = answers;
  const mine = running!.runs as { runId: string }[];
  expect(mine.find(({ runId }) => runId === work!.id)).toMatchObject({
    triggerType: 'space_message',
    activeSpaceId: space,
    messagesSent: [{ spaceId: space, text: 'Working on it.' }],
    toolsCalled: [{ name: 'send_message', status: 'completed' }],
  });
  expect(stopped).toEqual({ success: true, canceledRunId: work!.id });
  expect(again).toMatchObject({ success: false, code: 'run_ended', status: 'canceled' });
  expect(self).toMatchObject({ success: false, code: 'cannot_stop_itself' });
  expect(all!.runs).toHaveLength(2);
});

test('a run of a space is not copied: what it said would be said again', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Copied Ada')];
  const space = await fixture.space([ann, ada]);
  const [run] = (await fixture.say(space, ann, 'Hello')).runs;
  await fixture.ended(run!.id);
  for (const [what, body] of [
    ['fork', { step: 0 }],
    ['continue', {}],
  ] as const)
    expect(await fixture.refused('POST', `/v1/runs/${run!.id}/${what}`, body)).toEqual([409, 'run_of_space']);
});
