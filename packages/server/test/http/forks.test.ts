import {
  message as messageSchema,
  type Problem,
  type Run,
  run as runSchema,
  type Session,
} from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SessionFixture } from './session-fixture.ts';

// One session with two turns; the first one calls a tool. Every test forks it and leaves it as it is.

let fixture: SessionFixture;
let session: Session;
let first: string;
let second: string;
let modelId: string;
const SET_UP = { title: 'Colours', tags: ['sky'], policy: 'steer', metadata: { from: 'here' } };

interface Messages {
  data: {
    sequence: number;
    role: string;
    content: unknown;
    sessionId: string | null;
    senderId: string | null;
  }[];
  lastSequence: number;
}

beforeAll(async () => {
  fixture = await SessionFixture.open({
    script: ({ messages, step }) => {
      const said = JSON.stringify(messages);
      const asked = JSON.stringify(messages.at(-1));
      if (asked.includes('stall')) return { stallForever: true };
      if (step === 1 && asked.includes('look up'))
        return { calls: [{ name: 'look', arguments: { at: 'sky' } }] };
      return { text: `saw ${said.includes('green') ? 'green' : 'blue'} in ${messages.length}` };
    },
    tools: { look: () => 'blue' },
    toolList: [{ name: 'look', effect: 'pure' }],
  });
  modelId = await fixture.createModel();
  session = await fixture.create({ ...SET_UP, modelId });
  first = (await fixture.say(session, 'look up')).run!.id;
  await fixture.becomes(session, 'pending');
  second = (await fixture.say(session, 'and now?')).run!.id;
  await fixture.becomes(session, 'pending');
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const fork = (run: string, body: object) => fixture.done<Run>('POST', `/v1/runs/${run}/fork`, body);
const messagesOf = (run: string, query = '') =>
  fixture.done<Messages>('GET', `/v1/runs/${run}/messages${query}`);
const rolesOf = ({ data }: Messages) => data.map(({ sequence, role }) => `${sequence} ${role}`);
const TURN = ['1 user', '2 tool_call', '3 tool_result', '4 assistant'];

async function stored(): Promise<unknown> {
  const { rows } = await fixture.db.pool.query(
    'select (select count(*) from troupe.runs) as runs, (select count(*) from troupe.threads) as threads, (select count(*) from troupe.messages) as messages',
  );
  return rows[0];
}

it('shows what a fork took over and what it says, beside the original', async () => {
  const forked = await fork(first, {
    step: 1,
    edits: [{ sequence: 3, content: { result: 'green', error: null } }],
  });
  expect(forked).toMatchObject({ sessionId: null, forkedFrom: { runId: first, step: 1 } });
  expect((await fixture.done<Run>('GET', `/v1/runs/${first}`)).forkedFrom).toBeNull();
  await fixture.kernel.ended(forked.id);
  const there = await messagesOf(forked.id);
  expect(rolesOf(there)).toEqual(TURN);
  expect(there.lastSequence).toBe(4);
  expect(there.data.every(({ sessionId }) => sessionId === null)).toBe(true);
  for (const message of there.data) expect(messageSchema.parse(message)).toEqual(message);
  expect(there.data.at(-1)!.content).toEqual({ text: 'saw green in 3' });
  // The same sequences are the same moments.
  const here = await messagesOf(first);
  const differing = there.data.filter(
    ({ sequence, content }) =>
      JSON.stringify(here.data.find((message) => message.sequence === sequence)!.content) !==
      JSON.stringify(content),
  );
  expect(differing.map(({ sequence }) => sequence)).toEqual([3, 4]);
  const again = runSchema.parse(await fixture.done('GET', `/v1/runs/${forked.id}`));
  expect(again.forkedFrom).toEqual({ runId: first, step: 1 });
});

it('shows a run of a session: its thread, or only its own turn', async () => {
  const all = await messagesOf(second);
  expect(rolesOf(all)).toEqual([...TURN, '5 user', '6 assistant']);
  expect(all.data[0]!.sessionId).toBe(session.id);
  expect(rolesOf(await messagesOf(second, '?of=run'))).toEqual(['5 user', '6 assistant']);
  expect(rolesOf(await messagesOf(first, '?of=run&after=1&limit=2'))).toEqual([
    '2 tool_call',
    '3 tool_result',
  ]);
  expect(rolesOf(await messagesOf(first, '?of=run&before=4&limit=2'))).toEqual([
    '2 tool_call',
    '3 tool_result',
  ]);
  type Events = {
    data: { runId?: string; sessionId?: string; type: string; sequence: number }[];
    lastSequence: number;
  };
  const events = (run: string, query = '') => fixture.done<Events>('GET', `/v1/runs/${run}/events${query}`);
  for (const run of [first, second]) {
    const { data } = await events(run);
    expect(data.map(({ type }) => type)).toContain('run.completed');
    expect(data.every((event) => event.runId === run && event.sessionId === session.id)).toBe(true);
  }
  const { data, lastSequence } = await events(second, '?types=run.*');
  expect(data.map(({ type }) => type)).toContain('run.completed');
  expect(data.every(({ type }) => type.startsWith('run.'))).toBe(true);
  expect((await events(second, `?after=${lastSequence}`)).data).toEqual([]);
  // The last ones, and those before them, which is how one reads from the end.
  const whole = (await events(first)).data;
  const last = (await events(first, `?before=${lastSequence + 1}&limit=2`)).data;
  expect(last).toEqual(whole.slice(-2));
  expect((await events(first, `?before=${last[0]!.sequence}&after=${whole[0]!.sequence}`)).data).toEqual(
    whole.slice(1, -2),
  );
  expect((await events(first, `?before=${lastSequence}&types=run.*&limit=1`)).data).toHaveLength(1);
  expect((await events(second, '?types=run.started,message.delta,tool*')).data).toHaveLength(1);
  // Calls and results are told with their messages.
  const tools = (await events(first, '?types=tool.*')).data as unknown as { type: string; data: object }[];
  const [, call, result] = (await messagesOf(first)).data as unknown as { id: string }[];
  expect(tools.map(({ type, data: told }) => [type, told])).toEqual([
    ['tool.started', expect.objectContaining({ sequence: 2, messageId: call!.id })],
    ['tool.completed', expect.objectContaining({ sequence: 3, messageId: result!.id })],
  ]);
  const misnamed = async (types: string) => {
    const of = [`/v1/runs/${second}`, `${fixture.sessions}/${session.id}`];
    const answers = await Promise.all(
      of.map((path) => fixture.ask<Problem>('GET', `${path}/events?types=${types}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([422, 422]);
    return answers[0]!.body.issues;
  };
  expect(await misnamed('run.*,run.finished')).toEqual([
    { path: 'types', message: expect.stringMatching(/"run.finished".*run\.completed, run\.failed/) },
  ]);
  expect(await misnamed('runs.*')).toEqual([
    { path: 'types', message: expect.stringMatching(/"runs\.\*".*run\.\*/) },
  ]);
  expect(await misnamed('r*n.started')).toHaveLength(1);
});

it('who said it is the person, or the agent as an entity, in forks and copies too', async () => {
  const senders = ({ data }: Messages) => data.map(({ senderId }) => senderId);
  const { entityId } = session;
  const agent = fixture.ids.entity;
  const turn = [entityId, agent, null, agent];
  expect(senders(await messagesOf(first, '?of=run'))).toEqual(turn);
  const forked = await fork(second, { step: 0 });
  await fixture.kernel.ended(forked.id);
  expect(senders(await messagesOf(forked.id))).toEqual([...turn, entityId, agent]);
  // The runs that said it go with their session; who said it stays known.
  const gone = await fixture.create();
  await fixture.say(gone, 'look up');
  await fixture.becomes(gone, 'pending');
  const [, , , answer] = await fixture.messages(gone);
  const copy = await fixture.done<Session>('POST', `${fixture.sessions}/${gone.id}/fork`, {
    messageId: answer!.id,
  });
  await fixture.done('DELETE', `${fixture.sessions}/${gone.id}`);
  expect((await fixture.messages(copy)).map(({ senderId }) => senderId)).toEqual([
    gone.entityId,
    agent,
    null,
    agent,
  ]);
});

it('edits that the fork cannot have are refused by field, and nothing is stored', async () => {
  const before = await stored();
  const text = { text: 'x' };
  const call = (await messagesOf(first)).data[1]!.content as { id: string };
  const absent = 'edit_not_in_fork';
  const unfit = 'edit_does_not_fit';
  const cases: [step: number, sequence: number, content: unknown, code: string, path: string][] = [
    // After the step, after the run, after everything.
    [1, 4, text, absent, 'edits.0.sequence'],
    [0, 2, call, absent, 'edits.0.sequence'],
    [2, 5, text, absent, 'edits.0.sequence'],
    [1, 4_000_000_000, text, absent, 'edits.0.sequence'],
    // What another role says.
    [1, 1, call, unfit, 'edits.0.content.text'],
    [1, 1, { result: 1, error: null }, unfit, 'edits.0.content.text'],
    [1, 2, text, unfit, 'edits.0.content.id'],
    [1, 2, { ...call, id: 'another' }, unfit, 'edits.0.content.id'],
    [1, 3, text, unfit, 'edits.0.content.result'],
    [2, 4, { result: 'x', error: null }, unfit, 'edits.0.content.text'],
    // What no role says.
    [1, 1, { text: ' ' }, 'invalid_request', 'edits.0.content'],
    [1, 1, { text: 'x', more: 1 }, 'invalid_request', 'edits.0.content'],
    [1, 1, 'x', 'invalid_request', 'edits.0.content'],
    [1, 1, null, 'invalid_request', 'edits.0.content'],
  ];
  for (const [step, sequence, content, code, path] of cases) {
    const { status, body } = await fixture.ask<Problem>('POST', `/v1/runs/${first}/fork`, {
      step,
      edits: [{ sequence, content }],
    });
    const what = `${step} ${sequence} ${JSON.stringify(content)}`;
    expect([what, status, body.code]).toEqual([what, 422, code]);
    expect([what, body.issues!.map((issue) => issue.path)]).toEqual([what, expect.arrayContaining([path])]);
  }
  // One that is wrong among others that are right.
  const edits = [
    { sequence: 1, content: text },
    { sequence: 9, content: text },
  ];
  const mixed = await fixture.ask<Problem>('POST', `/v1/runs/${first}/fork`, { step: 1, edits });
  expect(mixed.body).toMatchObject({ code: absent, issues: [{ path: 'edits.1.sequence' }] });
  expect(mixed.body.detail).toContain('/messages');
  const far = { step: 99, edits: [{ sequence: 1, content: text }] };
  expect(await fixture.refused('POST', `/v1/runs/${first}/fork`, far)).toEqual([404, 'step_not_found']);
  expect(await stored()).toEqual(before);
});

it('goes on from a fork as a session, with all that was said', async () => {
  const forked = await fork(first, {
    step: 1,
    edits: [{ sequence: 3, content: { result: 'green', error: null } }],
  });
  await fixture.kernel.ended(forked.id);
  const path = `/v1/runs/${forked.id}/continue`;
  const continued = await fixture.done<Session>('POST', path, { title: 'Green' });
  expect(continued).toMatchObject({
    ...SET_UP,
    modelId,
    title: 'Green',
    status: 'pending',
    entityId: session.entityId,
  });
  const noted = await fixture.db.pool.query('select action, data from troupe.audit_log where target = $1', [
    continued.id,
  ]);
  expect(noted.rows).toEqual([
    { action: 'session.continued', data: { from: forked.id, entityId: session.entityId } },
  ]);
  await fixture.say(continued, 'sure?');
  await fixture.becomes(continued, 'pending');
  const lines = await fixture.lines(continued);
  // The model saw the question, its call, the result, its answer and the new question.
  expect([lines.length, lines[3], lines[5]]).toEqual([
    6,
    'assistant: saw green in 3',
    'assistant: saw green in 5',
  ]);
  expect(rolesOf(await messagesOf(forked.id))).toEqual(TURN);
  const ofAnother = await fixture.done<Session>('POST', path, { user: 'somebody-else' });
  expect(ofAnother.entityId).not.toBe(session.entityId);
  expect(ofAnother).toMatchObject({ ...SET_UP, modelId });
  // A fork of a fork belongs to the same person, and is set up in the same way.
  const twice = await fork(forked.id, { step: 1 });
  await fixture.kernel.ended(twice.id);
  expect(await fixture.done<Session>('POST', `/v1/runs/${twice.id}/continue`, {})).toMatchObject({
    ...SET_UP,
    modelId,
    entityId: session.entityId,
  });
  // Where the session is gone, it is a session like any new one.
  const gone = await fixture.create(SET_UP);
  const { run } = await fixture.say(gone, 'and now?');
  await fixture.becomes(gone, 'pending');
  const left = await fork(run!.id, { step: 0 });
  await fixture.kernel.ended(left.id);
  await fixture.done('DELETE', `${fixture.sessions}/${gone.id}`);
  expect(await fixture.done<Session>('POST', `/v1/runs/${left.id}/continue`, {})).toMatchObject({
    ...{ title: 'and now?', tags: [], policy: 'queue', metadata: {}, modelId: null },
  });
});

it('a run that is at work, an archived agent and a run that is not there are refused', async () => {
  const before = await stored();
  const path = `/v1/runs/${first}/continue`;
  const set = (status: string) =>
    fixture.db.pool.query('update troupe.agents set status = $2 where id = $1', [fixture.ids.agent, status]);
  await set('archived');
  expect(await fixture.refused('POST', path, {})).toEqual([409, 'agent_archived']);
  await set('active');
  for (const [method, what] of [
    ['GET', 'messages'],
    ['GET', 'events'],
    ['POST', 'continue'],
  ] as const) {
    const body = method === 'POST' ? {} : undefined;
    expect(await fixture.refused(method, `/v1/runs/${newId()}/${what}`, body)).toEqual([404, 'not_found']);
  }
  expect(await stored()).toEqual(before);
  const busy = await fixture.create();
  const { run } = await fixture.say(busy, 'stall');
  const atWork = await stored();
  expect(await fixture.refused('POST', `/v1/runs/${run!.id}/continue`, {})).toEqual([409, 'run_at_work']);
  expect(await stored()).toEqual(atWork);
  await fixture.done('POST', `/v1/runs/${run!.id}/cancel`);
});

it('a person reaches the messages and events of their own runs only', async () => {
  const { caller } = fixture;
  const forked = await fork(second, { step: 0 });
  await fixture.kernel.ended(forked.id);
  try {
    fixture.caller = { ...caller, kind: 'user', entityId: session.entityId };
    expect((await messagesOf(second)).data).toHaveLength(6);
    expect((await fixture.ask('GET', `/v1/runs/${second}/events`)).status).toBe(200);
    // A fork is no session of theirs.
    for (const what of ['messages', 'events'])
      expect((await fixture.ask('GET', `/v1/runs/${forked.id}/${what}`)).status).toBe(404);
    fixture.caller = { ...caller, kind: 'user', entityId: newId() };
    for (const what of ['messages', 'events'])
      expect((await fixture.ask('GET', `/v1/runs/${second}/${what}`)).status).toBe(404);
  } finally {
    fixture.caller = caller;
  }
});

it('numbers in an address are decimal digits and nothing else', async () => {
  const odd = ['0x10', '1e1', '', '%205', '5%20', '+5', '-5', '5.0', '%D9%A5', '1_0', 'NaN', '9'.repeat(17)];
  for (const number of odd) {
    for (const path of [
      `/v1/agents?limit=${number}`,
      `/v1/runs/${first}/messages?after=${number}`,
      `/v1/runs/${first}/events?limit=${number}`,
      `/v1/agents/${fixture.ids.agent}/diff?from=${number}&to=1`,
    ])
      expect([path, ...(await fixture.refused('GET', path))]).toEqual([path, 422, 'invalid_request']);
    const version = `/v1/agents/${fixture.ids.agent}/versions/${number || 'x'}`;
    expect([version, ...(await fixture.refused('GET', version))]).toEqual([version, 404, 'not_found']);
  }
  expect((await fixture.ask('GET', '/v1/agents?limit=5')).status).toBe(200);
});

it('asks a fork what its run was asked, and nothing that came to others meanwhile', async () => {
  const seen: string[][] = [];
  const own = await SessionFixture.open({
    script: ({ messages, step }) => {
      seen.push(
        messages.map((message) => `${message.role} ${'text' in message ? message.text.slice(0, 9) : ''}`),
      );
      return step === 1 && seen.length === 1
        ? { calls: [{ name: 'look', arguments: {} }] }
        : { text: 'Done' };
    },
    // Fills the window of the smallest model by itself.
    tools: { look: () => 'x'.repeat(200_000) },
    toolList: [{ name: 'look', effect: 'pure' }],
    contextTokens: 8_192,
  });
  try {
    const talk = await own.create();
    const asked = (await own.say(talk, 'question A')).run!.id;
    await own.say(talk, 'question B');
    await own.becomes(talk, 'pending');
    for (const step of [0, 1]) {
      const forked = await own.done<Run>('POST', `/v1/runs/${asked}/fork`, { step });
      await own.kernel.ended(forked.id);
      expect(seen.at(-1)![0]).toBe('user question ');
      expect(seen.at(-1)!.filter((line) => line.startsWith('user'))).toHaveLength(1);
    }
  } finally {
    await own.close();
  }
});

it('leaves behind what a model thought of what was edited', async () => {
  const thought = { 'troupe:reasoning': { provider: 'x', model: 'y', parts: [] } };
  await fixture.db.pool.query(`update troupe.messages set metadata = $2 where thread_id = $1 and seq = 2`, [
    session.threadId,
    thought,
  ]);
  const kept = async (edits: object[]) => {
    const { id } = await fork(first, { step: 1, edits });
    await fixture.kernel.ended(id);
    const { rows } = await fixture.db.pool.query(
      `select metadata from troupe.messages where seq = 2 and thread_id = (select thread_id from troupe.runs where id = $1)`,
      [id],
    );
    return rows[0].metadata;
  };
  expect(await kept([{ sequence: 3, content: { result: 'green', error: null } }])).toEqual(thought);
  expect(await kept([{ sequence: 1, content: { text: 'look down' } }])).toEqual({});
});

it('tells of a fork that is canceled as of a session', async () => {
  const talk = await fixture.create();
  const asked = (await fixture.say(talk, 'stall')).run!.id;
  const forked = await fork(asked, { step: 0 });
  await until('the fork is at work', async () =>
    (await fixture.done<{ data: { type: string }[] }>('GET', `/v1/runs/${forked.id}/events`)).data.some(
      ({ type }) => type === 'session.started',
    ),
  );
  for (const run of [forked.id, asked]) {
    await fixture.done('POST', `/v1/runs/${run}/cancel`);
    const { data } = await fixture.done<{ data: { type: string }[] }>('GET', `/v1/runs/${run}/events`);
    expect(data.slice(-2).map(({ type }) => type)).toEqual(['session.canceled', 'run.canceled']);
  }
});
