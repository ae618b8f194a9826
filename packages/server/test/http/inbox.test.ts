import type { Run, Session, ToolCall, WaitingCall } from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SessionStage } from './session-stage.ts';

// One server; every test has a session of its own. The first message names the calls that the model makes.

let stage: SessionStage;
const executed: string[] = [];

beforeAll(async () => {
  stage = await SessionStage.open({
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role !== 'user') return { text: `seen ${JSON.stringify(messages.slice(-5))}` };
      return { calls: JSON.parse(last.text) };
    },
    tools: {
      send: (args) => {
        executed.push(JSON.stringify(args));
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
});
afterAll(async () => {
  expect(await violations(stage.db.pool)).toEqual([]);
  await stage.close();
});

const call = (id: string, name: string, args: object = {}) => ({ id, name, arguments: args });
const send = (id: string, to: string) => call(id, 'send', { to });

async function asked(...calls: object[]): Promise<{ session: Session; run: string }> {
  const session = await stage.create();
  const run = (await stage.say(session, JSON.stringify(calls))).run!.id;
  await stage.becomes(session, 'waiting');
  return { session, run };
}
const inbox = async (run: string, waitsFor?: string) =>
  (
    await stage.done<{ data: WaitingCall[] }>(
      'GET',
      `/v1/inbox?runId=${run}${waitsFor ? `&waitsFor=${waitsFor}` : ''}`,
    )
  ).data;
const decide = (run: string, id: string, body: object) =>
  stage.done<{ status: string; openCalls: number }>(
    'POST',
    `/v1/runs/${run}/calls/${encodeURIComponent(id)}/decision`,
    body,
  );
const decideRefused = (run: string, id: string, body: object) =>
  stage.refused('POST', `/v1/runs/${run}/calls/${encodeURIComponent(id)}/decision`, body);
const results = (run: string, body: object) =>
  stage.done<{ openCalls: number }>('POST', `/v1/runs/${run}/tool-results`, body);
const resultsRefused = (run: string, body: object) =>
  stage.refused('POST', `/v1/runs/${run}/tool-results`, body);
const callsOf = async (run: string) =>
  Object.fromEntries(
    (await stage.done<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`)).calls.map((one) => [
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
  await stage.becomes(session, 'pending');
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
  await stage.becomes(session, 'pending');
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
      stage.ask('POST', `/v1/runs/${run}/calls/x/decision`, approve(waiting!)),
      stage.ask('POST', `/v1/runs/${run}/calls/x/decision`, { decision: 'reject' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await stage.becomes(session, 'pending');
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
  await stage.becomes(session, 'pending');
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
  await stage.becomes(session, 'pending');
  const calls = await callsOf(run);
  expect(calls.p).toMatchObject({ status: 'completed', output: { answer: 1 } });
  expect(calls.q).toMatchObject({ status: 'failed', error: { code: 'no_camera' } });
  const roles = (await stage.lines(session)).filter((line) => line.includes('tool_result'));
  expect(roles).toHaveLength(3);
});

test('a client that answers after the deadline or after a cancel is told which', async () => {
  const late = await asked(call('b', 'brief'));
  await until('it has expired', async () => (await callsOf(late.run)).b!.status === 'expired');
  expect(await resultsRefused(late.run, { callId: 'b', result: 1 })).toEqual([409, 'call_not_open']);
  const canceled = await asked(call('c', 'ask'));
  await stage.done('POST', `/v1/runs/${canceled.run}/cancel`);
  expect(await resultsRefused(canceled.run, { callId: 'c', result: { answer: 1 } })).toEqual([
    409,
    'call_not_open',
  ]);
  expect((await callsOf(canceled.run)).c).toMatchObject({ status: 'canceled' });
});
