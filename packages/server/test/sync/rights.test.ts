import { collection as collections, syncSchemas } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Following, type Person, SyncFixture } from './fixture.ts';

// Whose copy has what in it: by pull, push and stream, for everybody who tries.

let fixture: SyncFixture;
let ada: Person;
let bob: Person;
beforeAll(async () => {
  fixture = await SyncFixture.open();
  ada = await fixture.person('ada');
  bob = await fixture.person('bob');
});
afterAll(() => fixture.close());

/** Something of Ada's in every collection. */
async function furnish() {
  const session = await fixture.session(ada, 'a private matter');
  const { id: message, run } = await fixture.say(ada, session, 'a private matter');
  const space = await fixture.space(ada);
  const said = await fixture.done<{ id: string }>(ada.headers, 'POST', `/v1/spaces/${space}/messages`, {
    content: { text: 'a private matter' },
  });
  const task = await fixture.task(ada, session);
  await until('the run ends', async () => {
    const { status } = await fixture.done<{ status: string }>(ada.headers, 'GET', `/v1/runs/${run.id}`);
    return status === 'completed';
  });
  return { ...task, session, message, space, said: said.id };
}

test('a person has their own, a key all of the project or what a person has, and nobody anything of others', async () => {
  const mine = await furnish();
  const ids = Object.values(mine);
  for (const name of collections.options) {
    const own = await fixture.pullAll(ada.headers, name, { limit: 3 });
    expect([name, own.documents.length > 0]).toEqual([name, true]);
    for (const { _deleted, ...document } of own.documents) {
      const { properties, required } = syncSchemas()[name];
      expect([name, Object.keys(document).filter((field) => !(field in properties))]).toEqual([name, []]);
      expect([name, required.filter((field) => !(field in document))]).toEqual([name, []]);
      expect(_deleted).toBe(false);
    }
    // Whatever Bob asks for, and wherever he says he is.
    for (const query of [{}, { checkpoint: own.checkpoint }, { chat: mine.session }, { chat: mine.space }]) {
      const page = await fixture.pullAll(bob.headers, name, query);
      expect([name, page.documents]).toEqual([name, []]);
    }
    const named = await fixture.ask(bob.headers, 'GET', `/v1/sync/${name}/pull?user=ada`);
    expect([name, named.status]).toEqual([name, 403]);
    expect([name, (await fixture.pullAll(fixture.theirKey, name)).documents]).toEqual([name, []]);
    // A key: the project's, in which all of Ada's is; or as Ada.
    const all = new Map((await fixture.pullAll(fixture.key, name)).documents.map((one) => [one.id, one]));
    for (const one of own.documents) expect([name, all.has(one.id)]).toEqual([name, true]);
    const asAda = await fixture.pullAll(fixture.key, name, { user: 'ada' });
    expect(asAda.documents).toEqual(own.documents);
    expect((await fixture.pullAll(fixture.key, name, { user: 'bob' })).documents).toEqual([]);
  }
  const unknown = await fixture.ask(fixture.key, 'GET', '/v1/sync/tasks/pull?user=nobody');
  expect([unknown.status, unknown.body.code]).toEqual([422, 'entity_not_found']);
  // Only what is of a chat.
  const { documents } = await fixture.pullAll(ada.headers, 'messages', { chat: mine.space });
  expect(documents.map(({ id }) => id)).toEqual([mine.said]);
  expect(ids).toHaveLength(new Set(ids).size);
});

test('a key has to be allowed to read the collection elsewhere too', async () => {
  const key = await fixture.done<{ key: string }>(fixture.key, 'POST', '/v1/keys', {
    name: 'narrow',
    scopes: ['sessions:read', 'sessions:write'],
  });
  const narrow = { authorization: `Bearer ${key.key}` };
  const status = async (name: string) => (await fixture.ask(narrow, 'GET', `/v1/sync/${name}/pull`)).status;
  expect(
    await Promise.all(['sessions', 'messages', 'runs', 'spaces', 'tasks', 'memberships'].map(status)),
  ).toEqual([200, 200, 403, 403, 403, 403]);
  const rows = [{ newDocumentState: { id: `${newId()}:${newId()}`, _deleted: false } }];
  expect((await fixture.ask(narrow, 'POST', '/v1/sync/memberships/push', { rows })).status).toBe(403);
});

test('the stream of another tells nothing, while mine does; and there is no stream without a stream', async () => {
  const { url } = fixture.server;
  expect((await fixture.ask(ada.headers, 'GET', '/v1/sync/tasks/stream')).status).toBe(400);
  const open = (person: Person) =>
    Promise.all(
      collections.options.map((name) => Following.open(url, person.headers, `/v1/sync/${name}/stream`)),
    );
  const [own, others] = [await open(ada), await open(bob)];
  try {
    await until('all follow', async () => [...own, ...others].every(({ frames }) => frames.length === 1));
    await furnish();
    for (const [at, name] of collections.options.entries())
      await until(`${name} are told`, async () => own[at]!.documents.length > 0);
    for (const other of others) expect(other.frames.map(({ event }) => event)).toEqual(['resync']);
  } finally {
    for (const each of [...own, ...others]) each.close();
  }
});

test('what is not theirs cannot be written by pushing it, under whatever id', async () => {
  const { session, message, space, said } = await furnish();
  const others = await fixture.session(bob);
  const before = await fixture.pullAll(ada.headers, 'messages');
  const sessions = await fixture.pullAll(ada.headers, 'sessions');
  const master = sessions.documents.find(({ id }) => id === session)!;
  const text = { role: 'user', content: 'from Bob', createdAt: 1 };
  const refused = async (
    name: string,
    document: { id: string } & Record<string, unknown>,
    assumed?: object,
  ) => {
    const answer = await fixture.push(bob.headers, name, [document], assumed);
    expect(JSON.stringify(answer)).not.toContain('a private matter');
    expect(answer.conflicts.map(({ id, _deleted }) => [id, _deleted])).toEqual([[document.id, true]]);
    return answer.refused.map(({ code }) => code);
  };
  expect(await refused('messages', { ...text, id: newId(), chatId: session })).toEqual(['chat_not_found']);
  expect(await refused('messages', { ...text, id: newId(), chatId: space })).toEqual(['chat_not_found']);
  // The id of a message of Ada's, in a chat of his own.
  expect(await refused('messages', { ...text, id: message, chatId: others })).toEqual(['message_id_taken']);
  expect(await refused('messages', { ...text, id: said, chatId: others, content: 'a' })).toEqual([
    'message_id_taken',
  ]);
  expect(
    await refused('sessions', { id: session, agentId: fixture.agent, title: 'Bob was here', createdAt: 1 }),
  ).toEqual(['session_id_taken']);
  expect(await refused('sessions', { ...master, title: 'Bob was here', userId: bob.id }, master)).toEqual([]);
  expect(
    await refused('sessions', { id: newId(), agentId: fixture.agent, userId: ada.id, createdAt: 1 }),
  ).toEqual(['forbidden']);
  expect(
    (await fixture.push(bob.headers, 'sessions', [{ ...master, _deleted: true }], master)).refused,
  ).toEqual([]);
  const marker = {
    id: `${space}:${ada.id}`,
    spaceId: space,
    entityId: ada.id,
    role: 'admin',
    ordering: 'parallel',
    lastSeenMessageId: said,
    joinedAt: 1,
  };
  expect(await refused('memberships', marker)).toEqual([]);
  expect((await fixture.pullAll(ada.headers, 'messages')).documents).toEqual(before.documents);
  expect((await fixture.pullAll(ada.headers, 'sessions')).documents).toEqual(sessions.documents);
  // In a space of both, Bob says nothing as Ada and moves no marker of hers.
  const shared = await fixture.space(ada, bob);
  const sent = newId();
  await fixture.push(bob.headers, 'messages', [
    { ...text, id: sent, chatId: shared, senderId: ada.id, userId: ada.id },
  ]);
  const { documents } = await fixture.pullAll(ada.headers, 'messages', { chat: shared });
  expect(documents.map(({ id, senderId }) => [id, senderId])).toEqual([[sent, bob.id]]);
  const answer = await fixture.push(bob.headers, 'memberships', [
    { ...marker, id: `${shared}:${ada.id}`, spaceId: shared, lastSeenMessageId: sent },
  ]);
  expect(answer.conflicts[0]).not.toHaveProperty('lastSeenMessageId');
});

test('what clients do not write is refused as a whole, and what no document is, one by one', async () => {
  for (const name of ['sub_agents', 'sub_agent_messages', 'sub_agent_tool_calls', 'spaces', 'runs']) {
    const rows = [{ newDocumentState: { id: newId(), _deleted: false } }];
    const { status, body } = await fixture.ask(ada.headers, 'POST', `/v1/sync/${name}/push`, { rows });
    expect([name, status, body.code]).toEqual([name, 403, 'collection_read_only']);
  }
  const session = await fixture.session(ada);
  const good = newId();
  const said = { chatId: session, role: 'user', content: 'x', createdAt: 1 };
  const { conflicts, refused } = await fixture.push(ada.headers, 'messages', [
    { ...said, id: 'no id' },
    { ...said, id: newId(), role: 'assistant' },
    { ...said, id: newId(), content: '' },
    { ...said, id: newId(), chatId: 'x' },
    { ...said, id: newId(), parts: [{ type: 'video' }] },
    { ...said, id: 'x'.repeat(5_000) },
    { ...said, id: '' },
    { ...said, id: newId(), chatId: [session] },
    // Said twice in one push, with fields that are not theirs.
    { ...said, id: good, userId: bob.id, senderId: bob.id, sequence: 7, runId: newId() },
    { ...said, id: good },
    { ...said, id: good, content: 'another' },
  ]);
  expect(refused.map(({ code }) => code)).toEqual(Array(8).fill('invalid_document'));
  expect(conflicts.slice(0, 8).map(({ _deleted }) => _deleted)).toEqual(Array(8).fill(true));
  // As it was stored, for the client to take: once for each.
  const stored = { id: good, content: 'x', senderId: ada.id, userId: ada.id, sequence: 1, _deleted: false };
  expect(conflicts.slice(8)).toEqual(Array(3).fill(expect.objectContaining(stored)));
  for (const bad of [{ title: '' }, { tags: 'x' }, { metadata: [] }, { policy: 'x' }, { modelId: newId() }]) {
    const answer = await fixture.push(ada.headers, 'sessions', [
      { id: newId(), agentId: fixture.agent, ...bad },
    ]);
    expect([bad, answer.refused.length, answer.conflicts[0]?._deleted]).toEqual([bad, 1, true]);
  }
  const { documents } = await fixture.pullAll(ada.headers, 'messages', { chat: session });
  expect(documents.filter(({ role }) => role === 'user').map(({ id }) => id)).toEqual([good]);
});

test('users can push tasks for agents into their own chats only, and no tasks for tools', async () => {
  const session = await fixture.session(ada);
  const own = { id: newId(), chatId: session, type: 'agent', name: fixture.agent, instruction: 'x' };
  const stranger = await fixture.push(bob.headers, 'tasks', [own]);
  expect(stranger.refused.map(({ code }) => code)).toEqual(['chat_not_found']);
  const { refused, conflicts } = await fixture.push(ada.headers, 'tasks', [
    { ...own, id: newId(), type: 'tool', name: 'x', instruction: '' },
    { ...own, id: newId(), name: 'nobody' },
    { ...own, id: newId(), instruction: '' },
    { ...own, id: 'no id' },
    { ...own, userId: bob.id },
  ]);
  expect(refused.map(({ code }) => code)).toEqual([
    'forbidden',
    'agent_not_found',
    'invalid_request',
    'invalid_document',
  ]);
  expect(conflicts.at(-1)).toMatchObject({ id: own.id, userId: ada.id, chatId: session, _deleted: false });
  const hidden = await fixture.push(bob.headers, 'tasks', [own]);
  expect(hidden.refused.map(({ code }) => code)).toEqual(['chat_not_found']);
});

test('of two devices that give a session another title at once, one does, and the other takes that', async () => {
  const session = await fixture.session(ada);
  const { documents } = await fixture.pullAll(ada.headers, 'sessions', { chat: session });
  const assumed = documents[0]!;
  const titles = Array.from({ length: 8 }, (_, n) => `title ${n}`);
  const answers = await Promise.all(
    titles.map((title) => fixture.push(ada.headers, 'sessions', [{ ...assumed, title }], assumed)),
  );
  const now = (await fixture.pullAll(ada.headers, 'sessions', { chat: session })).documents[0]!;
  expect(titles).toContain(now.title);
  for (const [at, { conflicts }] of answers.entries())
    expect([titles[at], conflicts]).toEqual([titles[at], titles[at] === now.title ? [] : [now]]);
  // A deletion of what has changed is none.
  const gone = await fixture.push(ada.headers, 'sessions', [{ ...assumed, _deleted: true }], assumed);
  expect(gone.conflicts).toEqual([now]);
  await fixture.push(ada.headers, 'sessions', [{ ...now, _deleted: true }], now);
  expect(
    (await fixture.pullAll(ada.headers, 'sessions', { chat: session })).documents.every(
      ({ _deleted }) => _deleted,
    ),
  ).toBe(true);
  const late = { id: newId(), chatId: session, role: 'user', content: 'x', createdAt: 1 };
  const said = await fixture.push(ada.headers, 'messages', [late]);
  expect(said.refused.map(({ code }) => code)).toEqual(['chat_gone']);
});

test('what changed after somebody left and was deleted then is gone for them too; who left before somebody came is none of theirs', async () => {
  const cy = await fixture.person('cy');
  const space = await fixture.space(ada, bob);
  const copy = (await fixture.pullAll(ada.headers, 'memberships', { chat: space })).checkpoint;
  const before = await fixture.pullAll(cy.headers, 'memberships');
  const bobs = (await fixture.pullAll(bob.headers, 'memberships', { chat: space })).checkpoint;
  await fixture.done(bob.headers, 'DELETE', `/v1/spaces/${space}/members/${ada.id}`);
  // Cy comes when Ada has gone, and never hears of her; who was there hears it.
  await fixture.done(fixture.key, 'POST', `/v1/spaces/${space}/members`, { entityId: cy.id });
  const known = await fixture.pullAll(cy.headers, 'memberships', { chat: space });
  const joined = known.documents.map(({ id }) => id);
  expect(joined.toSorted()).toEqual([`${space}:${bob.id}`, `${space}:${cy.id}`].toSorted());
  const again = await fixture.pullAll(cy.headers, 'memberships', { checkpoint: before.checkpoint });
  expect(again.documents.map(({ id }) => id).toSorted()).toEqual(joined.toSorted());
  expect(JSON.stringify(again.documents)).not.toContain(ada.id);
  const heard = await fixture.pullAll(bob.headers, 'memberships', { chat: space, checkpoint: bobs });
  expect(heard.documents.find(({ id }) => id === `${space}:${ada.id}`)?._deleted).toBe(true);
  // Bob reads on, so that his membership changes, and then all of it is deleted.
  const { id: messageId } = await fixture.done<{ id: string }>(
    bob.headers,
    'POST',
    `/v1/spaces/${space}/messages`,
    { content: { text: 'x' } },
  );
  await fixture.done(bob.headers, 'POST', `/v1/spaces/${space}/read`, { messageId });
  await fixture.done(fixture.key, 'DELETE', `/v1/spaces/${space}`);
  const { documents } = await fixture.pullAll(ada.headers, 'memberships', { chat: space, checkpoint: copy });
  const ids = documents.map(({ id }) => id);
  expect(ids.toSorted()).toEqual([`${space}:${ada.id}`, `${space}:${bob.id}`].toSorted());
  expect(documents.every(({ _deleted }) => _deleted)).toBe(true);
});

test('who leaves a space, or whose session is deleted, is told that it is gone, and of nothing after', async () => {
  const space = await fixture.space(ada, bob);
  await fixture.done(fixture.key, 'POST', `/v1/spaces/${space}/members`, { agentId: fixture.agent });
  const say = (person: Person, text: string) =>
    fixture.done<{ id: string }>(person.headers, 'POST', `/v1/spaces/${space}/messages`, {
      content: { text },
    });
  const first = await say(bob, 'first');
  const shared = ['spaces', 'memberships', 'messages', 'runs'] as const;
  const copy = async (person: Person) =>
    Object.fromEntries(
      await Promise.all(
        shared.map(async (name) => [name, await fixture.pullAll(person.headers, name, { chat: space })]),
      ),
    );
  await until('the agent was started and is done', async () => {
    const { runs } = await copy(ada);
    return runs.documents.length === 1 && runs.documents[0]!.status === 'completed';
  });
  const before = await copy(ada);
  const bobs = await copy(bob);
  expect(before.messages.documents.map(({ id }: { id: string }) => id)).toContain(first.id);
  expect(before.memberships.documents).toHaveLength(3);
  // What a run in a space thinks is the agent's.
  expect(before.runs.documents[0]).not.toHaveProperty('outcome');

  await fixture.done(bob.headers, 'DELETE', `/v1/spaces/${space}/members/${ada.id}`);
  const after = await say(bob, 'after');
  const at = (name: (typeof shared)[number]) => ({ chat: space, checkpoint: before[name].checkpoint });
  for (const name of shared) {
    const { documents } = await fixture.pullAll(ada.headers, name, at(name));
    expect([name, documents.map(({ id }) => id).toSorted()]).toEqual([
      name,
      before[name].documents.map(({ id }: { id: string }) => id).toSorted(),
    ]);
    expect([name, documents.every(({ _deleted }) => _deleted)]).toEqual([name, true]);
    expect(JSON.stringify(documents)).not.toContain('first');
  }
  // Back again: all of it, also what was said meanwhile.
  const gone = await fixture.pullAll(ada.headers, 'messages', { chat: space });
  await fixture.done(bob.headers, 'POST', `/v1/spaces/${space}/members`, { entityId: ada.id });
  const back = await fixture.pullAll(ada.headers, 'messages', { chat: space, checkpoint: gone.checkpoint });
  expect(back.documents.map(({ id }) => id)).toEqual(expect.arrayContaining([first.id, after.id]));
  expect(back.documents.every(({ _deleted }) => !_deleted)).toBe(true);

  // Deleted as a whole: for those who were offline since the beginning too.
  await until('nobody is at work there', async () => {
    const { runs } = await copy(bob);
    return runs.documents.every(({ status }: Record<string, unknown>) => status === 'completed');
  });
  await fixture.done(fixture.key, 'DELETE', `/v1/spaces/${space}`);
  for (const name of shared) {
    const { documents } = await fixture.pullAll(bob.headers, name, {
      chat: space,
      checkpoint: bobs[name].checkpoint,
    });
    const last = new Map(documents.map((one) => [one.id, one._deleted]));
    for (const { id } of bobs[name].documents) expect([name, id, last.get(id)]).toEqual([name, id, true]);
    expect(
      (await fixture.pullAll(bob.headers, name, { chat: space })).documents.every(({ _deleted }) => _deleted),
    ).toBe(true);
  }

  const session = await fixture.session(ada);
  await fixture.say(ada, session, 'hello');
  const own = ['sessions', 'messages', 'runs'] as const;
  const had = await Promise.all(own.map((name) => fixture.pullAll(ada.headers, name, { chat: session })));
  await fixture.done(ada.headers, 'DELETE', `${fixture.sessions}/${session}`);
  for (const [n, name] of own.entries()) {
    const { documents } = await fixture.pullAll(ada.headers, name, {
      chat: session,
      checkpoint: had[n]!.checkpoint,
    });
    const last = new Map(documents.map((one) => [one.id, one._deleted]));
    expect(had[n]!.documents.length).toBeGreaterThan(0);
    for (const { id } of had[n]!.documents) expect([name, last.get(id)]).toEqual([name, true]);
  }
});
