import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, calls, end, gate, marksIn, openCast, type Request, say, triggerIn } from './cast.ts';

// What a run does to other runs of its agent, and what it is told of them.

let { stage, parts } = {} as Awaited<ReturnType<typeof openCast>>;
beforeAll(async () => {
  ({ stage, parts } = await openCast());
});
afterAll(() => stage.close());

const outputOf = ({ messages }: Request) => {
  const last = messages.at(-1)!;
  return last.role === 'tool' ? (last.output as Record<string, unknown>) : null;
};
const runIn = (system: string, text: string) =>
  new RegExp(`^- (\\S+): .* saying "${text}"`, 'm').exec(system.split('ACTIVE RUNS')[1]!)?.[1];

describe('absorb_run', () => {
  test('stops the model call of the other run, and takes its trigger and all that it did', async () => {
    const [ann, ada] = [await stage.person('Ann'), await stage.agent('Absorb Ada')];
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
    const space = await stage.space([ann, ada]);
    const [first] = (await stage.say(space, ann, 'Book a table')).runs;
    await until('the first run thinks', () => thinking);
    const [second] = (await stage.say(space, ann, 'For three')).runs;
    expect((await stage.ended(second!.id)).status).toBe('completed');
    expect(await stage.ended(first!.id)).toMatchObject({
      status: 'canceled',
      cancelReason: 'absorbed',
      absorbedBy: second!.id,
    });
    open();
    await stage.quiet();
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
    expect(await stage.lines(space)).toEqual([
      'Ann: Book a table',
      'Absorb Ada: One moment.',
      'Ann: For three',
      'Absorb Ada: Booked for three.',
    ]);
    const absorbing = (await stage.events(space)).filter(({ type }) => type === 'run.absorbed');
    expect(absorbing).toMatchObject([{ runId: first!.id, data: { absorbedBy: second!.id } }]);
  });

  test('a run that waits to begin is absorbed with the messages that it was for, and these count as seen', async () => {
    const [ann, ada] = [await stage.person('Ann'), await stage.agent('Queued Ada')];
    const shown: string[][] = [];
    const { closed, open } = gate();
    parts.set('Queued Ada', ({ system, step }) => {
      const text = triggerIn(system);
      if (step === 1) shown.push(marksIn(system));
      if (text === 'busy') return [{ ...end, gate: closed }];
      return text === 'take it' ? [calls(call('absorb_run', { runId: runIn(system, 'first')! }))] : [];
    });
    const [space, other] = [await stage.space([ann, ada]), await stage.space([ann, ada])];
    await stage.done('POST', `/v1/spaces/${space}/members`, { agentId: ada.id, ordering: 'serial' });
    const [busy] = (await stage.say(space, ann, 'busy')).runs;
    await until('the run thinks', () => shown.length === 1);
    const [first] = (await stage.say(space, ann, 'first')).runs;
    expect((await stage.say(space, ann, 'and this')).runs).toMatchObject([
      { id: first!.id, outcome: 'folded' },
    ]);
    const [taker] = (await stage.say(other, ann, 'take it')).runs;
    await stage.ended(taker!.id);
    expect(await stage.run(first!.id)).toMatchObject({ status: 'canceled', absorbedBy: taker!.id, step: 0 });
    open();
    await stage.ended(busy!.id);
    await stage.ended((await stage.say(space, ann, 'third')).runs[0]!.id);
    expect(shown.at(-1)).toEqual(['SEEN busy', 'SEEN first', 'SEEN and this', 'NEW third']);
  });

  test('of two that absorb the same run at once, the first wins', async () => {
    const [ann, ada] = [await stage.person('Ann'), await stage.agent('Race Ada')];
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
    const space = await stage.space([ann, ada]);
    const [target] = (await stage.say(space, ann, 'target')).runs;
    const takers = await Promise.all([stage.say(space, ann, 'take a'), stage.say(space, ann, 'take b')]);
    for (const { runs } of takers) await stage.ended(runs[0]!.id);
    open();
    expect(answers.sort()).toEqual(['absorbed', 'already_absorbed']);
    const { absorbedBy } = await stage.ended(target!.id);
    expect(takers.map(({ runs }) => runs[0]!.id)).toContain(absorbedBy);
  });

  test('itself, one that has ended, one of another agent and one that is not there: told, and nothing changes', async () => {
    const ann = await stage.person('Ann');
    const [ada, bea] = [await stage.agent('Wrong Ada'), await stage.agent('Wrong Bea')];
    const { closed, open } = gate();
    const space = await stage.space([ann, ada, bea]);
    parts.set('Wrong Bea', () => [{ ...end, gate: closed }]);
    const before = (await stage.say(space, ann, 'before')).runs;
    const own = before.find(({ entityId }) => entityId === ada.entityId)!.id;
    const foreign = before.find(({ entityId }) => entityId === bea.entityId)!.id;
    await stage.ended(own);
    const answers: unknown[] = [];
    const wrong = (runId: string) => [runId, own, foreign, newId(), 'nonsense'];
    parts.set('Wrong Ada', (request) => {
      if (request.step > 1) answers.push(outputOf(request)!.code);
      return wrong(request.runId).flatMap((runId) => [
        calls(call('absorb_run', { runId })),
        calls(call('stop_run', { runId })),
      ]);
    });
    const after = (await stage.say(space, ann, 'after')).runs.find(
      ({ entityId }) => entityId === ada.entityId,
    )!;
    expect((await stage.ended(after.id)).status).toBe('completed');
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
    expect((await stage.ended(foreign)).status).toBe('completed');
    expect((await stage.run(own)).status).toBe('completed');
  });

  test('what the absorbed run is about to say is not said any more', async () => {
    const [ann, ada] = [await stage.person('Ann'), await stage.agent('Fenced Ada')];
    const space = await stage.space([ann, ada]);
    const { closed, open } = gate();
    let thinking = false;
    parts.set('Fenced Ada', ({ system }) => {
      if (triggerIn(system) === 'old') {
        thinking = true;
        return [{ ...end, gate: closed }];
      }
      return [];
    });
    const [old] = (await stage.say(space, ann, 'old')).runs;
    await until('the run thinks', () => thinking);
    const { rows } = await stage.server.db.pool.query(
      'select epoch, worker_id as worker, entity_id as entity from troupe.runs where id = $1',
      [old!.id],
    );
    // As a worker that has not heard of it would: the same statement, with the fence it had.
    await stage.server.kernel.cancel(old!.id, 'absorbed');
    const post = {
      project: stage.project,
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
    const late = await stage.server.db.pool.query('select troupe.post_to_space($1::jsonb) as answer', [
      JSON.stringify(post),
    ]);
    open();
    expect(late.rows[0].answer).toEqual({ ok: false, code: 'run_lost' });
    expect(await stage.lines(space)).toEqual(['Ann: old']);
  });
});

test('stop_run stops a run of its own; get_my_runs tells what each did', async () => {
  const [ann, ada] = [await stage.person('Ann'), await stage.agent('Stop Ada')];
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
  const space = await stage.space([ann, ada]);
  const [work] = (await stage.say(space, ann, 'work')).runs;
  await until('the run has spoken', () => spoken);
  const [stop] = (await stage.say(space, ann, 'stop that')).runs;
  expect((await stage.ended(stop!.id)).status).toBe('completed');
  expect(await stage.ended(work!.id)).toMatchObject({ status: 'canceled', cancelReason: 'user' });
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
  const [ann, ada] = [await stage.person('Ann'), await stage.agent('Copied Ada')];
  const space = await stage.space([ann, ada]);
  const [run] = (await stage.say(space, ann, 'Hello')).runs;
  await stage.ended(run!.id);
  for (const [what, body] of [
    ['fork', { step: 0 }],
    ['continue', {}],
  ] as const)
    expect(await stage.refused('POST', `/v1/runs/${run!.id}/${what}`, body)).toEqual([409, 'run_of_space']);
});
