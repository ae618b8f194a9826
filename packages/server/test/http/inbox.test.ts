import type { Event, Run, Session, ToolCall, WaitingCall } from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { argumentsHash } from '../../src/runs/inbox.ts';
import { disown } from '../../src/store/index.ts';
import { SessionFixture } from './session-fixture.ts';

// One server; every test has a session of its own. The first message names the calls that the model makes.

let fixture: SessionFixture;
const executed: string[] = [];
let release = () => {};

beforeAll(async () => {
  fixture = await SessionFixture.open({
    script: ({ messages }) => {
      // A list of lists: what it calls in one step after the other.
      const said = messages.findLastIndex(({ role }) => role === 'user');
      const { text } = messages[said] as { text: string };
      const steps = JSON.parse(text) as object[][];
      const done = messages.slice(said).filter(({ role }) => role === 'assistant').length;
      return steps[done] ? { calls: steps[done] as [] } : { text: 'Done.' };
    },
    tools: {
      send: (args) => {
        executed.push(JSON.stringify(args));
        return { sent: args };
      },
      hasty: () => executed.push('hasty'),
      hold: () => new Promise((resolve) => (release = () => resolve('released'))),
      lose: async (args, { attempt, signal }) => {
        executed.push(JSON.stringify({ ...(args as object), attempt }));
        if (attempt === 1) await new Promise((_, reject) => signal.addEventListener('abort', reject));
        return { sent: args };
      },
    },
    toolList: [
      {
        name: 'send',
        waitsFor: 'approval',
        inputSchema: {
          type: 'object',
          properties: { to: { type: 'string' } },
          required: ['to'],
          additionalProperties: false,
        },
      },
      { name: 'lose', waitsFor: 'approval' },
      { name: 'hold' },
      { name: 'hasty', waitsFor: 'approval', deadlineMs: 300 },
      {
        name: 'ask',
        provider: 'client',
        waitsFor: 'client',
        config: { outputSchema: { type: 'object', required: ['answer'] } },
      },
      { name: 'brief', provider: 'client', waitsFor: 'client', deadlineMs: 300 },
    ],
  });
  await fixture.done('PATCH', `/v1/agents/${fixture.ids.agent}`, { inDoubt: 'wait' });
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const call = (id: string, name: string, args: object = {}) => ({ id, name, arguments: args });
const send = (id: string, to: string) => call(id, 'send', { to });

function asked(...calls: object[]): Promise<{ session: Session; run: string }> {
  return askedIn([calls]);
}
async function askedIn(steps: object[][]): Promise<{ session: Session; run: string }> {
  const session = await fixture.create();
  const run = (await fixture.say(session, JSON.stringify(steps))).run!.id;
  await fixture.becomes(session, 'waiting');
  return { session, run };
}
const inbox = async (run: string, waitsFor?: string) =>
  (
    await fixture.done<{ data: WaitingCall[] }>(
      'GET',
      `/v1/inbox?runId=${run}${waitsFor ? `&waitsFor=${waitsFor}` : ''}`,
    )
  ).data;
const decide = (run: string, id: string, body: object) =>
  fixture.done<{ status: string; openCalls: number }>(
    'POST',
    `/v1/runs/${run}/calls/${encodeURIComponent(id)}/decision`,
    body,
  );
const decideRefused = (run: string, id: string, body: object) =>
  fixture.refused('POST', `/v1/runs/${run}/calls/${encodeURIComponent(id)}/decision`, body);
const results = (run: string, body: object) =>
  fixture.done<{ openCalls: number }>('POST', `/v1/runs/${run}/tool-results`, body);
const resultsRefused = (run: string, body: object) =>
  fixture.refused('POST', `/v1/runs/${run}/tool-results`, body);
const callsOf = async (run: string) =>
  Object.fromEntries(
    (await fixture.done<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`)).calls.map((one) => [
      one.id,
      one,
    ]),
  );
const approve = ({ argumentsHash }: WaitingCall, args?: object) => ({
  decision: 'approve',
  argumentsHash,
  ...(args ? { arguments: args } : {}),
});

test('a call that needs approval waits in the inbox, and is executed once when it has it', async () => {
  const { session, run } = await asked(send('a 1/x', 'ada'));
  const [waiting] = await inbox(run);
  expect(waiting).toMatchObject({
    runId: run,
    callId: 'a 1/x',
    tool: 'send',
    arguments: { to: 'ada' },
    waitsFor: 'approval',
    sessionId: session.id,
  });
  expect(waiting!.argumentsHash).toMatch(/^[0-9a-f]{64}$/);
  expect(executed).not.toContain('{"to":"ada"}');
  // For other arguments, without a hash, with a decision of another kind: nothing happens.
  expect(await decideRefused(run, 'a 1/x', { decision: 'approve', argumentsHash: '0'.repeat(64) })).toEqual([
    409,
    'arguments_changed',
  ]);
  expect(await decideRefused(run, 'a 1/x', { decision: 'approve' })).toEqual([422, 'invalid_request']);
  expect(await decideRefused(run, 'a 1/x', { decision: 'retry' })).toEqual([409, 'wrong_settlement']);
  expect(await decideRefused(run, 'nope', approve(waiting!))).toEqual([404, 'call_not_found']);
  expect(await resultsRefused(run, { callId: 'a 1/x', result: 1 })).toEqual([409, 'wrong_settlement']);
  expect(await inbox(run)).toEqual([waiting]);
  await decide(run, 'a 1/x', approve(waiting!));
  await fixture.becomes(session, 'pending');
  expect(executed.filter((text) => text === '{"to":"ada"}')).toHaveLength(1);
  // Single use.
  expect(await decideRefused(run, 'a 1/x', approve(waiting!))).toEqual([409, 'call_not_open']);
  expect((await callsOf(run))['a 1/x']).toMatchObject({
    status: 'completed',
    output: { sent: { to: 'ada' } },
  });
  expect(await inbox(run)).toEqual([]);
});

test('five at once are settled in any order, each with its own decision, and the run goes on after the last', async () => {
  const { session, run } = await asked(...['a', 'b', 'c', 'd', 'e'].map((id) => send(id, `five-${id}`)));
  const waiting = new Map((await inbox(run)).map((one) => [one.callId, one]));
  expect(waiting.size).toBe(5);
  expect(await decide(run, 'd', approve(waiting.get('d')!))).toMatchObject({ openCalls: 4 });
  await decide(run, 'b', { decision: 'reject', reason: 'not today' });
  await decide(run, 'e', approve(waiting.get('e')!, { to: 'somebody else' }));
  expect(await decideRefused(run, 'c', approve(waiting.get('c')!, { to: 5 }))).toEqual([
    422,
    'arguments_invalid',
  ]);
  await decide(run, 'a', approve(waiting.get('a')!));
  await decide(run, 'c', { decision: 'reject' });
  await fixture.becomes(session, 'pending');
  const calls = await callsOf(run);
  expect(calls.a).toMatchObject({ status: 'completed', output: { sent: { to: 'five-a' } } });
  expect(calls.b).toMatchObject({
    status: 'failed',
    error: { code: 'rejected', message: expect.stringContaining('not today') },
  });
  expect(calls.c).toMatchObject({ status: 'failed', error: { code: 'rejected' } });
  expect(calls.d).toMatchObject({ status: 'completed', output: { sent: { to: 'five-d' } } });
  expect(calls.e).toMatchObject({ status: 'completed', output: { sent: { to: 'somebody else' } } });
});

test('of two that answer at once one wins, and the other is told', async () => {
  for (let round = 0; round < 10; round++) {
    const { session, run } = await asked(send('x', `race-${round}`));
    const [waiting] = await inbox(run);
    const answers = await Promise.all([
      fixture.ask('POST', `/v1/runs/${run}/calls/x/decision`, approve(waiting!)),
      fixture.ask('POST', `/v1/runs/${run}/calls/x/decision`, { decision: 'reject' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await fixture.becomes(session, 'pending');
    const won = answers[0]!.status === 200;
    expect((await callsOf(run)).x).toMatchObject({ status: won ? 'completed' : 'failed' });
    expect(executed.filter((text) => text.includes(`"race-${round}"`))).toHaveLength(won ? 1 : 0);
  }
});

test('an approval that nobody gives expires, and one that comes too late is told so', async () => {
  const { session, run } = await asked(call('h', 'hasty'));
  const [waiting] = await inbox(run);
  await until('it has expired', async () => (await callsOf(run)).h!.status === 'expired');
  expect(await decideRefused(run, 'h', approve(waiting!))).toEqual([409, 'call_not_open']);
  await fixture.becomes(session, 'pending');
});

test('the results of a client are taken all or none, and the same again changes nothing', async () => {
  const { session, run } = await asked(call('p', 'ask'), call('q', 'ask'), call('r', 'ask'));
  expect(await inbox(run)).toEqual([]);
  expect((await inbox(run, 'client')).map(({ callId }) => callId)).toEqual(['p', 'q', 'r']);
  const p = { callId: 'p', result: { answer: 1 } };
  const q = { callId: 'q', error: { code: 'no_camera', message: 'There is no camera.' } };
  // Garbage, of one kind or another: the calls go on waiting.
  expect(await resultsRefused(run, { results: [p, { callId: 'q', result: 'no object' }] })).toEqual([
    422,
    'result_invalid',
  ]);
  expect(await resultsRefused(run, { results: [p, { callId: 'z', result: {} }] })).toEqual([
    404,
    'call_not_found',
  ]);
  expect(await resultsRefused(run, { results: [p, p] })).toEqual([422, 'invalid_request']);
  expect(
    await resultsRefused(run, { results: [p, { callId: 'q', result: { answer: 'x'.repeat(300_000) } }] }),
  ).toEqual([422, 'output_too_large']);
  expect(await inbox(run, 'client')).toHaveLength(3);
  expect(await results(run, { results: [p, q] })).toMatchObject({ openCalls: 1 });
  // Once more, as after a lost answer; with something else it is too late.
  expect(await results(run, { results: [p, q] })).toMatchObject({ openCalls: 1 });
  expect(await resultsRefused(run, { callId: 'p', result: { answer: 2 } })).toEqual([409, 'call_not_open']);
  await results(run, { results: [p, { callId: 'r', result: { answer: 3 } }] });
  await fixture.becomes(session, 'pending');
  const calls = await callsOf(run);
  expect(calls.p).toMatchObject({ status: 'completed', output: { answer: 1 } });
  expect(calls.q).toMatchObject({ status: 'failed', error: { code: 'no_camera' } });
  const roles = (await fixture.lines(session)).filter((line) => line.includes('tool_result'));
  expect(roles).toHaveLength(3);
});

test('a client that answers after the deadline or after a cancel is told which', async () => {
  const late = await asked(call('b', 'brief'));
  await until('it has expired', async () => (await callsOf(late.run)).b!.status === 'expired');
  expect(await resultsRefused(late.run, { callId: 'b', result: 1 })).toEqual([409, 'call_not_open']);
  const canceled = await asked(call('c', 'ask'));
  await fixture.done('POST', `/v1/runs/${canceled.run}/cancel`);
  expect(await resultsRefused(canceled.run, { callId: 'c', result: { answer: 1 } })).toEqual([
    409,
    'call_not_open',
  ]);
  expect((await callsOf(canceled.run)).c).toMatchObject({ status: 'canceled' });
});

test('what comes after the deadline is too late also while the run is at work, and has not been swept', async () => {
  const session = await fixture.create();
  const calls = [call('h', 'hasty'), call('b', 'brief'), call('x', 'hold')];
  const run = (await fixture.say(session, JSON.stringify([calls]))).run!.id;
  await until('their time is over', async () => {
    const { rows } = await fixture.db.pool.query(
      'select 1 from troupe.tool_calls where run_id = $1 and waits_for is not null and deadline <= now()',
      [run],
    );
    return rows.length === 2;
  });
  await until('the third is executed', async () => (await callsOf(run)).x!.status === 'running');
  for (const waitsFor of ['approval', 'client']) expect(await inbox(run, waitsFor)).toEqual([]);
  const hash = argumentsHash({});
  expect(
    await fixture.ask('POST', `/v1/runs/${run}/calls/h/decision`, {
      decision: 'approve',
      argumentsHash: hash,
    }),
  ).toMatchObject({
    status: 409,
    body: { code: 'call_not_open', detail: expect.stringContaining('came to its deadline') },
  });
  expect(await resultsRefused(run, { callId: 'b', result: 1 })).toEqual([409, 'call_not_open']);
  expect(await fixture.kernel.settle(run, 'h', { status: 'proceed' })).toMatchObject({
    code: 'call_not_open',
    status: 'expired',
    error: { code: 'expired' },
  });
  // Nothing but the third kept the run from noticing.
  release();
  await fixture.becomes(session, 'pending');
  const ended = await callsOf(run);
  for (const id of ['h', 'b'])
    expect(ended[id]).toMatchObject({ status: 'expired', error: { code: 'expired' } });
  expect(ended.x).toMatchObject({ status: 'completed' });
  expect(executed).not.toContain('hasty');
});

test('a person who changes the arguments: that is what is called, and the model is told', async () => {
  const { session, run } = await asked(send('e', 'old'), send('s', 'same'), call('r', 'ask'));
  const waiting = new Map((await inbox(run)).map((one) => [one.callId, one]));
  await decide(run, 'e', approve(waiting.get('e')!, { to: 'new' }));
  // The same arguments once more are no change.
  await decide(run, 's', approve(waiting.get('s')!, { to: 'same' }));
  // Whoever comes second learns that it is decided, not that the arguments are other ones now.
  expect(await decideRefused(run, 'e', approve(waiting.get('e')!))).toEqual([409, 'call_not_open']);
  await results(run, { callId: 'r', result: { answer: 1 } });
  await fixture.becomes(session, 'pending');
  expect(executed).toContain('{"to":"new"}');
  expect(executed).not.toContain('{"to":"old"}');
  const calls = await callsOf(run);
  expect(calls.e).toMatchObject({ arguments: { to: 'new' }, edited: true, output: { sent: { to: 'new' } } });
  expect(calls.s).toMatchObject({ arguments: { to: 'same' }, edited: false });
  // The model: its own call as it made it, and a result that says what was called instead.
  const request = fixture.scripted.requests.findLast((one) => one.runId === run)!;
  const said = request.messages.findLast(({ role }) => role === 'assistant') as { calls: object[] };
  expect(said.calls).toContainEqual({ id: 'e', name: 'send', arguments: { to: 'old' } });
  const told = request.messages.filter(({ role }) => role === 'tool') as { callId: string; output: object }[];
  expect(told.map(({ callId }) => callId).sort()).toEqual(['e', 'r', 's']);
  const outputs = new Map(told.map(({ callId, output }) => [callId, output]));
  expect(outputs.get('e')).toEqual({
    note: expect.stringContaining('A person changed the arguments'),
    calledWith: { to: 'new' },
    result: { sent: { to: 'new' } },
  });
  expect(outputs.get('s')).toEqual({ sent: { to: 'same' } });
  // Everybody else: the event, and the message of the result.
  const messages = await fixture.messages(session);
  expect(messages.find((one) => one.role === 'tool_result' && one.toolCallId === 'e')!.content).toEqual({
    result: { sent: { to: 'new' } },
    error: null,
    calledWith: { to: 'new' },
  });
  const { data } = await fixture.done<{ data: Event[] }>('GET', `/v1/runs/${run}/events?types=tool.approved`);
  expect(data.map((event) => [event.data.id, event.data.edited ?? false])).toEqual([
    ['e', true],
    ['s', false],
  ]);
});

test('a call that is made again with other arguments needs an approval of its own', async () => {
  const { session, run } = await askedIn([
    [send('m1', 'first')],
    [send('m2', 'second')],
    [send('m3', 'first')],
  ]);
  const [first] = await inbox(run);
  await decide(run, 'm1', approve(first!));
  const next = (id: string) =>
    until(`${id} waits`, async () => (await inbox(run)).find((one) => one.callId === id));
  const second = await next('m2');
  expect(second.argumentsHash).not.toBe(first!.argumentsHash);
  expect(await decideRefused(run, 'm2', approve(first!))).toEqual([409, 'arguments_changed']);
  expect(await decideRefused(run, 'm1', approve(first!))).toEqual([409, 'call_not_open']);
  await decide(run, 'm2', { decision: 'reject', reason: 'Enough.' });
  // The very same call once more is another call.
  await next('m3');
  expect(executed.filter((text) => text === '{"to":"first"}')).toHaveLength(1);
  await decide(run, 'm3', { decision: 'reject' });
  await fixture.becomes(session, 'pending');
  expect(executed.filter((text) => text === '{"to":"first"}')).toHaveLength(1);
  expect(executed).not.toContain('{"to":"second"}');
});

/** Executes the call, and has the worker lose the run meanwhile, as if it had died. */
async function lost(id: string): Promise<{ session: Session; run: string }> {
  const { session, run } = await asked(call(id, 'lose', { id }));
  const [waiting] = await inbox(run);
  await decide(run, id, approve(waiting!, { id, edited: true }));
  await until('it is executed', () => executed.some((text) => text.includes(`"${id}"`)));
  const { rows } = await fixture.db.pool.query('select epoch, worker_id from troupe.runs where id = $1', [
    run,
  ]);
  await disown(fixture.db, rows[0].worker_id, [{ id: run, epoch: rows[0].epoch }]);
  await until('it is in doubt', async () => (await callsOf(run))[id]!.status === 'in_doubt');
  return { session, run };
}

test('a call in doubt: a person has it tried again, says what came of it, or gives it up', async () => {
  const again = await lost('again');
  const [waiting] = await inbox(again.run);
  expect(waiting).toMatchObject({ waitsFor: 'person', error: { code: 'in_doubt' }, callId: 'again' });
  for (const wrong of [approve(waiting!), { decision: 'reject' }])
    expect(await decideRefused(again.run, 'again', wrong)).toEqual([409, 'wrong_settlement']);
  expect(await resultsRefused(again.run, { callId: 'again', result: 1 })).toEqual([409, 'wrong_settlement']);
  await decide(again.run, 'again', { decision: 'retry' });
  await fixture.becomes(again.session, 'pending');
  expect((await callsOf(again.run)).again).toMatchObject({ status: 'completed', attempt: 2 });
  expect(executed.filter((text) => text.includes('"again"'))).toHaveLength(2);
  expect(await decideRefused(again.run, 'again', { decision: 'retry' })).toEqual([409, 'call_not_open']);

  const known = await lost('known');
  await decide(known.run, 'known', { decision: 'complete', output: { sent: 'yes' } });
  await fixture.becomes(known.session, 'pending');
  expect((await callsOf(known.run)).known).toMatchObject({
    status: 'completed',
    output: { sent: 'yes' },
    settledBy: 'dev',
  });
  // Said by a person of a call whose arguments a person had changed: the model learns of both.
  const request = fixture.scripted.requests.findLast((one) => one.runId === known.run)!;
  expect(request.messages.at(-1)).toMatchObject({
    role: 'tool',
    output: { calledWith: { id: 'known', edited: true }, result: { sent: 'yes' } },
  });

  const given = await lost('given');
  expect(await decideRefused(given.run, 'given', { decision: 'fail' })).toEqual([422, 'invalid_request']);
  await decide(given.run, 'given', { decision: 'fail', reason: 'It never came.' });
  await fixture.becomes(given.session, 'pending');
  expect((await callsOf(given.run)).given).toMatchObject({
    status: 'failed',
    error: { code: 'failed_by_person', message: 'It never came.' },
  });
  expect(executed.filter((text) => /"(known|given)"/.test(text))).toHaveLength(2);

  // Canceled while it is in doubt.
  const over = await lost('over');
  await fixture.done('POST', `/v1/runs/${over.run}/cancel`);
  expect(await decideRefused(over.run, 'over', { decision: 'retry' })).toEqual([409, 'call_not_open']);
  const result = (await fixture.messages(over.session)).at(-1)!;
  expect(result.content).toMatchObject({
    error: { code: 'canceled' },
    calledWith: { id: 'over', edited: true },
  });
});

test('a run that was canceled and taken up again asks anew; an answer to what it asked before is told so', async () => {
  const { session, run } = await askedIn([[call('before', 'ask')], [call('anew', 'ask')]]);
  await fixture.done('POST', `/v1/runs/${run}/cancel`);
  await fixture.done('POST', `/v1/runs/${run}/retry`);
  await until('it asks anew', async () =>
    (await inbox(run, 'client')).find(({ callId }) => callId === 'anew'),
  );
  expect(await resultsRefused(run, { callId: 'before', result: { answer: 1 } })).toEqual([
    409,
    'call_not_open',
  ]);
  // All or none, also here.
  const both = ['anew', 'before'].map((callId) => ({ callId, result: { answer: 1 } }));
  expect(await resultsRefused(run, { results: both })).toEqual([409, 'call_not_open']);
  expect(await inbox(run, 'client')).toHaveLength(1);
  await results(run, { callId: 'anew', result: { answer: 1 } });
  await fixture.becomes(session, 'pending');
  expect(await callsOf(run)).toMatchObject({ before: { status: 'canceled' }, anew: { status: 'completed' } });
});

test('a result of no known shape is told what is wrong with it, and where', async () => {
  const run = '00000000-0000-4000-8000-000000000000';
  const error = { message: 'no' };
  type Problem = { issues?: { path: string; message: string }[] };
  for (const [body, path, part] of [
    [{ callId: 'c' }, '', 'needs `result`'],
    [{ callId: 'c', result: 1, error }, '', 'both `result` and `error`'],
    [{ result: 1 }, '', 'needs the `callId`'],
    [{ callId: 'c', error: {} }, 'error.message', 'must be a text'],
    [{ callId: 'c', result: 1, more: 1 }, '', '"more"'],
    [{ results: [{ callId: 'c', result: null }, { callId: 'd' }] }, 'results.1', 'needs `result`'],
    [{ results: [{ callId: 'c', result: 1, error }] }, 'results.0', 'both `result` and `error`'],
    [{ results: [] }, 'results', 'at least 1 entry'],
  ] as const) {
    const { status, body: told } = await fixture.ask<Problem>('POST', `/v1/runs/${run}/tool-results`, body);
    expect([body, status, told.issues?.[0]]).toEqual([
      body,
      422,
      { path, message: expect.stringContaining(part) },
    ]);
  }
});
