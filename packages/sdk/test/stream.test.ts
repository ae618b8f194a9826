import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Event } from '@troupe/protocol';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it, vi } from 'vitest';
import { type Session, type StreamItem, type StreamOptions, Troupe } from '../src/index.ts';
import { openProxy } from './proxy.ts';

let server: TestServer;
let session: Session;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: [{ calls: [{ name: 'current_time' }] }, { chunks: ['Grüße, ', '🎭 ', 'and good night.'] }],
  });
  const troupe = new Troupe({ baseUrl: server.url });
  const agent = await troupe.agents.create({ body: { name: 'Ada', capabilities: [{ id: 'current_time' }] } });
  session = await troupe.open(agent.id);
  await session.sendAndWait('Good evening.');
});
afterAll(() => server.close());
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

const through = (url: string, options: { fetch?: typeof fetch } = {}) =>
  new Troupe({ baseUrl: url, ...options }).session(session.agentId, session.id);

async function eventsOf(reading: Session, count: number, options: StreamOptions = {}): Promise<Event[]> {
  const events: Event[] = [];
  for await (const item of reading.stream(options)) {
    if (item.kind === 'event') events.push(item.event);
    if (events.length === count) break;
  }
  return events;
}

/** A server that says what the test writes, to whoever connects for the nth time. */
async function speaking(say: (response: ServerResponse, nth: number) => unknown) {
  const connections: { lastEventId: unknown; response: ServerResponse; at: number }[] = [];
  const speaker = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const lastEventId = request.headers['last-event-id'];
    connections.push({ lastEventId, response, at: performance.now() });
    say(response, connections.length);
  });
  await new Promise<void>((resolve) => speaker.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    speaker.close();
    speaker.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(speaker.address() as AddressInfo).port}`, connections };
}

const RESYNC = 'event: resync\ndata: {}\n\n';
const frame = (sequence: number) => `id: ${sequence}\nevent: x\ndata: ${JSON.stringify({ sequence })}\n\n`;

it('a reader who is cut off after every event sees exactly what one sees who never is', async () => {
  const { data, lastSequence } = await session.events();
  expect(data.length).toBe(lastSequence);
  expect(data.length).toBeGreaterThan(8);
  expect(await eventsOf(session, data.length)).toEqual(data);
  // Two frames: the first says that the connection stands.
  const proxy = await openProxy(server.url, (_, way) => way.cutAfter(2));
  cleanups.push(() => proxy.close());
  expect(await eventsOf(through(proxy.url), data.length)).toEqual(data);
  const from = proxy.seen.map(({ headers }) => Number(headers['last-event-id']));
  expect(from).toEqual(data.map(({ sequence }) => sequence - 1));
  for (let after = 0; after < lastSequence; after++)
    expect(await eventsOf(session, lastSequence - after, { after })).toEqual(data.slice(after));
});

it('takes only the types that are asked for', async () => {
  const { data } = await session.events();
  const runs = data.filter(({ type }) => type.startsWith('run.'));
  expect(await eventsOf(session, runs.length, { types: ['run.*'] })).toEqual(runs);
});

it('brings what is written while it is written, in pieces that add up', async () => {
  const fresh = await new Troupe({ baseUrl: server.url }).open(session.agentId);
  let text = '';
  const turn = await fresh.sendAndWait('Good evening.', {
    onItem: (item: StreamItem) => {
      if (item.kind !== 'delta' || item.delta.type !== 'message.delta') return;
      expect(item.delta.offset).toBe(text.length);
      text += item.delta.text;
    },
  });
  expect(turn.text).toBe('Grüße, 🎭 and good night.');
  expect(turn.text.startsWith(text)).toBe(true);
});

it('a server that says good-bye is left, and asked again when it said to', async () => {
  const { url, connections } = await speaking((response, nth) => {
    if (nth === 1)
      response.write(`${frame(1)}retry: 300\nevent: disconnecting\ndata: {"retryMs":300}\n\n${frame(2)}`);
    else response.write(frame(1) + frame(2));
  });
  expect((await eventsOf(through(url), 2)).map(({ sequence }) => sequence)).toEqual([1, 2]);
  expect(connections.map(({ lastEventId }) => lastEventId)).toEqual(['0', '1']);
  expect(connections[1]!.at - connections[0]!.at).toBeGreaterThanOrEqual(295);
});

it('a connection that falls silent is given up; a slow reader is no silence', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  cleanups.push(() => vi.useRealTimers());
  /** Lets time pass when the client waits for something. */
  const pass = (ms: number) => setImmediate(() => vi.advanceTimersByTime(ms));
  const { url, connections } = await speaking((response, nth) =>
    response.write(nth === 1 ? frame(1) : frame(2)),
  );
  const sequences: number[] = [];
  // The second pass ends the pause before the second connection.
  for await (const item of through(url).stream({ silenceMs: 100, onDisconnect: () => pass(10_000) })) {
    if (item.kind === 'event') sequences.push(item.event.sequence);
    if (sequences.length === 2) break;
    pass(100);
  }
  expect(sequences).toEqual([1, 2]);
  expect(connections).toHaveLength(2);
  const other = await speaking((response) => response.write(frame(1) + frame(2)));
  let seen = 0;
  for await (const item of through(other.url).stream({ silenceMs: 50 })) {
    expect(item.kind).toBe('event');
    vi.advanceTimersByTime(150); // the reader's own time, three times the silence
    if (++seen === 2) break;
  }
  expect(other.connections).toHaveLength(1);
});

it('a server that hangs up at once is asked less and less often, by whoever follows something', async () => {
  const following: [string, (url: string) => Promise<unknown>][] = [
    [frame(1), (url) => eventsOf(through(url), 1)],
    [RESYNC, (url) => new Troupe({ baseUrl: url }).changes({ signal: AbortSignal.timeout(9_000) }).next()],
    [
      RESYNC,
      async (url) => {
        const told = Promise.withResolvers<unknown>();
        const end = new Troupe({ baseUrl: url }).watch(['runs'], told.resolve);
        await told.promise;
        end();
      },
    ],
  ];
  const asked = following.map(async ([first, follow]) => {
    const { url, connections } = await speaking((response, nth) =>
      nth < 4 ? response.end() : response.write(first),
    );
    await follow(url);
    return connections.slice(1).map(({ at }, index) => at - connections[index]!.at >= 100 * 2 ** index - 5);
  });
  expect(await Promise.all(asked)).toEqual(following.map(() => [true, true, true]));
});

it('leaving the loop closes the connection, and so does the signal', async () => {
  const { url, connections } = await speaking((response) => response.write(frame(1)));
  await eventsOf(through(url), 1);
  await until('it is closed', () => connections[0]!.response.closed);
  const abort = new AbortController();
  const reading = (async () => {
    for await (const _ of through(url).stream({ signal: abort.signal })) abort.abort(new Error('enough'));
  })();
  await expect(reading).rejects.toThrow('enough');
  await until('it is closed too', () => connections[1]!.response.closed);
});

it('ends with what trying again cannot mend', async () => {
  const gone = new Troupe({ baseUrl: server.url }).session(
    session.agentId,
    '00000000-0000-4000-8000-000000000000',
  );
  await expect(eventsOf(gone, 1)).rejects.toMatchObject({ code: 'not_found' });
  const proxy = await openProxy(server.url, (_, way) =>
    way.answer(200, { 'content-type': 'text/html' }, '<p>Hello'),
  );
  cleanups.push(() => proxy.close());
  await expect(eventsOf(through(proxy.url), 1)).rejects.toThrow('something else than a stream');
});

it('goes on through a server that is away for a while, and waits as it asks', async () => {
  let nth = 0;
  const proxy = await openProxy(server.url, (_, way) =>
    ++nth === 1 ? way.answer(503, { 'retry-after': '1' }) : way.pass(),
  );
  cleanups.push(() => proxy.close());
  const began = performance.now();
  expect(await eventsOf(through(proxy.url), 3)).toHaveLength(3);
  expect(performance.now() - began).toBeGreaterThanOrEqual(990);
});

it('uses the fetch it is given', async () => {
  const asked: string[] = [];
  const counting = ((url: string, init: RequestInit) => {
    asked.push(new Headers(init.headers).get('accept')!);
    return fetch(url, init);
  }) as typeof fetch;
  await eventsOf(through(server.url, { fetch: counting }), 2);
  expect(asked).toEqual(['text/event-stream']);
});
