import type { JsonObject } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { stopwatch } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COLLECTIONS } from '../../src/triggers/collections.ts';
import { globOf } from '../../src/triggers/glob.ts';
import type { Person } from '../sync/fixture.ts';
import { TriggerFixture } from './fixture.ts';

// What the tables tell, before anybody judges it.

interface Change {
  collection: string;
  path: string;
  document_id: string;
  user_id: string | null;
  event: string;
  before: JsonObject | null;
  after: JsonObject | null;
  depth: number;
}

let fixture: TriggerFixture;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  fixture = await TriggerFixture.open({ triggers: false });
  ada = await fixture.sync.person('ada');
  bob = await fixture.sync.person('bob');
  const chat = 'users/*/orch-chats/*';
  for (const [at, collection] of [
    '*',
    'spaces/*/memberships',
    `${chat}/*`,
    `${chat}/sub-agents/*/*`,
  ].entries())
    await fixture.rule(`all-${at}`, { collection, condition: null, events: ['create', 'update', 'delete'] });
});
afterAll(() => fixture.close());

/** What was changed since the last call. */
async function changes(): Promise<Change[]> {
  const { rows } = await fixture.pool.query(
    'with gone as (delete from troupe.changes returning *) select * from gone order by id',
  );
  return rows;
}

const told = (all: Change[]) => all.map(({ collection, event }) => `${collection} ${event}`);

test('a session, what is said in it, its runs and its end', async () => {
  await changes();
  const session = await fixture.sync.session(ada);
  const { id, run } = await fixture.sync.say(ada, session, 'hello');
  await fixture.sync.server.kernel.ended(run.id);
  const began = await changes();
  expect(told(began)).toEqual(
    expect.arrayContaining(['sessions create', 'messages create', 'runs create', 'runs update']),
  );
  const messages = began.filter(({ collection }) => collection === 'messages');
  expect(messages.map(({ after, event }) => [event, after!.role, after!.content])).toEqual([
    ['create', 'user', 'hello'],
    ['create', 'assistant', 'Yes.'],
  ]);
  expect(messages[0]).toMatchObject({
    path: `users/${ada.id}/orch-chats/${session}/messages/${id}`,
    document_id: id,
    user_id: ada.id,
    before: null,
  });
  expect(began.filter(({ collection }) => collection === 'runs').at(-1)).toMatchObject({
    user_id: ada.id,
    before: { status: 'running' },
    after: { status: 'completed' },
  });
  // Nothing of the program, nothing that is hidden.
  expect(JSON.stringify(began)).not.toContain('troupe:');

  await fixture.retitle(ada, session, 'other');
  // Written again as it was, it did not change.
  await fixture.pool.query('update troupe.sessions set title = title where id = $1', [session]);
  expect(await changes()).toMatchObject([
    {
      collection: 'sessions',
      event: 'update',
      before: { title: 'a session' },
      after: { title: 'other' },
      user_id: ada.id,
    },
  ]);

  await fixture.sync.done(ada.headers, 'DELETE', `${fixture.sync.sessions}/${session}`);
  const gone = await changes();
  expect(told(gone).toSorted()).toEqual([
    'messages delete',
    'messages delete',
    'runs delete',
    'sessions delete',
  ]);
  for (const { after, user_id } of gone) expect([after, user_id]).toEqual([null, ada.id]);
  expect(gone.find(({ document_id }) => document_id === id)).toMatchObject({
    path: `users/${ada.id}/orch-chats/${session}/messages/${id}`,
    before: { content: 'hello' },
  });
});

test('a space, who is in it, and what is said', async () => {
  const space = await fixture.sync.space(ada, bob);
  expect(told(await changes())).toEqual(
    expect.arrayContaining(['spaces create', 'memberships create', 'memberships create']),
  );
  const said = await fixture.sync.done<{ id: string }>(bob.headers, 'POST', `/v1/spaces/${space}/messages`, {
    content: { text: 'hi' },
  });
  await fixture.sync.done(ada.headers, 'POST', `/v1/spaces/${space}/read`, { messageId: said.id });
  const all = await changes();
  expect(all.find(({ collection }) => collection === 'messages')).toMatchObject({
    path: `users/${bob.id}/orch-chats/${space}/messages/${said.id}`,
    user_id: bob.id,
  });
  expect(all.findLast(({ collection }) => collection === 'memberships')).toMatchObject({
    path: `spaces/${space}/memberships/${space}:${ada.id}`,
    event: 'update',
    after: { lastSeenMessageId: said.id },
  });
  await fixture.done('DELETE', `/v1/spaces/${space}`);
  expect(told(await changes())).toEqual(
    expect.arrayContaining(['messages delete', 'memberships delete', 'spaces delete']),
  );
});

test('a task and what happens within its sub-agent: one document for each answer, however many rows it has', async () => {
  const session = await fixture.sync.session(ada);
  await changes();
  const { thread, run, subAgent } = await fixture.sync.task(ada, session);
  const all = await changes();
  expect(told(all)).toEqual(
    expect.arrayContaining(['tasks create', 'sub_agents create', 'sub_agent_tool_calls create']),
  );
  const calls = all.filter(({ collection }) => collection === 'sub_agent_tool_calls');
  expect(calls.map(({ after }) => after!.status)).toEqual(['success', 'pending']);
  // The rows of an answer, one after the other in one transaction, as the kernel writes them.
  const client = await fixture.pool.connect();
  await client.query('begin');
  const rows = [
    ['assistant', { text: 'Two more.' }, null],
    ['tool_call', { id: 'call_3', name: 'search', arguments: { q: 'c' } }, 'call_3'],
    ['tool_call', { id: 'call_4', name: 'search', arguments: { q: 'd' } }, 'call_4'],
  ] as const;
  for (const [at, [role, content, call]] of rows.entries())
    await client.query(
      'insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step) values ($1, $2, $3, $4, $5, $6, $7, 2)',
      [thread, 6 + at, newId(), role, JSON.stringify(content), call, run],
    );
  await client.query('commit');
  client.release();
  const [answer, ...more] = await changes();
  expect(more).toEqual([]);
  expect(answer).toMatchObject({
    collection: 'sub_agent_messages',
    path: expect.stringContaining(`/sub-agents/${subAgent}/messages/`),
    after: { role: 'assistant', content: 'Two more.' },
  });
  expect((answer!.after!.toolCalls as unknown[]).length).toBe(2);
  await fixture.pool.query(
    `update troupe.tool_calls set status = 'completed', output = '1' where run_id = $1 and call_id = 'call_2'`,
    [run],
  );
  expect(await changes()).toMatchObject([
    { event: 'update', before: { status: 'pending' }, after: { status: 'success', result: '1' } },
  ]);
});

test('every document has the fields that conditions are checked with, and stands where its collection says', async () => {
  const session = await fixture.sync.session(ada, 'whole');
  await fixture.sync.say(ada, session, 'hello');
  await fixture.sync.space(ada, bob);
  await fixture.sync.task(ada, session);
  const seen = new Set<string>();
  for (const { collection, path, document_id, after, before } of await changes()) {
    seen.add(collection);
    const { path: shape, fields } = COLLECTIONS[collection]!;
    const glob = new RegExp(globOf(shape.replaceAll(/\{\w+\}/g, '*'))!.pattern);
    expect(glob.test(path.slice(0, -document_id.length - 1))).toBe(true);
    for (const [name, value] of Object.entries({ ...before, ...after })) {
      const type = fields[name];
      const is = Array.isArray(value)
        ? 'list'
        : value !== null && typeof value === 'object'
          ? 'map'
          : typeof value === 'number'
            ? 'int'
            : typeof value === 'boolean'
              ? 'bool'
              : 'string';
      expect([collection, name, type === 'dyn' ? is : type]).toEqual([collection, name, is]);
    }
  }
  expect([...seen].toSorted()).toEqual(Object.keys(COLLECTIONS).toSorted());
});

test('where a table is written to without a pause, a rule is refused rather than half made', async () => {
  await fixture.done('POST', '/v1/triggers/apply', { triggers: [], prune: true });
  const client = await fixture.pool.connect();
  await client.query('begin');
  await client.query(`update troupe.spaces set name = name`);
  // Whoever else writes the table meanwhile is held up by no more than one try.
  let [asking, longest] = [true, 0];
  const [started, elapsed] = [performance.now(), stopwatch()];
  const writing = (async () => {
    while (asking) {
      const began = performance.now();
      await fixture.pool.query(`update troupe.spaces set name = name where false`);
      longest = Math.max(longest, performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  const { status, body } = await fixture.ask('POST', '/v1/triggers', {
    name: 'late',
    collection: '*',
    events: ['create'],
    action: { type: 'webhook', url: '/x' },
  });
  asking = false;
  await writing;
  const contention = (performance.now() - started) / elapsed();
  expect(longest / contention).toBeLessThan(450);
  expect(longest).toBeGreaterThan(20);
  expect([status, body.code]).toEqual([503, 'triggers_busy']);
  expect((await fixture.ask('GET', '/v1/triggers/late')).status).toBe(404);
  await client.query('commit');
  client.release();
  await fixture.rule('late', { collection: 'spaces', condition: null });
  const space = await fixture.sync.space(ada);
  expect(await changes()).toMatchObject([{ document_id: space }]);
});
