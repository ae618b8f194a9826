import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { chat } from '../models/wire/formats.ts';
import { WireServer } from '../models/wire/server.ts';
import { Client, written } from '../stream/client.ts';
import { upTo } from '../stream/fixture.ts';
import { after, connect, freePort, Troupe } from './fixture.ts';

const WORDS = Array.from({ length: 60 }, (_, n) => `word ${n} 😀 `);
const TEXT = WORDS.join('');

/** A provider that takes its time, until it is told to hurry. */
function slowly(pace: { ms: number }) {
  return async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of chat.events({ text: WORDS })) {
      response.write(event);
      await delay(pace.ms);
    }
    response.end();
  };
}

test('kill -9 of `work` in the middle of an answer: another `work` finishes it, and who reads from `serve` stays connected', async () => {
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const wire = await WireServer.open();
  after(() => wire.close());
  const pace = { ms: 50 };
  wire.replies(slowly(pace), slowly(pace));
  const key = randomBytes(32).toString('hex');
  const env = {
    DATABASE_URL,
    TROUPE_BOOTSTRAP_KEY: key,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  };
  const serve = new Troupe('serve', { ...env, PORT: String(await freePort()) });
  const workers = [new Troupe('work', env), new Troupe('work', env)];
  await Promise.all([serve.ready(), ...workers.map((work) => work.said('working'))]);

  const headers = { authorization: `Bearer ${key}` };
  const ask = async <Body = { id: string }>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(`http://127.0.0.1:${serve.port}/v1${path}`, {
      method,
      headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await response.json();
    expect([path, response.status < 300, answer]).toEqual([path, true, answer]);
    return answer as Body;
  };
  const provider = await ask('POST', '/providers', {
    kind: 'openai_compatible',
    name: 'slow',
    baseUrl: wire.url,
    apiKey: 'sk-slow',
  });
  const model = await ask('POST', `/providers/${provider.id}/models`, { modelId: 'm', displayName: 'M' });
  const agent = await ask('POST', '/agents', {
    name: 'slow',
    systemPrompt: 'Speak.',
    defaultModelId: model.id,
  });
  const session = await ask('POST', `/agents/${agent.id}/sessions`, {});
  // Beside it, a plan that comes due in the meantime.
  const planner = await ask('POST', '/agents', { name: 'planner' });
  const plans = `/agents/${planner.id}/plans`;
  const plan = await ask('POST', plans, { name: 'soon', runAfter: '1 second' });
  const path = `/agents/${agent.id}/sessions/${session.id}`;
  const reader = new Client(`http://127.0.0.1:${serve.port}/v1${path}`, { headers });
  after(() => reader.close());
  await until('connected', () => reader.frames.length > 0);
  await ask('POST', `${path}/messages`, { content: { text: 'Go on.' } });
  await until('some of it is read', () => written(reader.deltas).length > 100);

  const admin = await connect(DATABASE_URL);
  const { rows } = await admin.query<{ pid: number }>(
    // Not the one that carries out the plan.
    `select w.pid from troupe.runs r join troupe.workers w on w.incarnation = r.worker_id where r.door = 'session'`,
  );
  const killed = workers.find(({ pid }) => pid === rows[0]!.pid)!;
  expect(reader.events.map(({ type }) => type)).not.toContain('step.generated');
  await killed.stop('SIGKILL');
  const said = reader.deltas.length;
  pace.ms = 10;
  await reader.sees('run.completed');

  // It is still the same connection, and it told of everything once.
  expect(reader.ended).toBeNull();
  expect(reader.ids).toEqual(upTo(reader.ids.length));
  const types = reader.events.map(({ type }) => type);
  expect(types.filter((type) => type === 'run.resumed')).toHaveLength(1);
  for (const type of ['step.generated', 'session.completed', 'run.completed'])
    expect(types.filter((one) => one === type)).toEqual([type]);
  // What the second worker says begins at the beginning and replaces what the first one said.
  const again = reader.deltas.slice(said);
  const restart = again.findIndex(({ offset }) => offset === 0);
  expect(restart).toBeGreaterThanOrEqual(0);
  expect(TEXT.startsWith(written(again.slice(restart)))).toBe(true);
  const { data } = await ask<{ data: { role: string; content: object }[] }>('GET', `${path}/messages`);
  expect(data.map(({ role, content }) => [role, content])).toEqual([
    ['user', { text: 'Go on.' }],
    ['assistant', { text: TEXT }],
  ]);
  expect(await ask('GET', path)).toMatchObject({ status: 'pending' });
  expect(wire.heard).toHaveLength(2);
  await until('the plan was fired', async () => {
    const { status } = await ask<{ status: string }>('GET', `${plans}/${plan.id}`);
    return status === 'completed';
  });
  const { rows: fired } = await admin.query(`select from troupe.runs where trigger->>'planId' = $1`, [
    plan.id,
  ]);
  expect(fired).toHaveLength(1);
});
