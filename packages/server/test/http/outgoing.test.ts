import type {
  Agent,
  AuditEntry,
  Model,
  PostedMessage,
  Problem,
  Project,
  Provider,
  Run,
  Session,
} from '@troupe/protocol';
import { openServer, type TestServer, until } from '@troupe/testing';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { chat } from '../models/wire/formats.ts';
import { Web } from '../outgoing/web.ts';

// Who may have the server call which address: the operator any, others what is on the internet or on their list.

let server: TestServer;
let web: Web;
beforeAll(async () => {
  [server, web] = await Promise.all([openServer({ postgresUrl: inject('postgresUrl') }), Web.open()]);
});
afterAll(() => Promise.all([server.close(), web.close()]));
beforeEach(() => web.forget());

async function ask<Body>(
  method: string,
  path: string,
  {
    key,
    body,
    headers = {},
  }: { key?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

let projects = 0;
const another = async () =>
  (await ask<Project & { key: string }>('POST', '/v1/projects', { body: { name: `other ${projects++}` } }))
    .body;
const allow = (id: string, entries: string[], key?: string) =>
  ask<Project & Problem>('PATCH', `/v1/projects/${id}`, { key, body: { outgoing: { allow: entries } } });

/** Has a model of this address answer; how the run ended. */
async function answered(key: string | undefined, baseUrl: string): Promise<Run> {
  const made = async <Body>(path: string, body: object) =>
    (await ask<Body>('POST', path, { key, body })).body;
  const name = `p${projects++}`;
  const provider = await made<Provider>('/v1/providers', {
    kind: 'openai_compatible',
    name,
    baseUrl,
    apiKey: 'k',
  });
  const model = await made<Model>(`/v1/providers/${provider.id}/models`, { modelId: 'm' });
  const limits = { modelTries: 1 };
  const agent = await made<Agent>('/v1/agents', { name, defaultModelId: model.id, limits });
  const session = await made<Session>(`/v1/agents/${agent.id}/sessions`, {});
  const { run } = await made<PostedMessage>(`/v1/agents/${agent.id}/sessions/${session.id}/messages`, {
    content: { text: 'hi' },
  });
  return until('the end', async () => {
    const { body } = await ask<Run>('GET', `/v1/runs/${run!.id}`, { key });
    return body.status === 'completed' || body.status === 'failed' ? body : null;
  });
}

test('the operator decides what a project may reach; the list is checked, shown and noted', async () => {
  const other = await another();
  expect(other.outgoing).toEqual({ allow: [] });
  const entries = ['intranet.example', '10.0.0.5:8080', '[fd00::1]:443', '10.1.0.0/16'];
  expect(await allow(other.id, entries)).toMatchObject({
    status: 200,
    body: { outgoing: { allow: entries } },
  });
  expect((await ask<Project>('GET', '/v1/project', { key: other.key })).body.outgoing).toEqual({
    allow: entries,
  });
  const { body } = await ask<{ data: AuditEntry[] }>('GET', '/v1/audit?action=project.outgoing_changed');
  expect(body.data).toMatchObject([{ target: other.id, data: { from: [], to: entries } }]);

  expect(await allow(other.id, ['ok.example', 'http://x', '*'])).toMatchObject({
    status: 422,
    body: {
      code: 'allow_entry_invalid',
      issues: [{ path: 'outgoing.allow.1' }, { path: 'outgoing.allow.2' }],
    },
  });
  expect((await allow(other.id, [], other.key)).status).toBe(403);
  expect((await allow((await another()).id, [], other.key)).status).toBe(404);
  expect((await allow('01900000-0000-7000-8000-000000000000', [])).status).toBe(404);
  const own = await ask<Problem>('PATCH', '/v1/project', {
    key: other.key,
    body: { outgoing: { allow: ['10.0.0.1'] } },
  });
  expect(own.status).toBe(422);
  expect((await ask<Project>('GET', '/v1/project', { key: other.key })).body.outgoing).toEqual({
    allow: entries,
  });
});

test('the address of a provider: any for the operator, for others what they may reach', async () => {
  web.serve = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(chat.events({ text: ['Hello.'] }).join(''));
  };
  const url = `http://127.0.0.1:${web.port}/v1`;
  expect(await answered(undefined, url)).toMatchObject({ status: 'completed' });
  const { connections } = web;
  const [other, allowed] = [await another(), await another()];
  expect(await answered(other.key, url)).toMatchObject({
    status: 'failed',
    error: { code: 'address_forbidden' },
  });
  expect(await answered(other.key, `http://localhost:${web.port}/v1`)).toMatchObject({
    status: 'failed',
    error: { code: 'address_forbidden' },
  });
  expect(web.connections).toBe(connections);
  await allow(allowed.id, [`127.0.0.1:${web.port}`]);
  expect(await answered(allowed.key, url)).toMatchObject({ status: 'completed' });
  expect(web.heard.at(-1)).toMatchObject({
    url: '/v1/chat/completions',
    headers: { authorization: 'Bearer k' },
  });
});

test('the address of published keys likewise', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
  web.serve = (_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setSubject('ada')
    .setAudience('a')
    .setExpirationTime('5 minutes')
    .sign(privateKey);
  const tokens = { algorithms: ['ES256'], audience: 'a', jwksUrl: `http://127.0.0.1:${web.port}/jwks` };
  const visit = async (key?: string) => {
    await ask('PATCH', '/v1/project', { key, body: { tokens } });
    const made = await ask<{ key: string }>('POST', '/v1/keys', { key, body: { name: 'p', kind: 'public' } });
    return ask<Problem>('GET', '/v1/inbox', { key: token, headers: { 'troupe-key': made.body.key } });
  };
  const [other, allowed] = [await another(), await another()];
  expect(await visit(other.key)).toMatchObject({ status: 503, body: { code: 'token_keys_unavailable' } });
  expect(web.connections).toBe(0);
  await allow(allowed.id, ['127.0.0.1']);
  expect((await visit(allowed.key)).status).toBe(200);
  expect((await visit()).status).toBe(200);
  // What one may reach is no way for another.
  expect((await visit(other.key)).status).toBe(503);
  expect(web.heard).toHaveLength(2);
});

test('a tool that asks this server is not taken for its owner, who needs no key here', async () => {
  const agent = (
    await ask<Agent>('POST', '/v1/agents', { body: { name: 'curious', capabilities: [{ id: 'web_fetch' }] } })
  ).body;
  const path = `/v1/agents/${agent.id}/sessions`;
  const session = (await ask<Session>('POST', path, { body: {} })).body;
  const fetched = async (url: string) => {
    const text = `call web_fetch ${JSON.stringify({ url })}`;
    const { run } = (
      await ask<PostedMessage>('POST', `${path}/${session.id}/messages`, { body: { content: { text } } })
    ).body;
    return until('the end', async () => {
      const { body } = await ask<Run & { calls: { output: { status_code: number } }[] }>(
        'GET',
        `/v1/runs/${run!.id}`,
      );
      return body.status === 'completed' ? body.calls[0]!.output.status_code : null;
    });
  };
  expect(await fetched(`${server.url}/healthz`)).toBe(200);
  expect((await ask('GET', '/v1/keys')).status).toBe(200);
  expect(await fetched(`${server.url}/v1/keys`)).toBe(401);
});
