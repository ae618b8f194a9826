import type { Connected, Problem, Typing } from '@troupe/protocol';
import { Kernel, newId, silentLogger } from '@troupe/server';
import { Stream } from '@troupe/server/parts';
import { stopwatch, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connect, StreamFixture } from './fixture.ts';

// What whoever reads a space hears: events with the space in them, who is at work, what waits, who is typing.

let fixture: StreamFixture;
const people: Record<string, string> = {};

beforeAll(async () => {
  fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  for (const name of ['ada', 'bob']) {
    people[name] = newId();
    await fixture.db.pool.query(
      `insert into troupe.entities (id, project_id, type, external_id, display_name) values ($1, $2, 'human', $3, $4)`,
      [people[name], fixture.project, name, name === 'ada' ? 'Ada' : null],
    );
  }
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** As whoever asks now: a key, or the person of `fixture.entity`. */
async function done(method: string, path: string, body?: object) {
  const response = await fetch(fixture.url + path, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(300);
  return text === '' ? null : JSON.parse(text);
}

async function open(...more: object[]) {
  const members = [{ entityId: people.ada }, { entityId: people.bob }, ...more];
  const { id } = await done('POST', '/v1/spaces', { members });
  return { id: id as string, path: `/v1/spaces/${id}` };
}

async function as(entity: string | null, act: () => unknown): Promise<void> {
  fixture.entity = entity;
  await act();
  fixture.entity = null;
}

const typed = (client: { frames: { event: string; id: number | null; data: unknown }[] }) =>
  client.frames.filter(({ event }) => event === 'space.typing').map(({ data }) => data as Typing);

test('events come live, resume by their number, and name the space', async () => {
  const space = await open();
  const client = fixture.connect(space);
  await client.sees('space.member.joined', 2);
  expect(client.connected).toEqual({ lastSequence: 2, runs: [], calls: [], activeAgents: [] });
  await done('PATCH', space.path, { name: 'named' });
  await client.sees('space.updated');
  expect(client.events.at(-1)).toMatchObject({ spaceId: space.id, threadId: space.id, sequence: 3 });
  expect(client.events.at(-1)).not.toHaveProperty('sessionId');
  const late = fixture.connect(space, { lastEventId: 2, query: '?types=space.updated' });
  await late.sees('space.updated');
  expect(late.ids).toEqual([3]);
});

test('who is at work and what waits for somebody is told to whoever comes', async () => {
  const { agent, entity } = fixture.ids;
  const { pool } = fixture.db;
  const space = await open({ agentId: agent });
  const snapshot = await fixture.snapshot({
    tools: [
      {
        name: 'choose',
        provider: 'client',
        waitsFor: 'client',
        shown: { when: 'always', input: true, output: true },
      },
      { name: 'quiet', provider: 'client', waitsFor: 'client' },
    ],
  });
  const say = async () => {
    const item = {
      project: fixture.project,
      space: space.id,
      message: { id: newId(), role: 'user', content: { text: 'go' }, sender: people.ada, metadata: {} },
      mentions: [],
      starts: true,
      agents: [{ entity, agent, snapshot, wallMs: 60_000 }],
    };
    const { rows } = await pool.query('select troupe.post_to_space($1::jsonb) as answer', [
      JSON.stringify(item),
    ]);
    return rows[0].answer.runs[0].id as string;
  };
  const [working, queued, over] = [await say(), await say(), await say()];
  await pool.query(`update troupe.runs set started_at = now(), open_calls = 3 where id = $1`, [working]);
  await pool.query(
    `insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, waits_for, epoch, deadline)
      values ($1, 'a', 1, 0, 'choose', '{"of": [1, 2]}', 'once', 'requested', 'client', 1, '2100-01-01'),
        ($1, 'b', 1, 1, 'quiet', '{"secret": 1}', 'once', 'requested', 'client', 1, null),
        ($1, 'c', 1, 2, 'send_message', '{}', 'once', 'requested', 'reply', 1, null)`,
    [working],
  );
  await fixture.kernel.cancel(over);
  const client = fixture.connect(space);
  await until('connected', () => client.frames.length > 0);
  expect(client.connected).toEqual({
    lastSequence: expect.any(Number),
    runs: [
      { id: working, status: 'queued' },
      { id: queued, status: 'queued' },
    ],
    activeAgents: [{ runId: working, entityId: entity, agentName: null }],
    calls: [
      {
        id: 'a',
        runId: working,
        tool: 'choose',
        waitsFor: 'client',
        deadline: '2100-01-01T00:00:00.000Z',
        arguments: { of: [1, 2] },
      },
      { id: 'b', runId: working, tool: 'quiet', waitsFor: 'client', deadline: null },
    ],
  } satisfies Connected);
});

test('typing reaches everybody who reads, also from another process, without a number', async () => {
  const [space, other] = [await open(), await open()];
  const clients = [fixture.connect(space), fixture.connect(space, { query: '?types=space.typing' })];
  const elsewhere = fixture.connect(other);
  const deaf = fixture.connect(space, { query: '?types=run.*' });
  await until('all read', () => [...clients, elsewhere, deaf].every(({ frames }) => frames.length > 0));

  await as(people.ada!, () => done('POST', `${space.path}/typing`, {}));
  const ada = { entityId: people.ada, name: 'Ada', typing: true };
  for (const client of clients)
    await until('Ada types', () => typed(client).some(({ entityId }) => entityId === people.ada));
  expect(clients.map(typed)).toEqual([[ada], [ada]]);

  const db = connect(fixture.databaseUrl);
  const kernel = new Kernel({ db, logger: silentLogger });
  await kernel.listen();
  const stream = new Stream({ db, logger: silentLogger, line: kernel });
  try {
    // It hears within a second that somebody reads the space; so it is said until somebody heard.
    await until('Bob types', () => {
      stream.pass(space.id, { entityId: people.bob!, name: 'bob', typing: false });
      return clients.every((client) => typed(client).some(({ entityId }) => entityId === people.bob));
    });
  } finally {
    await stream.close();
    await kernel.close();
    await db.close();
  }
  expect(typed(clients[0]!).at(-1)).toEqual({ entityId: people.bob, name: 'bob', typing: false });
  expect(clients[0]!.frames.filter(({ event }) => event === 'space.typing').map(({ id }) => id)).toEqual(
    typed(clients[0]!).map(() => null),
  );
  expect([typed(elsewhere), typed(deaf)]).toEqual([[], []]);
});

test('who is removed reads no further; the others do', async () => {
  const space = await open();
  const reads = async (person: string) => {
    fixture.entity = people[person]!;
    const client = fixture.connect(space);
    await client.sees('space.member.joined', 2);
    fixture.entity = null;
    return client;
  };
  const ada = await reads('ada');
  // Rights are looked at every five seconds anyway: twice at once cannot be by that.
  for (let time = 1; time <= 2; time++) {
    const bob = await reads('bob');
    await done('DELETE', `${space.path}/members/${people.bob}`);
    const elapsed = stopwatch();
    await until('Bob is gone', () => bob.ended !== null);
    expect(elapsed()).toBeLessThan(2_000);
    expect([bob.ended, bob.frames.at(-1)!.event]).toEqual(['by the server', 'disconnecting']);
    if (time === 1) await done('POST', `${space.path}/members`, { entityId: people.bob });
  }
  await done('PATCH', space.path, { name: 'without Bob' });
  await ada.sees('space.updated');
  expect(ada.ended).toBe(null);
  await as(people.bob!, async () => {
    const response = await fetch(`${fixture.url}${space.path}/events`);
    expect([response.status, ((await response.json()) as Problem).code]).toEqual([404, 'not_found']);
  });
});

test('a space that is deleted ends its streams', async () => {
  const space = await open();
  const client = fixture.connect(space);
  await client.sees('space.member.joined', 2);
  await done('DELETE', space.path);
  await until('the stream has ended', () => client.ended !== null);
  expect(client.ended).toBe('by the server');
});
