import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start } from './command.ts';

let server: TestServer;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }, attempt) =>
      JSON.stringify(messages).includes('fail') && attempt === 1
        ? { error: { code: 'model_refused', message: 'No.', retryable: false } }
        : JSON.stringify(messages).includes('stall')
          ? { stallForever: true }
          : { text: 'Yes.' },
  });
  for (const name of ['Ada', 'Grace']) await told('agents', 'create', name);
});
afterAll(() => server.close());

async function told(...words: string[]) {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
}

const parsed = async (...words: string[]) => JSON.parse((await told(...words, '--json')).out);
const statusOf = async (run: string) => (await parsed('runs', 'get', run)).status;

it('lists runs, by status and by the name of the agent', async () => {
  expect(await told('runs')).toMatchObject({ code: 0, out: 'none\n' });
  await told('chat', 'Ada', 'hello');
  await told('chat', 'Grace', 'fail');
  expect((await parsed('runs', 'list')).map(({ status }: { status: string }) => status)).toEqual([
    'failed',
    'completed',
  ]);
  const [run] = await parsed('runs', 'list', '--agent', 'ada');
  expect(run).toMatchObject({ status: 'completed' });
  expect(await parsed('runs', 'list', '--status', 'completed')).toEqual([run]);
  const { out } = await told('runs', 'list');
  expect(out.split('\n')[0]).toMatch(/^id {2,}status {2,}step {2}createdAt {2,}error$/);
  expect(out).toContain(`${run.id}  completed  1 `);
  expect((await told('runs', 'list', '--status', 'tired')).err).toContain('--status must be queued, running');
});

it('shows one with its steps', async () => {
  const [{ id }] = await parsed('runs', 'list', '--status', 'completed');
  expect(await parsed('runs', 'get', id)).toMatchObject({
    id,
    steps: [{ step: 1, finishReason: 'stop' }],
    calls: [],
  });
  const { out } = await told('runs', 'get', id);
  expect(out).toMatch(/^status {2,}completed$/m);
  expect(out).toMatch(/^step {2}model {2,}finishReason/m);
});

it('shows what was said and what happened, forks, and goes on from there', async () => {
  const [{ id }] = await parsed('runs', 'list', '--status', 'completed');
  expect((await told('runs', 'messages', id)).out).toBe('1  user: hello\n2  assistant: Yes.\n');
  const fork = await parsed('runs', 'fork', id, '0');
  expect(fork).toMatchObject({ forkedFrom: { runId: id, step: 0 }, sessionId: null });
  const followed = await told('runs', 'events', fork.id, '--follow');
  expect(followed.out).toMatch(/^1 {2}run\.queued .*\n(.*\n)*\d+ {2}run\.completed .*\n$/);
  const events = await parsed('runs', 'events', fork.id);
  expect(events.map(({ type }: { type: string }) => type)).toEqual(
    followed.out
      .trim()
      .split('\n')
      .map((line) => line.split('  ')[1]),
  );
  expect((await told('runs', 'events', fork.id)).out).toMatch(/^sequence {2}createdAt/);
  expect((await told('runs', 'show', fork.id)).out).toMatch(/^forkedFrom {2,}\{"step":0,"runId":/m);
  const roles = async (...words: string[]) =>
    (await parsed('runs', 'messages', fork.id, ...words)).map(({ role }: { role: string }) => role);
  expect(await roles('--of', 'run')).toEqual(['user', 'assistant']);
  const session = await parsed('runs', 'continue', fork.id, '--title', 'Again');
  expect(session).toMatchObject({ title: 'Again', status: 'pending' });
  expect((await told('chat', 'Ada', 'and now?', '--session', session.id)).out).toBe('Yes.\n');
  expect((await told('runs', 'fork', id, 'x')).code).toBe(2);
  expect((await told('runs', 'messages', id, '--of', 'it')).code).toBe(2);
});

it('takes a failed one up again', async () => {
  const [{ id }] = await parsed('runs', 'list', '--status', 'failed');
  expect(await told('runs', 'retry', id)).toMatchObject({ code: 0 });
  await until('it is completed', async () => (await statusOf(id)) === 'completed');
  expect(await told('runs', 'retry', id)).toMatchObject({ code: 1, out: '' });
});

it('cancels one', async () => {
  const chat = start(['chat', 'Ada', 'stall'], { url: server.url });
  const [{ id }] = await until('it runs', async () => {
    const list = await parsed('runs', 'list', '--status', 'running');
    return list.length > 0 && list;
  });
  expect((await told('runs', 'cancel', id)).code).toBe(0);
  expect(await chat.done).toBe(1);
  expect(chat.err).toMatch(/^error: The run was canceled\.\nGo on with: .*\n$/);
  expect(await statusOf(id)).toBe('canceled');
  expect((await told('runs', 'cancel', id)).code).toBe(1);
});

it('says what is missing or unknown', async () => {
  expect((await told('runs', 'get')).err).toMatch(
    /^error: <run> is missing\n {2}Usage: troupe runs get <run>\n/,
  );
  expect(await told('runs', 'get', 'nothing')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^error: "nothing" is no id of a run\n {2}`troupe runs list` shows them/),
  });
  expect(await told('runs', 'get', '00000000-0000-4000-8000-000000000000')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^error: .*run/),
  });
  expect((await told('runs', 'eat')).code).toBe(2);
});
