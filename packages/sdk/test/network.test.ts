import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import {
  InvocationFailedError,
  type InvocationItem,
  type Network,
  TimeoutError,
  Troupe,
} from '../src/index.ts';

let server: TestServer;
let troupe: Troupe;
let network: Network;
let hold: Promise<void> | null = null;
let requests = 0;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    jobs: true,
    script: async ({ messages }) => {
      const { text } = messages[0] as { text: string };
      if (text.includes('hold')) await hold;
      if (text.includes('fail')) return { calls: [{ name: 'unknown', arguments: {} }] };
      return { chunks: ['You ', 'said ', text] };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  const agents = [{ key: 'front', isDefault: true, allowRespond: true, prompt: 'Answer.' }];
  const body = { name: 'Help desk', policy: { retries: 0 }, agents };
  const { id } = await troupe.networks.create({ body });
  await troupe.networks.publish({ params: { network: id } });
  network = troupe.network('help desk');
});
afterAll(() => server.close());

it('runs a network: in the background, waiting, and as a stream that ends with the result', async () => {
  const begun = await network.invoke({ input: { q: 1 } });
  expect(['queued', 'running']).toContain(begun.status);
  expect(await network.get()).toMatchObject({ name: 'Help desk' });
  const heard: InvocationItem[] = [];
  const done = await network.invokeAndWait('hello', { onItem: (item) => heard.push(item) });
  expect(done).toMatchObject({
    status: 'completed',
    response: { message: 'You said hello' },
    agent: 'front',
  });
  expect(heard[0]!.kind).toBe('connected');
  expect(heard.some((item) => item.kind === 'event' && item.event.type === 'run.completed')).toBe(true);
  expect(heard.at(-1)).toEqual({ kind: 'invoked', invoked: done });
  expect((await network.runs()).data.map(({ id }) => id)).toEqual([done.id, begun.id]);
  const failing = network.invokeAndWait('fail');
  await expect(failing).rejects.toThrow(InvocationFailedError);
  await expect(failing).rejects.toMatchObject({
    code: 'too_many_refusals',
    invoked: { status: 'failed', response: null },
  });
  hold = new Promise(() => {});
  await expect(network.invokeAndWait('hold', { timeoutMs: 300 })).rejects.toThrow(TimeoutError);
  hold = null;
  await expect(network.invokeAndWait({ input: 'x', agent: 'nobody' })).rejects.toMatchObject({
    code: 'unknown_key',
  });
  await expect(troupe.network('nobody').invokeAndWait('x')).rejects.toMatchObject({ status: 404 });
});

it('waits for a run that was begun before, as often as asked, also where the server is away for a moment', async () => {
  let go = () => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const begun = await network.invoke('hold');
  await expect(network.wait(begun.id, { timeoutMs: 200 })).rejects.toThrow(
    new RegExp(`${begun.id} did not end within 200 ms`),
  );
  const enough = new AbortController();
  const left = network.wait(begun.id, { signal: enough.signal });
  enough.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  let asked = 0;
  const away = new Troupe({
    baseUrl: server.url,
    retries: 0,
    fetch: (async (url: string, init: RequestInit) => {
      if (asked++ === 0) throw new TypeError('away');
      return fetch(url, init);
    }) as typeof fetch,
  });
  const waiting = away.network('help desk').wait<{ message: string }>(begun.id);
  await until('it is asked again', () => asked === 2);
  go();
  const done = await waiting;
  expect(done.response.message).toBe('You said hold');
  expect(done).toMatchObject({ id: begun.id, status: 'completed', agent: 'front' });
  // Where it has ended, at once.
  expect(await network.wait(begun.id)).toEqual(done);
  const typed = await network.invokeAndWait<{ message: string }>('hello');
  expect(typed.response.message).toBe('You said hello');
  const failing = await network.invoke('fail');
  await expect(network.wait(failing.id)).rejects.toMatchObject({
    name: 'InvocationFailedError',
    code: 'too_many_refusals',
  });
  const agents = [{ key: 'front', allowRespond: true }];
  const other = await troupe.networks.create({ body: { name: 'Other', agents } });
  for (const ref of [other.id, 'nobody'])
    await expect(troupe.network(ref).wait(begun.id)).rejects.toMatchObject({ status: 404 });
  await expect(network.wait(other.id)).rejects.toMatchObject({ status: 404 });
  // A network that is gone: its runs are not.
  await troupe.networks.publish({ params: { network: other.id } });
  const last = await troupe.network(other.id).invoke('bye');
  await troupe.networks.remove({ params: { network: other.id } });
  expect(await troupe.network(other.id).wait(last.id)).toMatchObject({
    response: { message: 'You said bye' },
  });
  hold = null;
});

it('a stream whose connection breaks goes on with the same run, every event once', async () => {
  let go = () => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const before = (await network.runs({ limit: 200 })).data.length;
  let cut: AbortController | null = null;
  const breaking = new Troupe({
    baseUrl: server.url,
    fetch: (async (url: string, init: RequestInit) => {
      requests++;
      cut = new AbortController();
      return fetch(url, { ...init, signal: AbortSignal.any([init.signal!, cut.signal]) });
    }) as typeof fetch,
  });
  const items: InvocationItem[] = [];
  for await (const item of breaking.network('Help desk').stream('hold')) {
    items.push(item);
    if (item.kind === 'event' && item.event.type === 'step.started') cut!.abort();
    if (item.kind === 'connected' && requests === 2) go();
  }
  expect(requests).toBe(2);
  expect(items.at(-1)).toMatchObject({ kind: 'invoked', invoked: { status: 'completed' } });
  const sequences = items.flatMap((item) => (item.kind === 'event' ? [item.event.sequence] : []));
  expect(sequences).toEqual(sequences.map((_, at) => at + 1));
  expect((await network.runs({ limit: 200 })).data).toHaveLength(before + 1);
  hold = null;
});

it('asks what a network would do', async () => {
  const instruction = { action: { type: 'ROUTE_TO_AGENT' as const, agent: 'nobody' } };
  expect(await network.check({ agent: 'front', instruction })).toMatchObject({
    status: 'retry',
    code: 'unknown_agent',
  });
  expect(await network.prompt({ input: 'x' })).toMatchObject({ agent: 'front' });
});

it('runs a batch, follows it, cancels it and goes on', async () => {
  let go = () => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const batch = await network.batch({ format: 'jsonl', data: '"one"\n"fail"\n7\n"hold"\n', concurrency: 3 });
  await until('one is held', async () => (await batch.get()).counts.running === 1);
  await expect(batch.wait({ timeoutMs: 100 })).rejects.toThrow(TimeoutError);
  expect(await batch.cancel()).toMatchObject({ status: 'canceled', counts: { canceled: 1 } });
  expect(await batch.wait()).toMatchObject({ status: 'canceled' });
  go();
  await batch.resume({ failed: true });
  const seen: number[] = [];
  const done = await batch.wait({ onProgress: ({ counts }) => seen.push(counts.completed) });
  expect(done).toMatchObject({ status: 'completed', counts: { rows: 4, bad: 1, completed: 2, failed: 1 } });
  expect(seen.at(-1)).toBe(2);
  const all = [];
  for await (const item of batch.all({ limit: 1 })) all.push(item);
  expect(all.map(({ status, attempt }) => [status, attempt])).toEqual([
    ['completed', 1],
    ['failed', 2],
    ['bad', 1],
    ['completed', 2],
  ]);
  expect((await batch.results('csv')).split('\r\n')).toHaveLength(6);
  expect((await batch.items({ status: 'bad' })).data).toHaveLength(1);
  expect((await network.batches()).data[0]).toEqual(done);
  await batch.delete();
  await expect(troupe.batch(batch.id).get()).rejects.toMatchObject({ status: 404 });
});
