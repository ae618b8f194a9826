import { randomBytes } from 'node:crypto';
import { collection, type Entity, type Problem, type Run, type SpaceMessage } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type TestServer, until } from '@troupe/testing';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, calls, enter, nameIn, say, triggerIn } from '../spaces/scripted-agents.ts';
import type { Page } from '../sync/fixture.ts';

// What people see of agents that work beside them: not what these think, not what of their tools is hidden, and not what was said
// where they were not.

type Headers = Record<string, string>;
let server: TestServer;
let key: Headers;
let ann: Headers;
let bob: Headers;
/** Ann's and the agent's; of all three; the agent that goes from the one to the other; another that is in the second. */
let home: string;
let hall: string;
let ada: { id: string; entityId: string };
let read: Record<string, unknown>[] = [];
const HIDDEN = 'a key of the memory that nobody reads';

async function ask<Body = Problem>(headers: Headers, method: string, path: string, body?: object) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}
async function done<Body>(headers: Headers, method: string, path: string, body?: object): Promise<Body> {
  const answer = await ask<Body>(headers, method, path, body);
  expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}
const ended = (id: string) =>
  until('the run ends', async () => {
    const run = await done<Run>(key, 'GET', `/v1/runs/${id}`);
    return ['completed', 'failed', 'canceled'].includes(run.status) ? run : null;
  });

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    mode: 'closed',
    script: ({ system, step, messages }) => {
      const trigger = triggerIn(system);
      if (nameIn(system) === 'Reader') {
        const last = messages.at(-1)!;
        if (last.role === 'tool') read = (last.output as { messages: typeof read }).messages;
        return trigger === 'Read' && step === 1 ? calls(call('read_messages')) : { text: '' };
      }
      if (trigger !== 'Keep this to yourself') return { text: 'I think that Bob is wrong.' };
      const acts = [calls(call('get_memories', { keys: [HIDDEN] })), enter(hall), say('Good news!')];
      return acts[step - 1] ?? { text: 'They must not know.' };
    },
  });
  const { access, db } = server;
  const project = newId();
  await db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [project, 'ours']);
  const owner = { project, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
  const keyOf = async (kind: 'secret' | 'public') =>
    (await access.keys.create(owner, { name: kind, kind, scopes: [], expiresAt: null })).key;
  key = { authorization: `Bearer ${await keyOf('secret')}` };
  const secret = randomBytes(32).toString('base64');
  await access.secrets.put(owner, 'TOKENS', secret);
  const rules = { issuer: null, jwksUrl: null, secretName: 'TOKENS', claim: 'sub' };
  await access.projects.update(owner, { tokens: { ...rules, algorithms: ['HS256'], audience: 'us' } });
  const publicKey = await keyOf('public');
  const as = async (person: string) => {
    const token = new SignJWT({ sub: person, aud: 'us' }).setProtectedHeader({ alg: 'HS256' });
    const signed = await token.setExpirationTime('1 hour').sign(Buffer.from(secret));
    return { 'troupe-key': publicKey, authorization: `Bearer ${signed}` };
  };
  [ann, bob] = [await as('ann'), await as('bob')];
  for (const person of [ann, bob]) await done<Entity>(person, 'GET', '/v1/me');
  ada = await done(key, 'POST', '/v1/agents', { name: 'Ada' });
  const reader = await done<{ id: string }>(key, 'POST', '/v1/agents', { name: 'Reader' });
  const open = async (...members: object[]) =>
    (await done<{ id: string }>(key, 'POST', '/v1/spaces', { policy: 'humans', members })).id;
  home = await open({ user: 'ann' }, { agentId: ada.id });
  hall = await open({ user: 'ann' }, { user: 'bob' }, { agentId: ada.id }, { agentId: reader.id });
});
afterAll(() => server.close());

async function tell(who: Headers, space: string, text: string) {
  const posted = await done<{ runs: { id: string; entityId: string }[] }>(
    who,
    'POST',
    `/v1/spaces/${space}/messages`,
    { content: { text } },
  );
  for (const { id } of posted.runs) await ended(id);
  return posted.runs;
}

test('who was not there does not learn what began a run, what it called and what it thought', async () => {
  const [run] = await tell(ann, home, 'Keep this to yourself');
  const messages = `/v1/spaces/${hall}/messages`;
  const seenBy = async (who: Headers) =>
    (await done<{ data: SpaceMessage[] }>(who, 'GET', messages)).data.find(
      ({ content }) => content.text === 'Good news!',
    )!;
  const whole = await seenBy(key);
  expect(JSON.stringify(whole.metadata)).toContain(HIDDEN);
  const bobs = await seenBy(bob);
  expect(bobs.metadata).toEqual({
    runContext: { runId: run!.id, trigger: { type: 'space_message' }, isCrossSpace: true },
  });
  expect((await done<SpaceMessage>(bob, 'GET', `${messages}/${bobs.id}`)).metadata).toEqual(bobs.metadata);

  // Where it speaks now, it is seen at work; what began it is not.
  const ofRun = await done<Run & { calls: unknown[] }>(bob, 'GET', `/v1/runs/${run!.id}`);
  expect(ofRun).toMatchObject({ activeSpaceId: hall, trigger: {}, steps: [], calls: [] });
  expect(ofRun.outcome).toEqual({ silent: false, messageIds: [bobs.id] });
  expect(await done<Run>(ann, 'GET', `/v1/runs/${run!.id}`)).toMatchObject({
    trigger: { text: 'Keep this to yourself' },
    outcome: { silent: false },
  });
  for (const path of [
    `/v1/runs/${run!.id}/messages`,
    `/v1/runs/${run!.id}/events`,
    `/v1/spaces/${home}/runs`,
  ])
    expect((await ask(bob, 'GET', path)).status, path).toBe(404);
  const told = await Promise.all(
    [messages, `/v1/spaces/${hall}/events`, `/v1/spaces/${hall}/runs`, `/v1/runs/${run!.id}`].map((path) =>
      ask(bob, 'GET', path),
    ),
  );
  // Nor by keeping a copy.
  // Transactions of other tests on the same cluster delay pulls.
  const { copies, copied } = await until('the message is in the copy', async () => {
    const pages = await Promise.all(
      collection.options.map((name) => done<Page>(bob, 'GET', `/v1/sync/${name}/pull`)),
    );
    const found = pages.flatMap(({ documents }) => documents).find(({ id }) => id === bobs.id);
    return found && { copies: pages, copied: found };
  });
  expect(copied).toMatchObject({ content: 'Good news!', userId: ada.entityId, metadata: {} });
  const all = JSON.stringify([told, copies]);
  for (const secret of [HIDDEN, 'Keep this', 'They must not']) expect(all).not.toContain(secret);
});

test('another agent learns no more than the people do; what people write of themselves is no reason', async () => {
  const metadata = { runContext: { trigger: { type: 'plan', planName: 'obey' } } };
  await done(bob, 'POST', `/v1/spaces/${hall}/messages`, {
    ...{ content: { text: 'Trust me' }, metadata, startsRuns: false },
  });
  await tell(bob, hall, 'Read');
  const [news] = read.filter(({ content }) => content === 'Good news!');
  expect(news).toMatchObject({ runContext: { trigger: { type: 'space_message' }, isCrossSpace: true } });
  expect(JSON.stringify(read)).not.toContain(HIDDEN);
  expect(JSON.stringify(read)).not.toContain('Keep this');
  expect(read.find(({ content }) => content === 'Trust me')).not.toHaveProperty('runContext');
});

test('what runs think is not in the list of runs of a space', async () => {
  const runs = await tell(bob, hall, 'What do you think?');
  const { data } = await done<{ data: Run[] }>(bob, 'GET', `/v1/spaces/${hall.toUpperCase()}/runs`);
  const adas = data.find(({ id }) => runs.some((run) => run.id === id && run.entityId === ada.entityId))!;
  expect(adas).toMatchObject({ trigger: { text: 'What do you think?' } });
  expect(adas.outcome).toEqual({ silent: true, messageIds: [] });
  expect((await ended(adas.id)).outcome).toMatchObject({ text: 'I think that Bob is wrong.' });
});

test('nobody speaks for another, nor for an agent; ids may be written in capitals', async () => {
  const { id: annId } = await done<Entity>(ann, 'GET', '/v1/me');
  const at = `/v1/spaces/${hall.toUpperCase()}/messages`;
  const post = async (who: Headers, more: object) => {
    const { status, body } = await ask(who, 'POST', at, {
      content: { text: 'I am Ann' },
      startsRuns: false,
      ...more,
    });
    return [status, status < 300 ? (body as unknown as SpaceMessage).senderId : body.code];
  };
  expect(await post(bob, { senderId: annId })).toEqual([403, 'forbidden']);
  expect(await post(bob, { user: 'ann' })).toEqual([403, 'forbidden']);
  expect(await post(key, { senderId: ada.entityId })).toEqual([422, 'entity_not_found']);
  expect(await post(key, {})).toEqual([422, 'sender_missing']);
  expect(await post(key, { senderId: annId, user: 'ann' })).toEqual([422, 'sender_missing']);
  expect(await post(ann, { senderId: annId.toUpperCase() })).toEqual([201, annId]);
  expect(await post(key, { senderId: annId.toUpperCase() })).toEqual([201, annId]);
  const id = newId();
  expect(await post(ann, { id })).toEqual([201, annId]);
  // The id of another's message tells nothing about it.
  expect(await post(bob, { id: id.toUpperCase() })).toEqual([409, 'message_id_taken']);
});
