import { randomBytes } from 'node:crypto';
import type { Message, Run, ToolCall, WaitingCall } from '@troupe/protocol';
import { createDatabase, until, violations } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { after, freePort, Troupe } from './fixture.ts';

test('kill -9 of everything while a call waits for approval: it waits on, and is executed once when it has it', async () => {
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const key = randomBytes(32).toString('hex');
  const env = {
    DATABASE_URL,
    TROUPE_BOOTSTRAP_KEY: key,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  };
  const start = async () => {
    const serve = new Troupe('serve', { ...env, PORT: String(await freePort()) });
    const work = new Troupe('work', env);
    await Promise.all([serve.ready(), work.said('working')]);
    return { serve, work };
  };
  let { serve, work } = await start();
  const ask = async <Body>(method: string, path: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${serve.port}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const provider = await ask<{ id: string }>('POST', '/providers', { kind: 'demo', name: 'd' });
  const model = await ask<{ id: string }>('POST', `/providers/${provider.body.id}/models`, { modelId: 'd' });
  const agent = await ask<{ id: string }>('POST', '/agents', {
    name: 'careful',
    defaultModelId: model.body.id,
    capabilities: [{ id: 'current_time' }],
    approvals: ['current_time'],
  });
  const session = await ask<{ id: string }>('POST', `/agents/${agent.body.id}/sessions`, {});
  const path = `/agents/${agent.body.id}/sessions/${session.body.id}`;
  await ask('POST', `${path}/messages`, {
    content: { text: 'call current_time {"timezone":"Europe/Berlin"}' },
  });
  const inbox = async () => (await ask<{ data: WaitingCall[] }>('GET', '/inbox')).body.data;
  const before = await until('it waits', async () => (await inbox())[0]);

  await Promise.all([serve.stop('SIGKILL'), work.stop('SIGKILL')]);
  ({ serve, work } = await start());
  expect(await inbox()).toEqual([before]);
  // The worker is gone when the approval comes: it is kept for the next one.
  await work.stop('SIGKILL');
  const { runId, callId, argumentsHash } = before;
  const decision = { decision: 'approve', argumentsHash };
  const decide = () => ask('POST', `/runs/${runId}/calls/${callId}/decision`, decision);
  expect(await decide()).toMatchObject({ status: 200, body: { openCalls: 0 } });
  await serve.stop('SIGKILL');
  ({ serve, work } = await start());
  const run = await until('it is done', async () => {
    const { body } = await ask<Run & { calls: ToolCall[] }>('GET', `/runs/${runId}`);
    return body.status === 'completed' ? body : null;
  });
  expect(run.calls).toMatchObject([{ id: callId, status: 'completed', attempt: 1 }]);
  expect(await decide()).toMatchObject({ status: 409, body: { code: 'call_not_open' } });
  const { data } = (await ask<{ data: Message[] }>('GET', `${path}/messages`)).body;
  expect(data.map(({ role }) => role)).toEqual(['user', 'tool_call', 'tool_result', 'assistant']);
  const pool = new pg.Pool({ connectionString: DATABASE_URL });
  expect(await violations(pool)).toEqual([]);
  await pool.end();
});
