import type { Event } from '@troupe/protocol';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Run, type Session, type StreamItem, Troupe } from '../src/index.ts';

let server: TestServer;
let troupe: Troupe;
let session: Session;
let first: string;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ step, messages }) =>
      step === 1 && JSON.stringify(messages.at(-1)).includes('time')
        ? { calls: [{ name: 'current_time' }] }
        : { chunks: ['Well, ', 'it is ', 'late.'] },
  });
  troupe = new Troupe({ baseUrl: server.url });
  const agent = await troupe.agents.create({ body: { name: 'Ada', capabilities: [{ id: 'current_time' }] } });
  session = await troupe.open(agent.id);
  first = (await session.sendAndWait('What time is it?')).posted.run!.id;
  await session.sendAndWait('Thanks.');
});
afterAll(() => server.close());

/** Until the run has ended. */
async function read(run: Run, after = 0): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of run.stream({ after })) {
    items.push(item);
    if (item.kind === 'event' && item.event.type === 'run.completed') break;
  }
  return items;
}

const eventsIn = (items: StreamItem[]): Event[] =>
  items.flatMap((item) => (item.kind === 'event' ? [item.event] : []));

it('a fork is read live as it works, and afterwards from any place', async () => {
  const run = await troupe.run(first).fork({ step: 1 });
  const items = await read(run);
  expect(items[0]!.kind).toBe('connected');
  const events = eventsIn(items);
  expect(events[0]).toMatchObject({ type: 'run.queued', sequence: 1 });
  expect(events.every((event) => event.runId === run.id && !('sessionId' in event))).toBe(true);
  const { data, lastSequence } = await run.events();
  expect(data).toEqual(events);
  for (let after = 0; after < lastSequence; after++) {
    expect(eventsIn(await read(run, after))).toEqual(data.filter(({ sequence }) => sequence > after));
  }
});

it('a run of a session brings what is its own, and nothing of other runs', async () => {
  const run = troupe.run(first);
  const all = (await session.events()).data;
  const own = all.filter(({ runId }) => runId === first);
  expect(own.length).toBeLessThan(all.length);
  expect((await run.events()).data).toEqual(own);
  expect(eventsIn(await read(run))).toEqual(own);
  const [connected] = await read(run);
  expect(connected).toMatchObject({ connected: { runs: [], calls: [] } });
  // The log has more in it, of another run: that is passed over, and the stream stays open behind it.
  const signal = AbortSignal.timeout(300);
  const rest: StreamItem[] = [];
  const after = own.at(-1)!.sequence;
  await expect(
    (async () => {
      for await (const item of run.stream({ after, signal })) rest.push(item);
    })(),
  ).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(rest.map(({ kind }) => kind)).toEqual(['connected']);
});

it('goes on from a fork as a session', async () => {
  const fork = await troupe
    .run(first)
    .fork({ step: 0, edits: [{ sequence: 1, content: { text: 'Good evening.' } }] });
  await read(fork);
  expect((await fork.messages()).data.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect((await fork.get()).forkedFrom).toEqual({ runId: first, step: 0 });
  const continued = await fork.continue();
  const turn = await continued.sendAndWait('And you?');
  expect(turn.text).toBe('Well, it is late.');
  expect((await continued.messages()).data).toHaveLength(4);
});

it('what a fork cannot have is an error with the field', async () => {
  const edits = [{ sequence: 99, content: { text: 'x' } }];
  await expect(troupe.run(first).fork({ step: 1, edits })).rejects.toMatchObject({
    status: 422,
    code: 'edit_not_in_fork',
    issues: [{ path: 'edits.0.sequence' }],
  });
});
