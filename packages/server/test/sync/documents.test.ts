import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, SyncFixture } from './fixture.ts';

// What the database makes of its rows: the documents that clients copy and rules look at.

let fixture: SyncFixture;
let ada: Person;
beforeAll(async () => {
  fixture = await SyncFixture.open();
  ada = await fixture.person('ada');
});
afterAll(() => fixture.close());

const number = expect.any(Number);
// biome-ignore lint/suspicious/noExplicitAny: documents of any collection
async function made(text: string, values: unknown[]): Promise<any[]> {
  return (await fixture.server.db.pool.query(text, values)).rows.map((row) => row.made);
}

test('a session, its messages and its run', async () => {
  const session = await fixture.session(ada);
  const { id, run } = await fixture.say(ada, session, 'hello');
  await until('the run ends', async () => {
    const { status } = await fixture.done<{ status: string }>(ada.headers, 'GET', `/v1/runs/${run.id}`);
    return status === 'completed';
  });
  const [document] = await made(
    'select troupe.session_document(s) as made from troupe.sessions s where s.id = $1',
    [session],
  );
  expect(document).toEqual({
    id: session,
    userId: ada.id,
    agentId: fixture.agent,
    title: 'a session',
    tags: [],
    policy: 'queue',
    metadata: {},
    createdAt: number,
    updatedAt: number,
  });
  expect(Math.abs(document.createdAt - Date.now())).toBeLessThan(60_000);
  const messages = await made(
    `select troupe.message_document(m) || jsonb_build_object('path', troupe.message_path(m)) as made from troupe.messages m
      join troupe.sessions s on s.thread_id = m.thread_id where s.id = $1 order by m.seq`,
    [session],
  );
  const path = `users/${ada.id}/orch-chats/${session}/messages`;
  const common = { userId: ada.id, chatId: session, metadata: {}, createdAt: number, path, runId: run.id };
  expect(messages).toEqual([
    { ...common, id, sequence: 1, role: 'user', content: 'hello', senderId: ada.id },
    {
      ...common,
      id: expect.any(String),
      sequence: 2,
      role: 'assistant',
      content: expect.any(String),
      senderId: expect.any(String),
      step: 1,
    },
  ]);
  const runs = await made('select troupe.run_document(r) as made from troupe.runs r where r.id = $1', [
    run.id,
  ]);
  expect(runs).toEqual([
    expect.objectContaining({ id: run.id, sessionId: session, status: 'completed', triggerMessageId: id }),
  ]);
});

test('a sub-agent: one document for what a model answered at once, results under the ids of their calls', async () => {
  const session = await fixture.session(ada);
  const { task, subAgent, thread, run } = await fixture.task(ada, session);
  const base = `users/${ada.id}/orch-chats/${session}`;
  const messages = await made(
    `select troupe.message_document(m) as made from troupe.messages m where m.thread_id = $1 order by m.seq`,
    [thread],
  );
  const [first, second] = (
    await made('select to_jsonb(troupe.call_document_id($1, x)) as made from unnest($2::text[]) x', [
      run,
      ['call_1', 'call_2'],
    ])
  ).map(String);
  const common = {
    id: expect.any(String),
    userId: ada.id,
    chatId: session,
    subAgentId: subAgent,
    createdAt: number,
  };
  const called = (id: string, given: string) => ({
    id,
    type: 'function',
    function: { name: 'search', arguments: given },
  });
  expect(messages).toEqual([
    { ...common, sequence: 1, role: 'user', content: 'look it up' },
    {
      ...common,
      sequence: 2,
      role: 'assistant',
      content: 'I look.',
      toolCalls: [called(first!, '{"q": "a", "of": null}'), called(second!, '{"q": "b"}')],
    },
    null,
    null,
    { ...common, sequence: 5, role: 'tool', content: '{"found": 1}', toolCallId: first, name: 'search' },
  ]);
  const calls = await made(
    'select troupe.tool_call_document(c) as made from troupe.tool_calls c where c.run_id = $1 order by c.position',
    [run],
  );
  const call = {
    userId: ada.id,
    chatId: session,
    subAgentId: subAgent,
    runId: run,
    step: 1,
    toolName: 'search',
    createdAt: number,
  };
  expect(calls).toEqual([
    {
      ...call,
      id: first,
      callId: 'call_1',
      args: { q: 'a', of: null },
      status: 'success',
      result: '{"found": 1}',
    },
    { ...call, id: second, callId: 'call_2', args: { q: 'b' }, status: 'pending' },
  ]);
  const paths = await made(
    `select to_jsonb(x) as made from (select troupe.task_path(t) from troupe.tasks t where t.id = $1
        union all select troupe.sub_agent_path(a) from troupe.sub_agents a where a.task_id = $1
        union all (select distinct troupe.message_path(m) from troupe.messages m where m.thread_id = $2)
        union all (select distinct troupe.tool_call_path(c) from troupe.tool_calls c where c.run_id = $3)) as y(x)`,
    [task, thread, run],
  );
  expect(paths).toEqual([
    `${base}/tasks`,
    `${base}/sub-agents`,
    `${base}/sub-agents/${subAgent}/messages`,
    `${base}/sub-agents/${subAgent}/tool-calls`,
  ]);
});

test('nothing that is hidden stands in a document', async () => {
  const session = await fixture.session(ada);
  const { thread } = await fixture.task(ada, session);
  const hidden = {
    'troupe:reasoning': 'secret',
    runContext: { actionsExecuted: ['secret'] },
    own: { a: null },
  };
  const { rows } = await fixture.server.db.pool.query(
    `insert into troupe.messages (thread_id, seq, id, role, content, metadata)
      select s.thread_id, 1, gen_random_uuid(), 'assistant', '{"text": "x"}', $2 from troupe.sessions s where s.id = $1 returning thread_id`,
    [session, JSON.stringify(hidden)],
  );
  const [document] = await made(
    'select troupe.message_document(m) as made from troupe.messages m where m.thread_id = $1',
    [rows[0].thread_id],
  );
  expect(document.metadata).toEqual({ own: { a: null } });
  await fixture.server.db.pool.query(`update troupe.runs set sealed = '{"secret": 1}' where thread_id = $1`, [
    thread,
  ]);
  const [run] = await made(
    'select troupe.run_document(r) as made from troupe.runs r where r.thread_id = $1',
    [thread],
  );
  expect(JSON.stringify([document, run])).not.toContain('secret');
});

test('what is deleted leaves tombstones, with whose it was', async () => {
  const session = await fixture.session(ada);
  const { run } = await fixture.say(ada, session, 'hello');
  await fixture.done(ada.headers, 'DELETE', `${fixture.sessions}/${session}`);
  const gone = await made(
    `select jsonb_build_array(x.collection, x.entity_id, x.chat_id) as made from troupe.tombstones x where x.chat_id = $1 order by 1`,
    [session],
  );
  expect(gone).toContainEqual(['sessions', ada.id, session]);
  expect(gone).toContainEqual(['messages', ada.id, session]);
  const runs = await made(
    `select to_jsonb(x.entity_id) as made from troupe.tombstones x where x.collection = 'runs' and x.id = $1`,
    [run.id],
  );
  expect(runs).toEqual([ada.id]);
  const space = await fixture.space(ada);
  await fixture.done(fixture.key, 'POST', `/v1/spaces/${space}/messages`, {
    content: { text: 'x' },
    senderId: ada.id,
  });
  await fixture.done(fixture.key, 'DELETE', `/v1/spaces/${space}`);
  const left = await made(
    `select jsonb_build_array(x.collection, x.entity_id) as made from troupe.tombstones x where x.place_id = $1 order by x.collection`,
    [space],
  );
  expect(left).toEqual([
    ['memberships', ada.id],
    ['messages', null],
    ['spaces', null],
  ]);
});
