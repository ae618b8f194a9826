import { randomBytes } from 'node:crypto';
import type { Message, PostedMessage, Run, RunStep } from '@troupe/protocol';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { chat } from '../models/wire/formats.ts';
import { stream, WireServer } from '../models/wire/server.ts';
import { after, connect, freePort, Troupe } from './fixture.ts';

test('kill -9 during the second request after an empty answer: the request to answer is stored once, and the next worker continues', async () => {
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const wire = await WireServer.open();
  after(() => wire.close());
  // Empty; asked again, the provider does not answer; the next worker gets a second empty answer.
  const empty = () => stream(chat.events({}));
  wire.replies(empty(), stream([], { last: 'silence' }), empty());
  const key = randomBytes(32).toString('hex');
  const env = {
    DATABASE_URL,
    TROUPE_BOOTSTRAP_KEY: key,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  };
  const serve = new Troupe('serve', { ...env, PORT: String(await freePort()) });
  const workers = [new Troupe('work', env), new Troupe('work', env)];
  await Promise.all([serve.ready(), ...workers.map((work) => work.said('working'))]);
  const ask = async <Body = { id: string }>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(`http://127.0.0.1:${serve.port}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await response.json();
    expect([path, response.status < 300, answer]).toEqual([path, true, answer]);
    return answer as Body;
  };
  const provider = await ask('POST', '/providers', {
    kind: 'openai_compatible',
    name: 'empty',
    baseUrl: wire.url,
    apiKey: 'sk-empty',
  });
  const model = await ask('POST', `/providers/${provider.id}/models`, { modelId: 'm', displayName: 'M' });
  const agent = await ask('POST', '/agents', { name: 'empty', defaultModelId: model.id });
  const session = await ask('POST', `/agents/${agent.id}/sessions`, {});
  const path = `/agents/${agent.id}/sessions/${session.id}`;
  const { run } = await ask<PostedMessage>('POST', `${path}/messages`, { content: { text: 'Hello' } });
  await until('the model is asked again', () => wire.heard.length === 2);

  const admin = await connect(DATABASE_URL);
  const { rows } = await admin.query<{ pid: number }>(
    'select w.pid from troupe.runs r join troupe.workers w on w.incarnation = r.worker_id where r.id = $1',
    [run!.id],
  );
  await workers.find(({ pid }) => pid === rows[0]!.pid)!.stop('SIGKILL');
  const read = () => ask<Run & { steps: RunStep[] }>('GET', `/runs/${run!.id}`);
  await until('the run has ended', async () => (await read()).status === 'completed');

  expect(await read()).toMatchObject({ step: 2, takeovers: 1, outcome: { text: '', empty: true } });
  expect((await read()).steps).toHaveLength(2);
  const { data } = await ask<{ data: Message[] }>('GET', `${path}/messages`);
  expect(data.map(({ role }) => role)).toEqual(['user', 'system', 'assistant']);
  // Both workers asked the same.
  expect(wire.heard).toHaveLength(3);
  expect(wire.heard[2]!.body).toEqual(wire.heard[1]!.body);
});
