import type { Agent, Entity, SpaceMessage } from '@troupe/protocol';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type FollowedSpace, NotFoundError, type SpaceState, Troupe } from '../src/index.ts';
import { openProxy } from './proxy.ts';

// One server, one agent that says what it is told to say, as often as there are lines, when the gate is open.

let server: TestServer;
let troupe: Troupe;
let ann: Entity;
let ada: Agent;
let gate: Promise<void> = Promise.resolve();

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ system, step }) => {
      const lines = (JSON.parse(/^- message: (".*")$/m.exec(system)![1]!) as string).split('\n');
      const text = lines[step - 1];
      if (!text) return { text: '' };
      const call = { name: 'send_message', arguments: { text } };
      if (!text.startsWith('Slowly')) return { gate, calls: [call] };
      const chunks = JSON.stringify({ text }).match(/.{1,12}/g)!;
      return { gate, delayBetweenChunksMs: 40, calls: [{ ...call, chunks }] };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  ann = await troupe.entities.create({ body: { externalId: 'ann', displayName: 'Ann' } });
  ada = await troupe.agents.create({ body: { name: 'Ada' } });
});
afterAll(() => server.close());

async function newSpace() {
  const members = [{ entityId: ann.id }, { agentId: ada.id }];
  const { id } = await troupe.spaces.create({ body: { name: 'Launch', members } });
  return troupe.space(id).as(ann.id);
}

const textsOf = (messages: readonly SpaceMessage[]) => messages.map(({ content }) => content.text);

/** Every state that there was, from here on. */
function statesOf(followed: FollowedSpace): SpaceState[] {
  const states: SpaceState[] = [];
  followed.onChange(() => states.push(followed.state));
  return states;
}

/** A fetch whose streams a test can add frames to, as a server would that knows more. */
function addingFetch() {
  let add: (name: string, data: object) => void = () => {};
  const asking = (async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    const more = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => {
        add = (name, data) =>
          controller.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
      },
    });
    void response.body!.pipeTo(more.writable).catch(() => {});
    return new Response(more.readable, { status: 200, headers: response.headers });
  }) as typeof fetch;
  return { fetch: asking, add: (name: string, data: object) => add(name, data) };
}

it('who is cut off again and again sees all, once and in order, and who is at work in the end', async () => {
  const space = await newSpace();
  await space.sendAndWait('Before');
  let cuts = 0;
  const proxy = await openProxy(server.url, ({ headers }, way) =>
    headers.accept === 'text/event-stream' ? way.cutAfter(2 + (cuts++ % 5)) : way.pass(),
  );
  const followed = new Troupe({ baseUrl: proxy.url }).space(space.id).follow();
  const states = statesOf(followed);
  await followed.ready;
  const bob = await space.addMember({ user: 'bob' });
  for (const text of ['One\nTwo', 'Three', 'Four\nFive\nSix']) await space.sendAndWait(text);
  await space.as(bob.entityId).read((await space.messages()).data.at(-1)!.id);
  const { data } = await space.messages({ limit: 1000 });
  const isRead = ({ members }: SpaceState) =>
    members.find(({ name }) => name === 'bob')?.lastSeenMessageId === data.at(-1)!.id;
  await until('all is there', () => isRead(followed.state) && followed.state.activeAgents.length === 0);
  expect(followed.state.messages).toEqual(data);
  expect(data).toHaveLength(11);
  expect(cuts).toBeGreaterThan(5);
  expect(states.some(({ status }) => status === 'reconnecting')).toBe(true);
  // At every moment what was known was a part without a gap.
  for (const { messages } of states)
    expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_, at) => at + 1));
  expect(followed.state.members.map(({ name }) => name)).toEqual(['Ann', 'Ada', 'bob']);
  // Who says something has read up to there.
  const said = data.findLast(({ senderId }) => senderId === ann.id)!;
  expect(followed.state.members[0]!.lastSeenMessageId).toBe(said.id);
  followed.close();
  await until('nobody holds a connection', () => proxy.open.size === 0);
  await proxy.close();
});

it('begins with the last ones, and goes back page by page', async () => {
  const space = await newSpace();
  for (let n = 1; n <= 8; n++) await space.post({ content: { text: `${n}` }, startsRuns: false });
  const followed = space.follow({ pageSize: 3 });
  await followed.ready;
  expect([textsOf(followed.state.messages), followed.state.hasMore]).toEqual([['6', '7', '8'], true]);
  // Two at once are one, and what is said meanwhile stays behind.
  await Promise.all([
    followed.loadMore(),
    followed.loadMore(),
    space.post({ content: { text: '9' }, startsRuns: false }),
  ]);
  await followed.loadMore();
  await followed.loadMore();
  await until('all are there', () => followed.state.messages.length === 9);
  expect(textsOf(followed.state.messages)).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9']);
  expect(followed.state.hasMore).toBe(false);
  followed.close();
});

it('goes back as far as to one message', async () => {
  const space = await newSpace();
  const ids: string[] = [];
  for (let n = 1; n <= 9; n++)
    ids.push((await space.post({ content: { text: `${n}` }, startsRuns: false })).id);
  const followed = space.follow({ pageSize: 2 });
  await followed.ready;
  await followed.loadUpTo(ids[8]!);
  expect(textsOf(followed.state.messages)).toEqual(['8', '9']);
  // With a page before it; one that goes on at the same time is not in the way.
  await Promise.all([followed.loadMore(), followed.loadUpTo(ids[3]!)]);
  expect(textsOf(followed.state.messages)).toEqual(['2', '3', '4', '5', '6', '7', '8', '9']);
  await expect(followed.loadUpTo(followed.state.messages[0]!.spaceId)).rejects.toThrow(NotFoundError);
  followed.close();
});

it('an agent is at work while one of its runs is', async () => {
  const space = await newSpace();
  let open = () => {};
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const followed = space.follow();
  await followed.ready;
  const states = statesOf(followed);
  const [one, two] = await Promise.all([space.post('One'), space.post('Two')]);
  const ids = [one, two].map(({ runs }) => runs[0]!.id).sort();
  const isAtWork = ({ state }: FollowedSpace) => state.activeAgents[0]?.runIds.length === 2;
  await until('both are at work', () => isAtWork(followed));
  // Who comes later is told.
  const late = space.follow();
  await late.ready;
  expect(isAtWork(late)).toBe(true);
  expect([...late.state.activeAgents[0]!.runIds].sort()).toEqual(ids);
  open();
  await until('it is done', () => [followed, late].every(({ state }) => state.activeAgents.length === 0));
  // Counted down run by run, never below, and the text was there before its agent was done.
  const counts = states.map(({ activeAgents }) => activeAgents[0]?.runIds.length ?? 0);
  expect(counts.filter((count, at) => count !== counts[at - 1]).join()).toBe('0,1,2,1,0');
  const end = states.find(
    ({ activeAgents }, at) => at > 0 && activeAgents.length === 0 && counts[at - 1] === 1,
  )!;
  expect(end.messages).toHaveLength(4);
  for (const each of [followed, late]) each.close();
});

it('live text grows, is replaced by its message in one change, and never comes back', async () => {
  const space = await newSpace();
  let open = () => {};
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const adding = addingFetch();
  const followed = new Troupe({ baseUrl: server.url, fetch: adding.fetch }).space(space.id).follow();
  await followed.ready;
  const states = statesOf(followed);
  const { runs } = await space.post('Hello there.');
  const runId = runs[0]!.id;
  await until('it is at work', () => followed.state.activeAgents.length === 1);
  const callId = 'stray';
  const delta = (streamId: string, offset: number, text: string) =>
    adding.add('message.delta', {
      type: 'message.delta',
      ...{ runId, step: 1, callId, streamId, entityId: ada.entityId, offset, text },
    });
  const [stray, missed] = [crypto.randomUUID(), crypto.randomUUID()];
  delta(stray, 0, 'Hel');
  delta(stray, 3, 'lo');
  delta(missed, 4, 'what was before is not known');
  delta(stray, 4, 'p!');
  const live = { id: stray, runId, entityId: ada.entityId, text: 'Hellp!' };
  await until('it is written', () => followed.state.live[0]?.text === 'Hellp!');
  expect(followed.state.live).toEqual([live]);
  delta(stray, 0, 'Another try');
  await until('it is written anew', () => followed.state.live[0]?.text === 'Another try');
  open();
  await until('the run has ended', () => followed.state.activeAgents.length === 0);
  // It never became a message: with its run it is gone.
  expect(followed.state.live).toEqual([]);
  const { id, runId: speaker } = followed.state.messages.at(-1)!;
  expect(speaker).toBe(runId);
  delta(id, 0, 'Hello');
  delta(stray, 0, 'Late');
  await space.typing();
  await until('what came before was heard', () => followed.state.typing.length === 1);
  expect(followed.state.live).toEqual([]);
  expect(
    states.every((state) => new Set(state.messages.map((one) => one.id)).size === state.messages.length),
  ).toBe(true);
  followed.close();
});

it('what an agent writes is live before it is said, and then a message, at no moment both or neither', async () => {
  const space = await newSpace();
  gate = Promise.resolve();
  const followed = space.follow();
  await followed.ready;
  const states = statesOf(followed);
  const text = `Slowly: ${'word after word, '.repeat(6)}done.`;
  const { messages } = await space.sendAndWait(text);
  await until(
    'it is done',
    () => followed.state.messages.length === 2 && followed.state.activeAgents.length === 0,
  );
  const { id } = messages[0]!;
  const written = states.flatMap(({ live }) => live.filter((one) => one.id === id).map((one) => one.text));
  expect(new Set(written).size).toBeGreaterThan(2);
  for (const part of written) expect(text.startsWith(part)).toBe(true);
  const isThere = (state: SpaceState) =>
    [...state.messages, ...state.live].filter((one) => one.id === id).length;
  const since = states.findIndex((state) => isThere(state) > 0);
  expect(new Set(states.slice(since).map(isThere))).toEqual(new Set([1]));
  expect(followed.state.live).toEqual([]);
  followed.close();
});

it('a message takes the place of its live text', async () => {
  const space = await newSpace();
  let open = () => {};
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const adding = addingFetch();
  const followed = new Troupe({ baseUrl: server.url, fetch: adding.fetch }).space(space.id).follow();
  await followed.ready;
  const states = statesOf(followed);
  const { runs } = await space.post('Good evening.');
  const runId = runs[0]!.id;
  await until('it is at work', () => followed.state.activeAgents.length === 1);
  // Nobody but the server knows the id before: this one takes the place of what is written under the id of a post.
  const streamId = crypto.randomUUID();
  const data = { type: 'message.delta', runId, step: 1, streamId, entityId: ann.id, offset: 0, text: 'Good' };
  adding.add('message.delta', data);
  await until('it is written', () => followed.state.live.length === 1);
  await space.post({ id: streamId, content: { text: 'Good evening.' }, startsRuns: false });
  await until('it is said', () => followed.state.messages.length === 2);
  const isThere = ({ messages, live }: SpaceState) =>
    Number(messages.some(({ id }) => id === streamId)) + Number(live.some(({ id }) => id === streamId));
  expect(states.slice(states.findIndex((state) => isThere(state) > 0)).map(isThere)).not.toContain(0);
  expect(states.map(isThere)).not.toContain(2);
  open();
  followed.close();
});

it('a call of a visible tool is a message that changes; while it waits, it is pending', async () => {
  const space = await newSpace();
  const followed = space.follow();
  await followed.ready;
  const { runs } = await space.sendAndWait('\nNothing.');
  const run = runs[0]!.id;
  // As the commit of a worker writes it: the message, new or changed, and the event.
  const shows = (type: string, tool: object, more: object = {}) =>
    server.db.pool.query(
      `with t as (update troupe.threads set last_message_seq = 2, last_event_seq = last_event_seq + 1 where id = $1 returning last_event_seq),
        m as (insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id)
          values ($1, 2, $2, 'tool_call', $3, 'c', $4, $5) on conflict (thread_id, seq) do update set content = excluded.content)
        insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
          select $1, last_event_seq, 1, $5, json_build_array(json_build_array($6::text, $7::json, 1)) from t`,
      [
        ...[space.id, '11111111-2222-4333-8444-555555555555', { text: 'pick', tool }, ada.entityId, run],
        ...[type, { id: 'c', tool: 'pick', ...more }],
      ],
    );
  const call = { callId: 'c', name: 'pick', arguments: { n: 1 } };
  const waiting = { ...call, status: 'requires_action' };
  await shows('tool.waiting', waiting, { waitsFor: 'client', deadlineMs: 60_000 });
  await until('it waits', () => followed.state.pendingCalls.length === 1);
  expect(followed.state.messages.at(-1)).toMatchObject({
    role: 'tool_call',
    senderName: 'Ada',
    tool: waiting,
  });
  const pending = { id: 'c', runId: run, tool: 'pick', waitsFor: 'client', arguments: { n: 1 } };
  expect(followed.state.pendingCalls).toEqual([{ ...pending, deadline: expect.any(String) }]);
  const complete = { ...call, status: 'complete', result: 7 };
  await shows('tool.completed', complete);
  await until('it is answered', () => followed.state.pendingCalls.length === 0);
  expect(followed.state.messages.map(({ tool }) => tool)).toEqual([null, complete]);
  followed.close();
});

it('typing is forgotten after a while, when it is said so, and when the words come', async () => {
  const space = await newSpace();
  const followed = space.follow({ typingMs: 100 });
  await followed.ready;
  const isTyping = () => followed.state.typing.length === 1;
  await space.typing();
  await until('she types', isTyping);
  expect(followed.state.typing).toEqual([{ entityId: ann.id, name: 'Ann' }]);
  await until('it is forgotten', () => !isTyping());
  followed.close();
  const patient = space.follow({ typingMs: 60_000 });
  await patient.ready;
  await space.typing();
  await until('she types', () => patient.state.typing.length === 1);
  await space.typing(false);
  await until('she has stopped', () => patient.state.typing.length === 0);
  await space.typing();
  await until('she types', () => patient.state.typing.length === 1);
  await space.post({ content: { text: 'There.' }, startsRuns: false });
  await until('it is said', () => patient.state.messages.length === 1);
  expect(patient.state.typing).toEqual([]);
  patient.close();
});

it('ends by closing, by the signal, and with what cannot be mended', async () => {
  const space = await newSpace();
  const closed = space.follow();
  await closed.ready;
  closed.close();
  await until('it has ended', () => closed.state.status === 'ended');
  expect(closed.state.error).toBeNull();
  const abort = new AbortController();
  const aborted = space.follow({ signal: abort.signal });
  abort.abort();
  await expect(aborted.ready).rejects.toThrow();
  const gone = space.follow();
  const changes = statesOf(gone);
  await gone.ready;
  await space.delete();
  await until('it is gone', () => gone.state.status === 'ended');
  expect(gone.state.error).toMatchObject({ code: 'not_found' });
  expect(changes.at(-1)).toBe(gone.state);
  const never = troupe.space(space.id).follow();
  await expect(never.ready).rejects.toMatchObject({ code: 'not_found' });
});
