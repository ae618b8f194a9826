import { randomBytes } from 'node:crypto';
import type { Agent, Run, Session, ToolCall } from '@troupe/protocol';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { openUnruly } from '../tools/unruly.ts';
import { after, connect, freePort, Troupe } from './fixture.ts';

test('a worker is killed within a call: the next one sends it again with the same key and secret, once calls excepted', async () => {
  const unruly = await openUnruly();
  after(() => unruly.close());
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const TROUPE_ENCRYPTION_KEY = `v1:${randomBytes(32).toString('base64')}`;
  const TROUPE_BOOTSTRAP_KEY = `tsk_${randomBytes(32).toString('base64url')}`;
  const env = { DATABASE_URL, TROUPE_ENCRYPTION_KEY, TROUPE_BOOTSTRAP_KEY };
  const serve = new Troupe('serve', { ...env, PORT: String(await freePort()) });
  const victim = new Troupe('work', env);
  await Promise.all([serve.ready(), victim.said('working')]);
  const send = async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(`http://127.0.0.1:${serve.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${TROUPE_BOOTSTRAP_KEY}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await response.json();
    expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
    return answer as Body;
  };

  await send('PUT', '/v1/secrets/KEY', { value: 'a-planted-value' });
  const client = await connect(DATABASE_URL);
  await client.query('update troupe.projects set outgoing = $1', [{ allow: unruly.allow }]);
  const headers = { 'X-Key': '{{secrets.KEY}}' };
  for (const effect of ['idempotent', 'once']) {
    const request = { url: `${unruly.url}/later/${effect}`, method: 'POST', headers };
    await send('POST', '/v1/tools', { name: effect, kind: 'http', effect, request });
  }
  const agent = await send<Agent>('POST', '/v1/agents', { name: 'Ada', tools: ['idempotent', 'once'] });
  const sessions = `/v1/agents/${agent.id}/sessions`;
  const say = async (text: string) => {
    const { id } = await send<Session>('POST', sessions, {});
    const posted = await send<{ run: Run }>('POST', `${sessions}/${id}/messages`, { content: { text } });
    return posted.run.id;
  };
  const runs = [await say('call idempotent {"n": 1}'), await say('call once {"n": 2}')];
  const sent = (effect: string) => unruly.heard.filter(({ url }) => url === `/later/${effect}`);
  await until('both are sent', () => sent('idempotent').length === 1 && sent('once').length === 1);

  const successor = new Troupe('work', env);
  await successor.said('working');
  await victim.stop('SIGKILL');
  await until('it is sent again', () => sent('idempotent').length === 2);
  unruly.answer();
  const call = async (run: string) => {
    const { status, calls } = await send<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`);
    return status === 'completed' ? calls[0]! : null;
  };
  const [again, once] = await Promise.all(runs.map((run) => until('the run has ended', () => call(run))));
  expect(again).toMatchObject({ status: 'completed', attempt: 2 });
  expect(once).toMatchObject({ status: 'in_doubt' });
  const [first, second] = sent('idempotent');
  expect(second!.headers['idempotency-key']).toBe(first!.headers['idempotency-key']);
  expect(second!.headers['x-key']).toBe('a-planted-value');
  expect(second!.body).toBe(first!.body);
  expect(sent('once')).toHaveLength(1);
  const told = [serve, victim, successor].map(({ output, errors }) => output + errors).join('\n');
  expect(told + JSON.stringify(again)).not.toContain('a-planted-value');
});
