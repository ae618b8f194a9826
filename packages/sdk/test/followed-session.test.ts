import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { NotFoundError, type SessionState, Troupe } from '../src/index.ts';
import { openProxy } from './proxy.ts';

// One server and one agent, which calls a tool of the client where it is asked to, and writes slowly where it is told to.

let server: TestServer;
let troupe: Troupe;
let agentId: string;
let attempts = 0;
let gate: Promise<void>;
const SLOW = 'Slowly, and in many pieces, so that somebody can look.';

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role === 'tool') return { text: `Got ${JSON.stringify(last.output)}` };
      const { text } = last;
      if (text === 'Pick.')
        return { text: 'Let me see.', calls: [{ id: 'a', name: 'pick', arguments: { at: 1 } }] };
      if (text === 'Stop and go.')
        return attempts++ === 0
          ? { error: { code: 'tired', message: 'Too tired.', retryable: false } }
          : { gate, chunks: [...SLOW], delayBetweenChunksMs: 5 };
      if (text === SLOW) return { chunks: text.match(/.{1,5}/g)!, delayBetweenChunksMs: 25 };
      return { text: `Heard ${text}` };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  const body = { name: 'pick', kind: 'client', inputSchema: { type: 'object' } } as const;
  await troupe.tools.create({ body });
  agentId = (await troupe.agents.create({ body: { name: 'Ada', tools: ['pick'] } })).id;
});
afterAll(() => server.close());

it('who is cut off again and again sees all, once and in order, and what is going on in the end', async () => {
  const session = await troupe.open(agentId);
  await session.sendAndWait('Before');
  let cuts = 0;
  const proxy = await openProxy(server.url, ({ headers }, way) =>
    headers.accept === 'text/event-stream' ? way.cutAfter(2 + (cuts++ % 5)) : way.pass(),
  );
  const followed = new Troupe({ baseUrl: proxy.url }).session(agentId, session.id).follow({ pageSize: 1 });
  const states: SessionState[] = [];
  followed.onChange(() => states.push(followed.state));
  await followed.ready;
  expect(followed.state).toMatchObject({ hasMore: true, messages: [{ sequence: 2 }] });
  await followed.loadMore();
  for (const text of ['One', SLOW, 'Two']) await session.sendAndWait(text);
  const { data } = await session.messages();
  await until('all is there', () => followed.state.messages.length === 8 && followed.state.runs.length === 0);
  expect(followed.state).toMatchObject({ messages: data, hasMore: false, live: [] });
  await until('the session is read', () => followed.state.session?.status === 'pending');
  expect(cuts).toBeGreaterThan(2);
  for (const { messages, live } of states) {
    const first = messages[0]?.sequence ?? 1;
    expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_, at) => first + at));
    for (const { text } of live) expect(SLOW.startsWith(text) || /^Heard/.test(text)).toBe(true);
  }
  followed.close();
  await proxy.close();
});

it('a call waits, runs and is settled; the text beside it is replaced together with it', async () => {
  const session = await troupe.open(agentId);
  const followed = session.follow();
  await followed.ready;
  const states: SessionState[] = [];
  followed.onChange(() => states.push(followed.state));
  const { run } = await session.send('Pick.');
  await until('it waits', () => followed.state.calls[0]?.state === 'pending');
  // Whoever comes later sees the same.
  const late = session.follow();
  await late.ready;
  expect(late.state.calls).toEqual(followed.state.calls);
  expect(late.state).toMatchObject({
    runs: [{ id: run!.id, status: 'waiting_tool' }],
    session: { status: 'waiting' },
    calls: [{ id: 'a', tool: 'pick', arguments: { at: 1 }, waitsFor: 'client', result: null }],
  });
  const ofRun = troupe.run(run!.id).follow();
  await ofRun.ready;
  expect(ofRun.state.run).toMatchObject({
    status: 'waiting_tool',
    calls: [{ id: 'a', status: 'requested' }],
  });
  await troupe.inbox.results({ params: { runId: run!.id }, body: { callId: 'a', result: 7 } });
  for (const one of [late, followed])
    await until(
      'it is settled',
      () => one.state.session?.status === 'pending' && one.state.messages.length === 5,
    );
  expect(late.state.calls).toMatchObject([{ state: 'settled', waitsFor: null, result: 7, error: null }]);
  await until('the run has ended', () => ofRun.state.run?.status === 'completed');
  expect(ofRun.state.run!.steps).toHaveLength(2);
  for (const { messages, live } of states)
    if (messages.length === 3) expect(live.map(({ step }) => step)).not.toContain(1);
  for (const one of [late, followed, ofRun]) one.close();
});

it('a run that is taken up again is seen writing, also by who was away', async () => {
  const session = await troupe.open(agentId);
  let isAway = false;
  let open = () => {};
  attempts = 0;
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const proxy = await openProxy(server.url, (_, way) => (isAway ? way.answer(503) : way.pass()));
  const followed = new Troupe({ baseUrl: proxy.url }).session(agentId, session.id).follow();
  await followed.ready;
  await session.send('Stop and go.');
  await until('it failed', () => followed.state.session?.error?.code === 'tired');
  expect(followed.state).toMatchObject({ session: { status: 'failed' }, runs: [] });
  isAway = true;
  for (const response of proxy.open) response.destroy();
  await session.retry();
  isAway = false;
  await until('it is back', () => followed.state.status === 'following' && followed.state.runs.length === 1);
  open();
  await until('it is seen writing', () => followed.state.live[0]?.text.startsWith('Slowly'));
  await until('it is done', () => followed.state.session?.status === 'pending');
  expect(followed.state).toMatchObject({ live: [], messages: [{}, { content: { text: SLOW } }] });

  // A piece of what it wrote that comes after all of it, and one of a run that nobody has heard of yet.
  const { runId, step } = followed.state.messages[1]!;
  const late = (piece: object) =>
    `event: message.delta\ndata: ${JSON.stringify({ type: 'message.delta', offset: 0, text: 'Late', ...piece })}\n\n`;
  const other = { runId: crypto.randomUUID(), step: 1 };
  await until('only the stream is open', () => proxy.open.size === 1);
  for (const response of proxy.open) response.write(late({ runId, step }) + late(other));
  await until('they are heard', () => followed.state.live.length > 0);
  expect(followed.state.live).toMatchObject([{ ...other, text: 'Late' }]);
  followed.close();
  await proxy.close();
});

it('tells that lists have changed, and ends where there is nothing to follow', async () => {
  const told: string[] = [];
  const end = troupe.watch(['runs', 'sessions'], (collection) => told.push(collection));
  await until('it is connected', () => told.includes('runs') && told.includes('sessions'));
  told.length = 0;
  const session = await troupe.open(agentId);
  await session.send('Hello');
  await until('both have changed', () => told.includes('runs') && told.includes('sessions'));
  end();
  const followed = troupe.session(agentId, crypto.randomUUID()).follow();
  await expect(followed.ready).rejects.toBeInstanceOf(NotFoundError);
  expect(followed.state).toMatchObject({ status: 'ended', error: expect.any(NotFoundError) });
});
