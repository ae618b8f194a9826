import type { Trigger, TriggerTest } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TriggerFixture } from './fixture.ts';

// Rules that name users by the ids of the app, and rules that match nothing.

let fixture: TriggerFixture;
beforeAll(async () => {
  fixture = await TriggerFixture.open();
});
afterAll(() => fixture.close());

const CHAT = 'orch-chats/*/messages';
const said = (name: string, collection: string) =>
  fixture.rule(name, { collection, condition: `event.document.role == 'user'` });
const messagesOf = async (collection: string, more: object = {}) =>
  fixture.done<TriggerTest>('POST', '/v1/triggers/test', {
    trigger: {
      name: 'x',
      collection,
      events: ['create'],
      action: { type: 'webhook', url: '/webhook/orchestrator' },
      ...more,
    },
  });

test.each(['ursula2', 'Ursula.O+x@example.com', 'org/7|ü', newId().toUpperCase()])(
  'a rule over the external id %s fires for that user only',
  async (externalId) => {
    const [user, other] = [
      await fixture.sync.person(externalId),
      await fixture.sync.person(`${externalId}x`),
    ];
    const name = `of-${newId().slice(-12)}`;
    const path = `users/${externalId.replace('/', '%2F')}/${CHAT}`;
    expect((await said(name, path)).findings).toEqual([]);
    const session = await fixture.sync.session(user);
    await fixture.sync.say(other, await fixture.sync.session(other), 'not mine');
    const { id } = await fixture.sync.say(user, session, 'mine');
    const delivered = await fixture.ended(name, 'delivered');
    expect(delivered).toMatchObject({ documentId: id, userId: user.id });
    expect(delivered.path).toBe(`users/${user.id}/orch-chats/${session}/messages/${id}`);
    expect(await fixture.deliveries(name)).toHaveLength(1);
    // The entity id means the same user.
    const tests = await Promise.all([path, `users/${user.id}/${CHAT}`].map((one) => messagesOf(one)));
    for (const { findings, results } of tests) {
      expect(findings).toEqual([]);
      expect(results.filter(({ matches }) => matches).map(({ path: at }) => at.split('/')[1])).toContain(
        user.id,
      );
      expect(
        new Set(results.filter(({ matches }) => matches).map(({ path: at }) => at.split('/')[1])).size,
      ).toBe(1);
    }
  },
);

test('a rule over an unknown user is reported when it is saved, read and tested, until the user exists', async () => {
  const name = 'of-nobody';
  const finding = {
    path: 'collection',
    message: 'matches nothing: no user of the project has this id or external id: "vera"',
  };
  const path = `users/vera/${CHAT}`;
  expect((await said(name, path)).findings).toEqual([finding]);
  const read = () => fixture.done<Trigger>('GET', `/v1/triggers/${name}`);
  expect((await read()).findings).toEqual([finding]);
  const list = await fixture.done<{ data: Trigger[] }>('GET', '/v1/triggers');
  expect(list.data.find((one) => one.name === name)!.findings).toEqual([finding]);
  expect((await messagesOf(path)).findings).toEqual([finding]);
  const { data } = await fixture.done<{ data: object[] }>('POST', '/v1/triggers/apply', {
    triggers: [{ triggerId: 'applied', collection: path, events: ['create'], url: '/webhook/orchestrator' }],
  });
  expect(data).toMatchObject([{ name: 'applied', outcome: 'created', findings: [finding] }]);
  const vera = await fixture.sync.person('vera');
  expect((await read()).findings).toEqual([]);
  const session = await fixture.sync.session(vera);
  await fixture.sync.say(vera, session, 'here I am');
  await fixture.ended(name, 'delivered');
});

test('ids of a path that do not exist, or not together, are reported', async () => {
  const [ann, bea] = [await fixture.sync.person('ann'), await fixture.sync.person('bea')];
  const session = await fixture.sync.session(ann);
  const space = await fixture.sync.space(ann);
  const found = async (collection: string) =>
    (await messagesOf(collection)).findings.map(({ message }) => message.split(': ')[1]);
  expect(await found(`users/ann/orch-chats/${session}/messages`)).toEqual([]);
  expect(await found(`users/${bea.id}/orch-chats/${space}/messages`)).toEqual([]);
  expect(await found(`spaces/${space}/memberships`)).toEqual([]);
  expect(await found(`users/-/orch-chats/*/tasks`)).toEqual([]);
  expect(await found(`users/bea/orch-chats/${session}/messages`)).toEqual([
    'the session belongs to another user',
  ]);
  expect(await found(`users/*/orch-chats/${newId()}/messages`)).toEqual([
    'no session, space or run of the project has this id',
  ]);
  expect(await found(`users/*/orch-chats/*/sub-agents/${newId()}/messages`)).toEqual([
    'no sub-agent of the project has this id',
  ]);
  expect(await found(`spaces/${session}/memberships`)).toEqual(['no space of the project has this id']);
});

test('a condition that no document fulfils is reported', async () => {
  const tasks = 'users/*/orch-chats/*/tasks';
  const found = async (condition: string, more: object = {}) =>
    (await messagesOf(tasks, { condition, events: ['update'], ...more })).findings.map(
      ({ message }) => message,
    );
  const never = (field: string, value: string) => `never holds: ${field} is never "${value}", only`;
  const done = `event.document.status == 'done'`;
  for (const condition of [done, `event.document.data.name != '' && 'done' == event.document.status`])
    expect((await found(condition))[0]).toContain(never('event.document.status', 'done'));
  expect(await found(`event.document.status in ['done', 'finished']`)).toHaveLength(1);
  expect(await found(`event.document.status in ['done', 'success']`)).toEqual([]);
  expect(await found(`${done} || event.document.status == 'success'`)).toEqual([]);
  expect(await found(`${done} || event.document.type == 'x'`)).toHaveLength(1);
  expect(await found(`!(${done})`)).toEqual([]);
  expect((await found(`event.type == 'create'`))[0]).toContain(never('event.type', 'create'));
  expect(await found(`event.type == 'update'`)).toEqual([]);
  const success = `event.document.data.status == 'success'`;
  expect(await found(success)).toEqual([]);
  expect(await found(success, { events: ['create'] })).toHaveLength(1);
  expect(await found('false')).toEqual(['never holds: it is false']);
});

test('a rule can still be changed while it matches nothing', async () => {
  await said('changing', `users/nobody-yet/${CHAT}`);
  const changed = await fixture.done<Trigger>('PATCH', '/v1/triggers/changing', {
    collection: `users/*/${CHAT}`,
  });
  expect(changed.findings).toEqual([]);
  await until(
    'it is read',
    async () => (await fixture.done<Trigger>('GET', '/v1/triggers/changing')).version === 2,
  );
});
