import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Session, type ToolHandler, Troupe } from '../src/index.ts';
import { keepPresence } from '../src/presence.ts';
import { Transport } from '../src/transport.ts';
import { openProxy } from './proxy.ts';

// One server and one agent with client tools. A message is what the model calls, step after step.

interface ScriptedCall {
  id: string;
  name: string;
  arguments: object;
}

let server: TestServer;
let troupe: Troupe;
let agentId: string;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) => {
      const said = messages.findLastIndex(({ role }) => role === 'user');
      if ((messages[said] as { text: string }).text.startsWith('Task ')) return { text: 'heard' };
      const steps = JSON.parse((messages[said] as { text: string }).text) as ScriptedCall[][];
      const done = messages.slice(said).filter(({ role }) => role === 'assistant').length;
      const told = messages.slice(said).flatMap((one) => (one.role === 'tool' ? [one.output] : []));
      return steps[done] ? { calls: steps[done] as [] } : { text: JSON.stringify(told) };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  const { id } = await troupe.agents.create({ body: { name: 'first' } });
  agentId = id;
  for (const [name, config] of Object.entries({
    locate: {},
    pick: { outputSchema: { type: 'object', required: ['file'] } },
    other: {},
    brief: { deadlineMs: 400 },
  })) {
    await server.db.pool.query(
      `insert into troupe.tools (id, project_id, name, kind, input_schema, config)
        select gen_random_uuid(), project_id, $2, 'client', '{"type": "object"}', $3 from troupe.agents where id = $1`,
      [id, name, JSON.stringify(config)],
    );
  }
  const body = { tools: ['locate', 'pick', 'other', 'brief'] };
  await troupe.agents.update({ params: { agentId }, body });
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

const call = (name: string, id: string, args = {}): ScriptedCall => ({ id, name, arguments: args });
const waits = (session: Session, ...ids: string[]) =>
  until(`${ids} wait`, async () => {
    const { data } = await troupe.inbox.list({ query: { sessionId: session.id, waitsFor: 'client' } });
    return data.map(({ callId }) => callId).join() === ids.join() ? data : null;
  });
const callsOf = async (runId: string) =>
  Object.fromEntries((await troupe.run(runId).get()).calls.map((one) => [one.id, one]));

/** Serves until the test is done with it. */
function serve(session: Session, handlers: Record<string, ToolHandler>) {
  const end = new AbortController();
  const served = session.serveTools(handlers, { signal: end.signal });
  return async () => {
    end.abort();
    await served;
  };
}

it('calls that wait already, several at once, and those of the steps that follow', async () => {
  const session = await troupe.open(agentId);
  const steps = [
    [call('locate', 'a', { n: 1 }), call('locate', 'b', { n: 2 }), call('pick', 'c')],
    [call('locate', 'd', { n: 3 })],
  ];
  await session.send(JSON.stringify(steps));
  await waits(session, 'a', 'b', 'c');
  // All of a step are under way together: none ends before the others have begun.
  const begun: string[] = [];
  const together = () => until('all have begun', () => begun.length >= 3);
  const end = serve(session, {
    locate: async (args, { callId, tool, deadline, signal }) => {
      begun.push(callId);
      await together();
      expect([tool, signal.aborted, Date.parse(deadline!) > Date.now()]).toEqual(['locate', false, true]);
      return { at: (args as { n: number }).n };
    },
    pick: async (_, { callId }) => {
      begun.push(callId);
      await together();
      return { file: 'x' };
    },
  });
  await until('it is answered', async () => (await session.get()).status === 'pending');
  const { data } = await session.messages();
  expect(data.at(-1)!.content).toEqual({
    text: JSON.stringify([{ at: 1 }, { at: 2 }, { file: 'x' }, { at: 3 }]),
  });
  expect(begun.sort()).toEqual(['a', 'b', 'c', 'd']);
  await end();
});

it('what a handler throws, what is no JSON and what does not fit are results; others are left alone', async () => {
  const session = await troupe.open(agentId);
  const thrown = Object.assign(new Error('There is no GPS.'), { code: 'no_gps' });
  const end = serve(session, {
    locate: (args) => {
      const { how } = args as { how: string };
      if (how === 'throws') throw thrown;
      if (how === 'long') throw new Error('x'.repeat(5_000));
      if (how === 'odd') throw ' ';
      if (how === 'circle') return { n: 1n };
      return undefined;
    },
    pick: () => 'no object',
    toString: () => 'never',
  });
  const ways = ['throws', 'long', 'odd', 'circle', 'nothing'];
  const calls = [
    ...ways.map((how) => call('locate', how, { how })),
    call('pick', 'unfit'),
    call('other', 'alone'),
  ];
  const { run } = await session.send(JSON.stringify([calls]));
  const [left] = await waits(session, 'alone');
  await troupe.inbox.results({
    params: { runId: left!.runId },
    body: { callId: 'alone', result: 'by hand' },
  });
  await until('it is answered', async () => (await session.get()).status === 'pending');
  expect(await callsOf(run!.id)).toMatchObject({
    throws: { status: 'failed', error: { code: 'no_gps', message: 'There is no GPS.' } },
    long: { status: 'failed', error: { code: 'tool_error', message: 'x'.repeat(2_000) } },
    odd: {
      status: 'failed',
      error: { code: 'tool_error', message: expect.stringMatching(/without saying/) },
    },
    circle: { status: 'failed', error: { code: 'tool_error' } },
    nothing: { status: 'completed', output: null },
    unfit: { status: 'failed', error: { code: 'result_invalid' } },
    alone: { status: 'completed', output: 'by hand' },
  });
  await end();
});

it('an odd error, or a result that is refused, ends neither the serving nor the other calls', async () => {
  const session = await troupe.open(agentId);
  const begun: string[] = [];
  const throwing: Record<string, () => unknown> = {
    nul: () => new Error('bad \0 output'),
    half: () => new Error(`${'x'.repeat(1_999)}😀`),
    code: () => Object.assign(new Error('m'), { code: 'E\0' }),
    lone: () => Object.assign(new Error('\udc00'), { code: '\ud800' }),
    bare: () => Object.create(null),
    trap: () => ({
      get message() {
        throw new Error('never');
      },
    }),
  };
  let release = () => {};
  const others = new Promise<void>((resolve) => {
    release = resolve;
  });
  const end = serve(session, {
    locate: (args, { callId }) => {
      begun.push(callId);
      const { how } = args as { how: string };
      if (how === 'stored') return 'a \0 that cannot be stored';
      if (how === 'huge') return 'x'.repeat(34 * 1024 * 1024);
      throw throwing[how]!();
    },
    other: async (_, { signal }) => {
      await others;
      return signal.aborted;
    },
  });
  const ways = [...Object.keys(throwing), 'stored', 'huge'];
  const calls = [...ways.map((how) => call('locate', how, { how })), call('other', 'other')];
  const { run } = await session.send(JSON.stringify([calls]));
  await waits(session, 'other').then(() =>
    until(
      'the others are answered',
      async () =>
        Object.values(await callsOf(run!.id)).filter(({ status }) => status === 'failed').length ===
        ways.length,
    ),
  );
  release();
  await until('it is answered', async () => (await session.get()).status === 'pending');
  const failed = (message: unknown, code: unknown = 'tool_error') => ({
    status: 'failed',
    error: { code, message },
  });
  expect(await callsOf(run!.id)).toMatchObject({
    nul: failed('bad   output'),
    half: failed('x'.repeat(1_999)),
    code: failed('m'),
    lone: failed('\ufffd'),
    bare: failed(expect.stringMatching(/without saying/)),
    trap: failed(expect.stringMatching(/without saying/)),
    stored: failed(expect.any(String), expect.any(String)),
    huge: failed(expect.any(String), expect.any(String)),
    other: { status: 'completed', output: false },
  });
  expect(begun.sort()).toEqual([...ways].sort());
  await end();
});

it('a handler is stopped by a cancel, by the deadline, by another answer, and by the end of serving', async () => {
  const session = await troupe.open(agentId);
  const stopped: string[] = [];
  const begun: string[] = [];
  const hang: ToolHandler = (_, { callId, signal }) =>
    new Promise((_, reject) => {
      begun.push(callId);
      signal.addEventListener('abort', () => {
        stopped.push(callId);
        reject(new Error('stopped'));
      });
    });
  const end = serve(session, { locate: hang, brief: hang });
  const isOver = () => until('over', async () => (await session.get()).status === 'pending');
  const canceled = await session.send(JSON.stringify([[call('locate', 'canceled')]]));
  await until('it has begun', () => begun.includes('canceled'));
  await session.cancel();
  await until('it is stopped', () => stopped.includes('canceled'));
  expect((await callsOf(canceled.run!.id)).canceled).toMatchObject({ status: 'canceled' });

  const late = await session.send(JSON.stringify([[call('brief', 'late')]]));
  await until('it is stopped', () => stopped.includes('late'));
  await isOver();
  expect((await callsOf(late.run!.id)).late).toMatchObject({ status: 'expired' });

  const taken = await session.send(JSON.stringify([[call('locate', 'taken')]]));
  await until('it has begun', () => begun.includes('taken'));
  const params = { runId: taken.run!.id };
  await troupe.inbox.results({ params, body: { callId: 'taken', result: 'sooner' } });
  await until('it is stopped', () => stopped.includes('taken'));
  await isOver();

  // Whoever serves next answers what was left.
  const left = await session.send(JSON.stringify([[call('locate', 'left')]]));
  await until('it has begun', () => begun.includes('left'));
  await end();
  expect(stopped).toEqual(['canceled', 'late', 'taken', 'left']);
  await waits(session, 'left');
  const endNext = serve(session, { locate: () => 'by the next' });
  await isOver();
  expect((await callsOf(left.run!.id)).left).toMatchObject({ output: 'by the next', attempt: 1 });
  await endNext();
});

it('a connection that breaks costs nothing, and a call is executed once all the same', async () => {
  // Streams break after two frames, and of every answer to a result the first is lost.
  const lost = new Set<string>();
  const proxy = await openProxy(server.url, ({ path, headers, body }, way) => {
    if (headers.accept === 'text/event-stream') return way.cutAfter(2);
    if (!path.endsWith('/tool-results') || lost.has(body)) return way.pass();
    lost.add(body);
    return way.lose();
  });
  const near = new Troupe({ baseUrl: proxy.url });
  const session = near.session(agentId, (await troupe.open(agentId)).id);
  const executed: string[] = [];
  const end = serve(session, {
    locate: async (_, { callId }) => {
      executed.push(callId);
      return callId;
    },
  });
  const steps = ['a', 'b', 'c'].map((id) => [call('locate', id)]);
  await troupe.session(agentId, session.id).send(JSON.stringify(steps));
  await until(
    'it is answered',
    async () => {
      const { data } = await troupe.session(agentId, session.id).messages();
      return data.at(-1)!.role === 'assistant';
    },
    20_000,
  );
  expect(executed).toEqual(['a', 'b', 'c']);
  expect(lost.size).toBe(3);
  await end();
  await proxy.close();
});

it('calls of a run of a network and of its tasks, until it has ended', async () => {
  const tool = (key: string) => ({ key });
  const body = {
    name: 'Desk',
    tools: [tool('locate'), tool('pick')],
    agents: [
      { key: 'front', isDefault: true, allowRespond: true, allowTaskGroup: true, tools: ['locate'] },
      { key: 'helper', tools: ['locate', 'pick'] },
    ].map((agent) => ({ ...agent, prompt: 'Do it.', routes: agent.key === 'front' ? ['helper'] : [] })),
  };
  const { id } = await troupe.networks.create({ body });
  await troupe.networks.publish({ params: { network: id } });
  const network = troupe.network('desk');
  const respond = (payload: object) => [call('respond', 'end', { payload })];
  const task = JSON.stringify([[call('pick', 'c'), call('locate', 'd', { n: 2 })], respond({ done: true })]);
  const steps = [
    [call('locate', 'a', { n: 1 }), call('delegate_to_agent', 'b', { agent: 'helper', assignment: task })],
    [call('locate', 'e', { n: 3 })],
    respond({ well: true }),
  ];
  const begun = await network.invoke(JSON.stringify(steps));
  const run = troupe.run(begun.id);
  await until('calls wait', async () => {
    const { data } = await troupe.inbox.list({ query: { waitsFor: 'client' } });
    return data.length === 3;
  });
  const executed: string[] = [];
  const handlers: Record<string, ToolHandler> = {
    locate: (args, { callId }) => {
      executed.push(callId);
      return args;
    },
    pick: (_, { callId, runId }) => {
      executed.push(callId);
      expect(runId).not.toBe(begun.id);
      return { file: 'x' };
    },
  };
  await run.serveTools(handlers);
  expect(await network.wait(begun.id)).toMatchObject({ response: { well: true } });
  expect(executed.sort()).toEqual(['a', 'c', 'd', 'e']);
  expect(await callsOf(begun.id)).toMatchObject({
    a: { status: 'completed', output: { n: 1 } },
    b: { status: 'completed' },
    e: { status: 'completed', output: { n: 3 } },
  });
  // One that has ended has nothing to be served; the end of serving is not that of the run.
  await run.serveTools(handlers);
  const next = await network.invoke(JSON.stringify([[call('locate', 'x')], respond({})]));
  const stop = new AbortController();
  const locate: ToolHandler = (_, { signal }) => {
    stop.abort();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
  };
  await troupe.run(next.id).serveTools({ locate }, { signal: stop.signal });
  expect(await troupe.run(next.id).get()).toMatchObject({ status: 'waiting_tool' });
  await troupe.run(next.id).cancel();
});

it('a session that is not there, or a key that does not hold, ends it', async () => {
  const nowhere = troupe.session(agentId, '00000000-0000-4000-8000-000000000000');
  await expect(nowhere.serveTools({})).rejects.toMatchObject({ status: 404 });
});

it('registers as a client with what it executes, and says whose it is', async () => {
  const session = await troupe.open(agentId);
  const ann = await troupe.entities.create({ body: { externalId: 'ann' } });
  const end = new AbortController();
  const options = { clientKey: 'tab-1', clientType: 'web', entityId: ann.id, signal: end.signal };
  const served = session.serveTools({ locate: () => 'here', pick: () => null }, options);
  const [client] = await until('it is registered', async () => {
    const { data } = await troupe.clients.list({ query: { entityId: ann.id } });
    return data.length > 0 ? data : null;
  });
  expect(client).toMatchObject({
    clientKey: 'tab-1',
    clientType: 'web',
    capabilities: { tools: ['locate', 'pick'] },
    online: true,
  });
  const turn = await session.sendAndWait(JSON.stringify([[call('locate', 'a')]]));
  expect(turn.text).toBe('["here"]');
  end.abort();
  await served;
  // A key has to say whose program it is; nothing is served for nobody.
  await expect(session.serveTools({}, { clientKey: 'tab-2' })).rejects.toMatchObject({ status: 422 });
});

it('says that it is there, again and again, and registers again where it was forgotten', async () => {
  const ann = await troupe.entities.create({ body: { externalId: 'bea' } });
  const end = new AbortController();
  const body = { clientKey: 'tab-9', entityId: ann.id };
  const kept = keepPresence(new Transport({ baseUrl: server.url }), body, end.signal, 20);
  const find = async () => (await troupe.clients.list({ query: { entityId: ann.id } })).data[0];
  const first = (await until('it is registered', find))!;
  await until('it is seen', async () => (await find())!.lastSeenAt > first.lastSeenAt);
  await troupe.clients.remove({ params: { clientId: first.id } });
  await until('it is there again', async () => {
    const now = await find();
    return now && now.id !== first.id;
  });
  end.abort();
  await expect(kept).rejects.toThrow();
});

it('calls of sub-agents that work for the session, also in the background, each once', async () => {
  const body = { name: 'chief', capabilities: [{ id: 'delegation' }] };
  const { id } = await troupe.agents.create({ body });
  const session = await troupe.open(id);
  const handled: string[] = [];
  const locate: ToolHandler = (args) => {
    handled.push(String((args as { n: number }).n));
    return 'here';
  };
  const instruction = (n: number) => JSON.stringify([[call('locate', `sub-${n}`, { n })]]);
  const give = (n: number, background: boolean) =>
    call('create_agent', `give-${n}`, { type: 'first', instruction: instruction(n), background });
  // One waits before anybody serves it.
  await session.sendAndWait(JSON.stringify([[give(1, true)]]));
  await waits(session, 'sub-1');
  const stop = serve(session, { locate });
  const turn = await session.sendAndWait(JSON.stringify([[give(2, false), give(3, true)]]));
  expect(turn.text).toContain('here');
  await until('all have ended', async () => {
    const { data } = await session.tasks();
    return data.length === 3 && data.every(({ status }) => status === 'success');
  });
  await stop();
  expect(handled.sort()).toEqual(['1', '2', '3']);
});
