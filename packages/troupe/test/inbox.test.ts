import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start } from './command.ts';

// The demo model calls what it is told to. Every call of the clock needs approval.

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
  const response = await fetch(`${server.url}/v1/agents`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Clock',
      capabilities: [{ id: 'current_time' }],
      approvals: ['current_time'],
      inDoubt: 'wait',
    }),
  });
  expect(response.status).toBe(201);
});
afterAll(() => server.close());

const told = async (...words: string[]) => {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
};
const listed = async () => JSON.parse((await told('inbox', '--json')).out);
const waits = () => until('something waits', async () => (await listed())[0]);
const asks = (zone: string) => `call current_time {"timezone":"${zone}"}`;
const chat = (zone: string) => start(['chat', 'Clock', asks(zone)], { url: server.url });
const callOf = async ({ runId }: { runId: string }) =>
  JSON.parse((await told('runs', 'show', runId, '--json')).out).calls[0];

it('lists what waits, shows it, and approves it by its number, with other arguments too', async () => {
  expect((await told('inbox')).out).toBe('none\n');
  const talk = chat('Europe/Berlin');
  const call = await waits();
  expect(call).toMatchObject({ tool: 'current_time', arguments: { timezone: 'Europe/Berlin' } });
  await until('the chat says how', () => talk.err.includes('\n  troupe inbox approve'));
  expect(talk.err).toContain('[current_time {"timezone":"Europe/Berlin"}] waits for approval');
  expect(talk.err).toContain(`troupe inbox approve | reject ${call.number}`);
  const { out } = await told('inbox');
  expect(out).toMatch(
    /^number +agent +tool +arguments +waitsFor +since +expires\n\d{6} +Clock +current_time/,
  );
  expect((await told('inbox', 'show', call.number)).out).toMatch(/^argumentsHash +[0-9a-f]{64}$/m);
  const edited = ['--arguments', '{"timezone":"Asia/Tokyo"}'];
  const approved = await told('inbox', 'approve', call.number, ...edited);
  expect([approved.code, approved.out]).toEqual([0, 'current_time is approved\n']);
  expect(await talk.done).toBe(0);
  expect(await callOf(call)).toMatchObject({ status: 'completed', arguments: { timezone: 'Asia/Tokyo' } });
  // Once: the number means nothing else afterwards.
  const again = await told('inbox', 'approve', call.number, '--json');
  expect([again.code, JSON.parse(again.err).error.code]).toEqual([1, 'call_not_found']);
});

it('says which agent of which network asks', async () => {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const made = await fetch(`${server.url}/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(made.ok, await made.clone().text()).toBe(true);
  };
  await post('tools', { name: 'pay', kind: 'echo', approval: true });
  const agents = [{ key: 'till', prompt: 'Pay.', isDefault: true, allowRespond: true, tools: ['pay'] }];
  await post('networks', { name: 'Shop', tools: [{ key: 'pay' }], agents });
  await post('networks/shop/publish', {});
  await post('networks/shop/invoke', { input: 'call pay {"amount": 5}' });
  const call = await waits();
  expect(call).toMatchObject({ network: { name: 'Shop', version: 1 }, agentKey: 'till', rootRunId: null });
  expect((await told('inbox')).out).toMatch(/^\d{6} +Shop v1: till +pay +\{"amount":5\}/m);
  expect((await told('inbox', 'show', call.number)).out).toMatch(/^agentKey +till$/m);
  expect((await told('inbox', 'reject', call.number)).code).toBe(0);
});

it('rejects by run and call, with a reason', async () => {
  const talk = chat('Europe/Rome');
  const call = await waits();
  const words = ['inbox', 'reject', call.runId, call.callId, '--reason', 'Not now.', '--json'];
  expect(JSON.parse((await told(...words)).out)).toMatchObject({ callId: call.callId, openCalls: 0 });
  expect(await talk.done).toBe(0);
  expect(await callOf(call)).toMatchObject({
    status: 'failed',
    error: { code: 'rejected', message: expect.stringContaining('Not now.') },
  });
});

it('settles calls in doubt', async () => {
  // As a crash leaves them: begun, and on record as running, with an effect that must not come twice.
  for (const [words, status] of [
    [['complete', '--output', '{"time":"noon"}'], 'completed'],
    [['fail', '--reason', 'It is broken.'], 'failed'],
    [['retry'], 'completed'],
  ] as const) {
    const talk = chat('Europe/Oslo');
    const { runId, callId } = await waits();
    const client = await server.db.pool.connect();
    await client.query(
      `update troupe.tool_calls set status = 'in_doubt', waits_for = 'person', effect = 'once' where run_id = $1`,
      [runId],
    );
    client.release();
    const call = await waits();
    expect(call).toMatchObject({ callId, waitsFor: 'person' });
    const wrong = await told('inbox', 'approve', call.number);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain(`Use: troupe inbox retry | complete | fail ${call.number}`);
    expect(wrong.err).not.toContain('http');
    const [action, ...options] = words;
    expect((await told('inbox', action, call.number, ...options)).code).toBe(0);
    expect(await talk.done).toBe(0);
    expect(await callOf(call)).toMatchObject({ status });
  }
});

it('a chat asks whoever watches it', async () => {
  const talk = start(['chat', 'Clock'], {
    url: server.url,
    isWatched: true,
    lines: [asks('Europe/Paris'), 'y', asks('Europe/Madrid'), 'Too early.', 'How much is 2+2?'],
  });
  expect(await talk.done).toBe(0);
  expect(talk.err.match(/Approve\? y, n, or why not\n/g)).toHaveLength(2);
  expect(talk.out).toMatch(/It is .*\n[\s\S]*Too early\.[\s\S]*4/);
  expect(await listed()).toEqual([]);
});

it('a question that somebody else settles takes no line', async () => {
  let type = (_: string) => {};
  const typed = new Promise<string>((resolve) => {
    type = resolve;
  });
  const lines = async function* () {
    yield asks('Europe/Vienna');
    yield await typed;
  };
  const talk = start(['chat', 'Clock'], { url: server.url, isWatched: true, lines: lines() });
  await until('it asks', () => talk.err.includes('Approve?'));
  const call = await waits();
  await told('inbox', 'approve', call.number);
  await until('it is answered', () => talk.out.includes('It is'));
  type('How much is 2+3?');
  expect(await talk.done).toBe(0);
  expect(talk.out).toContain('5');
});

it('what is piped in answers too; where it ends, the chat ends and says how to go on', async () => {
  const piped = start(['chat', 'Clock'], { url: server.url, lines: [asks('Europe/Paris'), 'y'] });
  expect(await piped.done).toBe(0);
  expect(piped.out).toContain('It is');
  const short = start(['chat', 'Clock'], { url: server.url, lines: [asks('Europe/Rome')] });
  expect(await short.done).toBe(1);
  const call = await waits();
  expect(short.err).toContain(`troupe inbox approve | reject ${call.number}`);
  expect(short.err).toContain(`Come back with: troupe chat Clock --session ${call.sessionId}`);
  await told('inbox', 'reject', call.number);
});

it('a call of a client tool is told in the chat, listed, and answered in place of the client', async () => {
  const json = { 'content-type': 'application/json' };
  const tool = { name: 'pick_file', description: 'Picks.', kind: 'client' };
  const made = await fetch(`${server.url}/v1/tools`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(tool),
  });
  expect(made.status).toBe(201);
  expect((await told('agents', 'create', 'Picker', '--tools', 'pick_file')).code).toBe(0);
  const talk = start(['chat', 'Picker', 'call pick_file {"kind":"csv"}'], { url: server.url });
  await until('the chat tells', () => talk.err.includes('Come back with'));
  expect(talk.err).toMatch(
    /\[pick_file \{"kind":"csv"\}\] waits until \d{4}-\S+ for a client that executes it\n/,
  );
  expect(await listed()).toEqual([]);
  const [call] = JSON.parse((await told('inbox', '--for', 'client', '--json')).out);
  expect(talk.err).toContain(`troupe inbox answer ${call.number} --output <json>`);
  const wrong = await told('inbox', 'approve', call.number);
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining(`troupe inbox answer ${call.number}`)]);
  expect((await told('inbox', 'answer', call.number)).code).toBe(2);
  const { code, out } = await told('inbox', 'answer', call.number, '--output', '{"path":"a.csv"}');
  expect([code, out]).toEqual([0, 'pick_file is answered\n']);
  expect(await talk.done).toBe(0);
  expect(await callOf(call)).toMatchObject({ status: 'completed', output: { path: 'a.csv' } });
});

it.each([
  [['inbox', 'approve'], '<call> is missing'],
  [['inbox', 'approve', 'first'], 'no number of a call'],
  [['inbox', 'approve', 'x', 'y'], 'no id of a run'],
  [['inbox', 'approve', '1', '--arguments', '{'], 'no such call'],
  [['inbox', 'approve', '1', '--reason', 'x'], 'does not take --reason'],
  [['inbox', 'aprove', '1'], 'approve'],
])('%j is told as %s', async (words, part) => {
  const { code, err } = await told(...words);
  expect(code).toBeGreaterThan(0);
  expect(err.toLowerCase()).toContain(part.toLowerCase());
});
