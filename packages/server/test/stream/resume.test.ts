import { connected, event, sessionEndpoints } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { buildAgent, buildProject, until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { call, clientTool } from '../kernel/fixture.ts';
import { StreamFixture, upTo } from './fixture.ts';

let fixture: StreamFixture;
beforeAll(async () => {
  fixture = await StreamFixture.open(inject('postgresUrl'), { tools: { add: () => 4, echo: () => 'x' } });
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** A session with a whole turn in it: a tool call, its result, an answer. */
async function played() {
  const session = await fixture.session();
  const snapshot = await fixture.scriptedAgent(
    [{ calls: [{ name: 'add', arguments: {} }] }, { text: 'four' }],
    {
      tools: [{ name: 'add', provider: 'code' }],
    },
  );
  const run = await fixture.say(session, snapshot);
  await fixture.kernel.ended(run);
  const { rows } = await fixture.db.pool.query<{ last: number }>(
    'select last_event_seq as last from troupe.threads where id = $1',
    [session.thread],
  );
  return { ...session, run, last: rows[0]!.last };
}

test('a stream begins at the beginning and tells what the list tells', async () => {
  const session = await played();
  const client = fixture.connect(session);
  await client.sees('run.completed');
  const response = await client.response;
  expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(client.frames[0]!.event).toBe('connected');
  expect(connected.parse(client.connected)).toEqual({ lastSequence: session.last, runs: [], calls: [] });
  expect(client.retryMs).toBe(1_000);
  expect(client.ids).toEqual(upTo(session.last));
  for (const frame of client.frames.filter((one) => one.id !== null)) {
    const told = event.parse(frame.data);
    expect([told.type, told.sequence]).toEqual([frame.event, frame.id]);
    expect([told.sessionId, told.threadId]).toEqual([session.session, session.thread]);
  }
  const { status, body } = await fixture.list(session);
  expect(status).toBe(200);
  const list = sessionEndpoints.events.response.parse(body);
  expect(list).toEqual({ data: client.events, lastSequence: session.last });
  expect(new Set(list.data.map(({ id }) => id)).size).toBe(session.last);

  const { rows: messages } = await fixture.db.pool.query<{ id: string; role: string; seq: number }>(
    'select id, role, seq from troupe.messages where thread_id = $1 order by seq',
    [session.thread],
  );
  const created = list.data.filter(({ type }) => type === 'message.created').map(({ data }) => data);
  expect(created).toEqual(messages.map(({ id, role, seq }) => ({ messageId: id, role, sequence: seq })));
});

test('a reader that is cut after every single event sees what one sees that never was', async () => {
  const session = await fixture.session();
  const snapshot = await fixture.scriptedAgent(
    [{ calls: [{ name: 'add', arguments: {} }] }, { chunks: ['fo', 'ur'], delayBetweenChunksMs: 5 }],
    { tools: [{ name: 'add', provider: 'code' }] },
  );
  const whole = fixture.connect(session);
  await until('connected', () => whole.frames.length > 0);
  const cut: unknown[] = [];
  let run = '';
  const following = (async () => {
    for (let last = 0; ; ) {
      const client = fixture.connect(session, {
        ...(last > 0 ? { lastEventId: last } : {}),
        onFrame: (frame) => frame.id !== null,
      });
      await until('an event', () => client.ended !== null);
      expect(client.events).toHaveLength(1);
      const [seen] = client.events;
      cut.push(seen);
      last = seen!.sequence;
      if (
        seen!.type === 'run.completed' &&
        cut.filter((e) => (e as { type: string }).type === 'run.completed').length === 2
      )
        return;
    }
  })();
  run = await fixture.say(session, snapshot);
  await fixture.kernel.ended(run);
  await fixture.say(session, snapshot);
  await following;
  await whole.sees('run.completed', 2);
  expect(cut).toEqual(whole.events);
  expect(whole.ids).toEqual(upTo(whole.events.length));
});

test('every place in the log can be resumed from, long after', async () => {
  const session = await fixture.session();
  await fixture.append(session.thread, 450); // more than is kept in memory, and more than a page
  const places = [0, 1, 2, 127, 128, 199, 200, 201, 249, 250, 251, 321, 322, 323, 399, 400, 401, 448, 449];
  const clients = places.map((place) => fixture.connect(session, { lastEventId: place }));
  for (const [index, client] of clients.entries()) {
    const place = places[index]!;
    await until(`everything after ${place}`, () => client.ids.length >= 450 - place);
    expect(client.ids).toEqual(upTo(450, place + 1));
  }
  // At the end there is nothing until there is; beyond it, as after a restored backup, is at the end.
  const [atEnd, beyond] = [450, 1_000].map((place) => fixture.connect(session, { lastEventId: place }));
  await until('both connected', () => atEnd!.frames.length + beyond!.frames.length === 2);
  await fixture.append(session.thread, 3);
  await until('the new ones', () => atEnd!.ids.length === 3 && beyond!.ids.length === 3);
  expect([atEnd!.ids, beyond!.ids]).toEqual([
    [451, 452, 453],
    [451, 452, 453],
  ]);
});

test('Last-Event-ID beats after; what is no sequence is refused', async () => {
  const session = await played();
  const client = fixture.connect(session, { lastEventId: session.last - 1, query: '?after=1' });
  await client.sees('run.completed');
  expect(client.ids).toEqual([session.last]);
  const fromQuery = fixture.connect(session, { query: `?after=${session.last - 2}` });
  await fromQuery.sees('run.completed');
  expect(fromQuery.ids).toEqual([session.last - 1, session.last]);
  for (const garbage of ['x', '-1', '1.5', '1e3', '0x10', '9'.repeat(16), "1' or 1=1"]) {
    const response = await fetch(`${fixture.url}${session.path}/events`, {
      headers: { accept: 'text/event-stream', 'last-event-id': garbage },
    });
    expect([garbage, response.status]).toEqual([garbage, 422]);
    expect(await response.json()).toMatchObject({
      code: 'invalid_request',
      issues: [{ path: 'Last-Event-ID' }],
    });
  }
});

test('only the types asked for, in the stream and in the list', async () => {
  const session = await played();
  const { body } = await fixture.list(session);
  const all = sessionEndpoints.events.response.parse(body).data;
  const filters: Record<string, (type: string) => boolean> = {
    'run.*': (type) => type.startsWith('run.'),
    'message.created,run.completed': (type) => ['message.created', 'run.completed'].includes(type),
    'tool.*,run.completed': (type) => type.startsWith('tool.') || type === 'run.completed',
    '*': () => true,
  };
  for (const [types, wanted] of Object.entries(filters)) {
    const expected = all.filter(({ type }) => wanted(type));
    expect(expected.length).toBeGreaterThan(1);
    const client = fixture.connect(session, { query: `?types=${types}` });
    await client.sees('run.completed');
    expect(client.events).toEqual(expected);
    const listed = await fixture.list(session, `?types=${types}`);
    expect((listed.body as { data: unknown }).data).toEqual(expected);
  }
  const underscore = await fixture.list(session, '?types=run_completed');
  expect(underscore).toMatchObject({ status: 422 });
  const few = await fixture.list(session, '?after=2&limit=3');
  expect((few.body as { data: { sequence: number }[] }).data.map(({ sequence }) => sequence)).toEqual([
    3, 4, 5,
  ]);
  for (const query of ['?types=RUN', '?after=-1', '?limit=0', '?after=x', '?more=1'])
    expect([query, (await fixture.list(session, query)).status]).toEqual([query, 422]);
});

test('what is another’s is not there', async () => {
  const session = await played();
  const other = await buildAgent(fixture.db, fixture.ids);
  const ask = async (path: string) => {
    const accepts = ['application/json', 'text/event-stream'];
    return Promise.all(
      accepts.map(
        async (accept) => (await fetch(`${fixture.url}${path}/events`, { headers: { accept } })).status,
      ),
    );
  };
  const nobody = `/v1/agents/${fixture.ids.agent}/sessions`;
  expect(await ask(`/v1/agents/${other.agent}/sessions/${session.session}`)).toEqual([404, 404]);
  expect(await ask(`${nobody}/${newId()}`)).toEqual([404, 404]);
  expect(await ask(`${nobody}/nonsense`)).toEqual([404, 404]);
  const stranger = await buildProject(fixture.db);
  const { project } = fixture;
  try {
    fixture.project = stranger.project;
    expect(await ask(session.path)).toEqual([404, 404]);
    fixture.project = project;
    fixture.entity = stranger.entity;
    expect(await ask(session.path)).toEqual([404, 404]);
    fixture.entity = session.person;
    expect((await fixture.list(session)).status).toBe(200);
  } finally {
    fixture.project = project;
    fixture.entity = null;
  }
});

test('runs at work are named at once, and a reader that leaves leaves nothing behind', async () => {
  const session = await fixture.session();
  const held = Promise.withResolvers<void>();
  const snapshot = await fixture.scriptedAgent([{ text: 'late', gate: held.promise }]);
  const run = await fixture.say(session, snapshot);
  const second = await fixture.say(session, snapshot);
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  expect(client.connected.runs).toEqual([
    { id: run, status: 'running' },
    { id: second, status: 'queued' },
  ]);
  const readers = fixture.stream.readers;
  client.close();
  await until('the reader is gone', () => fixture.stream.readers === readers - 1);
  const head = await fetch(`${fixture.url}${session.path}/events`, {
    method: 'HEAD',
    headers: { accept: 'text/event-stream' },
    signal: AbortSignal.timeout(2_000),
  });
  expect(head.status).toBe(200);
  expect((await fixture.list(session)).status).toBe(200); // answered after whatever the first request began
  expect(fixture.stream.readers).toBe(readers - 1);
  held.resolve();
  await fixture.kernel.ended(second);
});

describe('a session that is deleted', () => {
  const remove = async ({ path }: { path: string }) =>
    expect((await fetch(fixture.url + path, { method: 'DELETE' })).status).toBe(204);

  test('ends its streams', async () => {
    const session = await played();
    const client = fixture.connect(session);
    await client.sees('run.completed');
    await remove(session);
    await until('the end', () => client.ended === 'by the server');
  });

  test('ends them although nothing ever happened in it', async () => {
    const session = await fixture.session();
    const client = fixture.connect(session);
    await until('connected', () => client.frames.length > 0);
    await remove(session);
    await until('the end', () => client.ended === 'by the server');
    expect(client.ids).toEqual([]);
    expect((await fixture.list(session)).status).toBe(404);
  });

  test('ends them in the middle of what they replay, without a gap', async () => {
    const session = await fixture.session();
    // More than the socket and what readers share can hold.
    await fixture.append(session.thread, 1_000, 20_000);
    const client = fixture.connect(session);
    const response = await client.response;
    await until('the first events', () => client.ids.length > 0);
    response.pause();
    await remove(session);
    response.resume();
    await until('the end', () => client.ended === 'by the server');
    expect(client.ids.length).toBeLessThan(1_000);
    expect(client.ids).toEqual(upTo(client.ids.length));
  });
});

test('an agent that is archived ends no stream: what is under way is told to its end', async () => {
  const session = await fixture.session();
  const held = Promise.withResolvers<void>();
  const run = await fixture.say(session, await fixture.scriptedAgent([{ text: 'late', gate: held.promise }]));
  const client = fixture.connect(session);
  await client.sees('run.started');
  const { agent } = fixture.ids;
  const set = (status: string) =>
    fixture.db.pool.query('update troupe.agents set status = $2 where id = $1', [agent, status]);
  await set('archived');
  try {
    held.resolve();
    await client.sees('run.completed');
    await fixture.kernel.ended(run);
    const again = fixture.connect(session);
    await again.sees('run.completed');
    expect(again.ids).toEqual(client.ids);
    expect([client.ended, again.ended]).toEqual([null, null]);
  } finally {
    await set('active');
  }
});

test('a quiet stream shows signs of life; one that ends says when to come back', async () => {
  await using quiet = await StreamFixture.open(inject('postgresUrl'), { work: false, heartbeatMs: 50 });
  const session = await quiet.session();
  const client = quiet.connect(session);
  await until('two heartbeats', () => client.comments.filter((text) => text === ': heartbeat').length >= 2);
  await quiet.stream.close();
  await until('the end', () => client.ended === 'by the server');
  expect(client.frames.at(-1)).toMatchObject({ id: null, event: 'disconnecting' });
  expect(client.retryMs).toBeGreaterThanOrEqual(500);
  expect(client.retryMs).toBeLessThanOrEqual(3_000);
  const late = await fetch(`${quiet.url}${session.path}/events`, {
    headers: { accept: 'text/event-stream' },
  });
  expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1']);
});

test('calls that wait for somebody are named at once, with their deadline, until they are settled', async () => {
  const session = await fixture.session();
  const calls = [call('ask'), call('approve'), call('echo')];
  const snapshot = await fixture.scriptedAgent([{ calls }, { text: 'Done.' }], {
    tools: [
      clientTool('ask', { deadlineMs: 60_000 }),
      clientTool('approve'),
      { name: 'echo', provider: 'code' },
    ],
  });
  const began = Date.now();
  const run = await fixture.say(session, snapshot);
  await until('the run waits', async () => (await fixture.row(run)).status === 'waiting_tool');
  const hello = async () => {
    const client = fixture.connect(session);
    await until('connected', () => client.frames.length > 0);
    return connected.parse(client.connected);
  };
  const first = await hello();
  expect(first.runs).toEqual([{ id: run, status: 'waiting_tool' }]);
  const deadline = expect.any(String);
  expect(first.calls).toEqual([
    { id: 'ask', runId: run, tool: 'ask', waitsFor: 'client', deadline },
    { id: 'approve', runId: run, tool: 'approve', waitsFor: 'client', deadline },
  ]);
  const left = Date.parse(first.calls[0]!.deadline!) - began;
  expect(left).toBeGreaterThan(55_000);
  expect(left).toBeLessThan(90_000);
  await fixture.kernel.settle(run, 'ask', { status: 'completed', output: 1 });
  expect((await hello()).calls.map(({ id }) => id)).toEqual(['approve']);
  await fixture.kernel.settle(run, 'approve', { status: 'completed', output: 1 });
  await fixture.kernel.ended(run);
  expect(await hello()).toMatchObject({ runs: [], calls: [] });
});
