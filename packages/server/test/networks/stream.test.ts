import type { Delta, Event, Invoked, Problem } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { compiled, publish } from './published-network.ts';

// The stream that an invocation is answered with.

let server: TestServer;
let hold: Promise<void> | null = null;

async function say({ messages }: { messages: readonly { role: string; text?: string }[] }): Promise<Turn> {
  const text = messages[0]!.text!;
  if (text.includes('hold')) await hold;
  if (text.includes('fail')) return { calls: [{ name: 'unknown', arguments: {} }] };
  return { chunks: ['Well, ', 'that ', 'is it.'] };
}

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), script: say as never });
  await fetch(`${server.url}/v1/agents`);
  const project = (await server.db.pool.query('select id from troupe.projects')).rows[0].id;
  const agents = [{ key: 'only', isDefault: true, prompt: 'Answer.', allowRespond: true }];
  await publish(server.db, project, compiled({ name: 'desk', policy: { retries: 0 }, agents }));
});
afterAll(() => server.close());

function invoke(body: object, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.url}/v1/networks/desk/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

interface Read {
  event: string;
  id: string | undefined;
  data: Record<string, unknown>;
}
function framesIn(text: string): Read[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('event: '))
    .map((frame) => ({
      event: /^event: (.*)$/m.exec(frame)![1]!,
      id: /^id: (.*)$/m.exec(frame)?.[1],
      data: JSON.parse(/^data: (.*)$/m.exec(frame)![1]!),
    }));
}
const runs = async () => (await server.db.pool.query('select id from troupe.runs')).rows.length;

test('the whole run from its first event on, what is written included, and what came of it as the last frame', async () => {
  for (const [body, headers] of [
    [{ input: 'hello', mode: 'stream' }, {}],
    [{ input: 'hello', mode: 'wait' }, { accept: 'text/event-stream' }],
  ] as const) {
    const response = await invoke(body, headers);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      201,
      'text/event-stream; charset=utf-8',
    ]);
    const frames = framesIn(await response.text());
    expect(frames[0]!.event).toBe('connected');
    const last = frames.at(-1)!;
    expect(last).toMatchObject({ event: 'invoked', id: undefined });
    const invoked = last.data as unknown as Invoked;
    expect(invoked).toMatchObject({
      status: 'completed',
      response: { message: 'Well, that is it.' },
      agent: 'only',
    });
    const events = frames.filter(({ id }) => id !== undefined);
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)!.event).toBe('run.completed');
    const { data } = (await (await fetch(`${server.url}/v1/runs/${invoked.id}/events`)).json()) as {
      data: Event[];
    };
    expect(events.map(({ data: event }) => event)).toEqual(data);
  }
});

test('what is being written comes while it is written; who leaves stops nothing; sent again it is the same run', async () => {
  let go = () => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const key = { 'idempotency-key': newId() };
  const before = await runs();
  const leaving = new AbortController();
  const first = await invoke({ input: 'hold', mode: 'stream' }, key, leaving.signal);
  const reader = first.body!.getReader();
  await reader.read();
  leaving.abort();
  await until('nobody reads', () => server.stream.readers === 0);

  const again = await invoke({ input: 'hold', mode: 'stream' }, key);
  expect(again.headers.get('content-type')).toContain('text/event-stream');
  const text = again.text();
  await until('somebody reads', () => server.stream.readers === 1);
  go();
  const frames = framesIn(await text);
  const delta = frames.find(({ event }) => event === 'message.delta')!.data as unknown as Delta;
  expect(delta).toMatchObject({ offset: 0, step: 1 });
  expect(frames.filter(({ event }) => event === 'run.queued')).toHaveLength(1);
  const { id, status } = frames.at(-1)!.data as unknown as Invoked;
  expect(status).toBe('completed');
  expect(await runs()).toBe(before + 1);

  // After it has ended: all of it once more, the rest of it, or nothing but the end.
  for (const [after, events] of [
    ['', frames.filter(({ id: seq }) => seq).length],
    ['2', frames.filter(({ id: seq }) => seq).length - 2],
    ['100000', 0],
  ] as const) {
    const late = framesIn(
      await (await invoke({ input: 'hold', mode: 'stream' }, { ...key, 'last-event-id': after })).text(),
    );
    expect(late.filter(({ id: seq }) => seq)).toHaveLength(events);
    expect(late.at(-1)).toMatchObject({ event: 'invoked', data: { id } });
  }
  const other = await invoke({ input: 'other', mode: 'stream' }, key);
  expect([other.status, ((await other.json()) as Problem).code]).toEqual([409, 'idempotency_conflict']);
  expect(await runs()).toBe(before + 1);
});

test('a run that fails ends its stream too; what cannot begin is a problem as everywhere', async () => {
  const failed = framesIn(await (await invoke({ input: 'fail', mode: 'stream' })).text());
  expect(failed.at(-2)!.event).toBe('run.failed');
  expect(failed.at(-1)).toMatchObject({
    event: 'invoked',
    data: { status: 'failed', error: { code: 'too_many_refusals' } },
  });
  const refused = await invoke({ input: 'x', agent: 'nobody' }, { accept: 'text/event-stream' });
  expect([refused.status, ((await refused.json()) as Problem).code]).toEqual([422, 'unknown_key']);
  const before = await runs();
  const wrong = await invoke({ input: 'x', mode: 'stream' }, { 'last-event-id': 'x' });
  expect([wrong.status, await runs()]).toEqual([422, before]);
});

test('taken up again while it is followed, it is followed to its last end', async () => {
  const key = { 'idempotency-key': newId() };
  const first = framesIn(await (await invoke({ input: 'fail', mode: 'stream' }, key)).text());
  const { id } = first.at(-1)!.data as unknown as Invoked;
  await fetch(`${server.url}/v1/runs/${id}/retry`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const again = framesIn(await (await invoke({ input: 'fail', mode: 'stream' }, key)).text());
  expect(again.filter(({ event }) => event === 'run.failed')).toHaveLength(2);
  expect(again.filter(({ event }) => event === 'invoked')).toHaveLength(1);
});
