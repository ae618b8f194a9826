import { randomBytes } from 'node:crypto';
import type { Problem, Run, ToolCall, WaitingCall } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// Who may see and decide what, with real keys and real tokens. The demo model calls what it is told to.

type Headers = Record<string, string>;
let server: TestServer;
let keys: [Headers, Headers];
let as: (person: string) => Promise<Headers>;
/** One agent where the person who talks to it decides, and one where they do not. */
let open: string;
let guarded: string;

async function ask<Body = Problem>(headers: Headers, method: string, path: string, body?: object) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), mode: 'closed' });
  const { access, db } = server;
  const project = crypto.randomUUID();
  await db.pool.query(`insert into troupe.projects (id, name) values ($1, 'people')`, [project]);
  const owner = { project, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
  const secret = randomBytes(32).toString('base64');
  await access.secrets.put(owner, 'TOKENS', secret);
  const rules = { issuer: null, jwksUrl: null, secretName: 'TOKENS', claim: 'sub' };
  await access.projects.update(owner, { tokens: { ...rules, algorithms: ['HS256'], audience: 'us' } });
  const keyOf = async (kind: 'secret' | 'public') =>
    (await access.keys.create(owner, { name: kind, kind, scopes: [], expiresAt: null })).key;
  const secretOf = async () => ({ authorization: `Bearer ${await keyOf('secret')}` });
  keys = [await secretOf(), await secretOf()];
  const publicKey = await keyOf('public');
  as = async (person) => {
    const token = new SignJWT({ sub: person, aud: 'us' }).setProtectedHeader({ alg: 'HS256' });
    const signed = await token.setExpirationTime('1 hour').sign(Buffer.from(secret));
    return { 'troupe-key': publicKey, authorization: `Bearer ${signed}` };
  };
  const provider = await ask<{ id: string }>(keys[0], 'POST', '/v1/providers', {
    kind: 'demo',
    name: 'demo',
  });
  const model = await ask<{ id: string }>(keys[0], 'POST', `/v1/providers/${provider.body.id}/models`, {
    modelId: 'demo',
  });
  const agentOf = async (name: string, approvers: string) => {
    const agent = await ask<{ id: string }>(keys[0], 'POST', '/v1/agents', {
      name,
      approvers,
      defaultModelId: model.body.id,
      capabilities: [{ id: 'current_time' }],
      approvals: ['current_time'],
    });
    expect([agent.status, agent.body]).toMatchObject([201, { approvers }]);
    return agent.body.id;
  };
  open = await agentOf('open', 'anyone');
  guarded = await agentOf('guarded', 'keys');
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

/** A call that waits for approval, in a session of this person. */
async function asked(person: Headers, agent: string): Promise<WaitingCall> {
  const session = await ask<{ id: string }>(person, 'POST', `/v1/agents/${agent}/sessions`, {});
  const path = `/v1/agents/${agent}/sessions/${session.body.id}/messages`;
  await ask(person, 'POST', path, { content: { text: 'call current_time {"timezone":"Europe/Berlin"}' } });
  return until('it waits', async () => (await inboxOf(person, `?sessionId=${session.body.id}`))[0]);
}
const inboxOf = async (who: Headers, query = '') =>
  (await ask<{ data: WaitingCall[] }>(who, 'GET', `/v1/inbox${query}`)).body.data;
const decide = (
  who: Headers,
  { runId, callId, argumentsHash }: WaitingCall,
  decision: 'approve' | 'reject',
) =>
  ask(who, 'POST', `/v1/runs/${runId}/calls/${callId}/decision`, {
    decision,
    ...(decision === 'approve' ? { argumentsHash } : {}),
  });
const settledCall = async ({ runId }: WaitingCall) =>
  until('it is settled', async () => {
    const { body } = await ask<Run & { calls: ToolCall[] }>(keys[0], 'GET', `/v1/runs/${runId}`);
    return body.status === 'completed' ? body.calls[0]! : null;
  });

test('a person sees and settles what waits in their own sessions, and nothing of anybody else', async () => {
  const [ada, bob] = [await as('ada'), await as('bob')];
  const call = await asked(ada, open);
  expect(await inboxOf(bob)).toEqual([]);
  for (const query of [`?runId=${call.runId}`, `?sessionId=${call.sessionId}`, `?agentId=${open}`])
    expect(await inboxOf(bob, query)).toEqual([]);
  for (const decision of ['approve', 'reject'] as const)
    expect(await decide(bob, call, decision)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  const results = { callId: call.callId, result: 1 };
  expect(await ask(bob, 'POST', `/v1/runs/${call.runId}/tool-results`, results)).toMatchObject({
    status: 404,
  });
  expect(await inboxOf(ada)).toEqual([call]);
  expect((await decide(ada, call, 'approve')).status).toBe(200);
  const settled = await settledCall(call);
  expect(settled).toMatchObject({ status: 'completed', attempt: 1 });
  expect(settled.settledBy).toMatch(/^user:[0-9a-f-]{36}$/);
});

test('where only keys decide, the person sees that it waits and is told who decides', async () => {
  const ada = await as('ada');
  const call = await asked(ada, guarded);
  for (const decision of ['approve', 'reject'] as const)
    expect(await decide(ada, call, decision)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  // Not even that the call is there is told to somebody else.
  expect(await decide(await as('bob'), call, 'approve')).toMatchObject({ status: 404 });
  expect((await decide(keys[0], call, 'approve')).status).toBe(200);
  expect((await settledCall(call)).settledBy).toMatch(/^key:/);
});

test('two at once, by two keys or by a key and a person: one wins, the other is told by whom', async () => {
  const ada = await as('ada');
  // The same person at two places holds two tokens, and is the same to the ledger.
  const pairs = [
    [keys[0], keys[1]],
    [keys[0], ada],
    [ada, await as('ada')],
  ] as const;
  for (const [first, second] of [...pairs, ...pairs]) {
    const call = await asked(ada, open);
    const answers = await Promise.all([decide(first, call, 'approve'), decide(second, call, 'reject')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const lost = answers.find(({ status }) => status === 409)!.body;
    expect(lost).toMatchObject({
      code: 'call_not_open',
      detail: expect.stringMatching(
        answers[0]!.status === 200
          ? /was approved already, by (key|user):/
          : /was rejected already, by (key|user):/,
      ),
    });
    const settled = await settledCall(call);
    expect(settled.status).toBe(answers[0]!.status === 200 ? 'completed' : 'failed');
    // Both approve: one of them is late all the same.
    const twice = await asked(ada, open);
    const both = await Promise.all([decide(first, twice, 'approve'), decide(second, twice, 'approve')]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await settledCall(twice)).toMatchObject({ status: 'completed', attempt: 1 });
  }
});
