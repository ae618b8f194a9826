import type { Script } from '@troupe/server/parts';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';
import { type Session, type StreamItem, TimeoutError, Troupe, TurnFailedError } from '../src/index.ts';

let server: TestServer;
afterEach(() => server.close());

async function open(script?: Script): Promise<{ troupe: Troupe; session: Session }> {
  server = await openServer({ postgresUrl: inject('postgresUrl'), ...(script ? { script } : {}) });
  const troupe = new Troupe({ baseUrl: server.url });
  const agent = await troupe.agents.create({ body: { name: 'Ada', capabilities: [{ id: 'current_time' }] } });
  return { troupe, session: await troupe.open(agent.id) };
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

it('sends and waits: the answer, its messages, and everything on the way', async () => {
  const { session } = await open([{ calls: [{ name: 'current_time' }] }, { chunks: ['It is ', 'late.'] }]);
  const items: StreamItem[] = [];
  const turn = await session.sendAndWait('What time is it?', { onItem: (item) => items.push(item) });
  expect(turn).toMatchObject({ status: 'completed', text: 'It is late.' });
  expect(turn.messages.map(({ role }) => role)).toEqual(['tool_call', 'tool_result', 'assistant']);
  const types = items.map((item) => (item.kind === 'event' ? item.event.type : item.kind));
  expect(types[0]).toBe('connected');
  expect(types).toContain('tool.completed');
  expect(types.at(-1)).toBe('run.completed');
  expect((await session.get()).status).toBe('pending');
});

it('the same message again gives the same turn, without another answer', async () => {
  const { session } = await open([{ text: 'Four.' }]);
  const message = { id: '11111111-2222-4333-8444-555555555555', content: { text: '2+2?' } };
  const first = await session.sendAndWait(message);
  const second = await session.sendAndWait(message);
  expect(second.posted.run).toEqual({ id: first.posted.run!.id, outcome: 'duplicate' });
  expect(second.messages).toEqual(first.messages);
  expect(server.scripted.requests).toHaveLength(1);
});

it('a turn that fails throws, with the code of the run; it can be taken up again', async () => {
  const error = { code: 'model_refused', message: 'The model says no.', retryable: false };
  const { session } = await open((_, attempt) => (attempt === 1 ? { error } : { text: 'Well then.' }));
  await expect(session.sendAndWait('Please.')).rejects.toSatisfy(
    (thrown) =>
      thrown instanceof TurnFailedError &&
      thrown.code === 'model_refused' &&
      thrown.message === 'The model says no.' &&
      thrown.turn.status === 'failed',
  );
  await expect(session.send('Again.')).rejects.toMatchObject({ code: 'session_failed' });
  await session.retry();
  await until('it is answered', async () => (await session.get()).status === 'pending');
  expect((await session.messages()).data.at(-1)).toMatchObject({ content: { text: 'Well then.' } });
});

it('a turn that is canceled throws too', async () => {
  const { session } = await open([{ stallForever: true }]);
  const waiting = session.sendAndWait('Think.');
  const thrown = waiting.catch((error: unknown) => error);
  await until('it thinks', () => server.scripted.requests.length === 1);
  await session.cancel();
  expect(await thrown).toMatchObject({ code: 'run_canceled', turn: { status: 'canceled', text: '' } });
});

it('who waits no longer leaves the run alone: by time or by signal', async () => {
  const { open: go, opened } = gate();
  const { session } = await open([{ gate: opened, text: 'At last.' }]);
  await expect(session.sendAndWait('Take your time.', { timeoutMs: 300 })).rejects.toSatisfy(
    (error) => error instanceof TimeoutError && error.message.includes('The run goes on'),
  );
  const abort = new AbortController();
  const onItem = (item: StreamItem) => item.kind === 'connected' && abort.abort(new Error('gone'));
  await expect(session.sendAndWait('And more.', { signal: abort.signal, onItem })).rejects.toThrow('gone');
  go();
  const texts = await until('both are answered', async () => {
    const { data } = await session.messages();
    const said = data.filter(({ role }) => role === 'assistant').map(({ content }) => content);
    return said.length === 2 && said;
  });
  expect(texts).toEqual([{ text: 'At last.' }, { text: 'At last.' }]);
});

it('a message to a busy session is steered into the run at work, and both are answered', async () => {
  const { open: go, opened } = gate();
  const { session } = await open((request) =>
    request.step === 1 ? { gate: opened, calls: [{ name: 'current_time' }] } : { text: 'Both.' },
  );
  const first = session.sendAndWait('One.');
  await until('it is at work', () => server.scripted.requests.length === 1);
  const second = session.sendAndWait({ content: { text: 'Two.' }, policy: 'steer' });
  await until('both are there', async () => (await session.messages()).data.length >= 2);
  go();
  const [one, two] = await Promise.all([first, second]);
  expect([one.text, two.text, two.posted.run!.outcome]).toEqual(['Both.', 'Both.', 'steered']);
  expect(two.posted.run!.id).toBe(one.posted.run!.id);
});

it('a session is renamed, forked and deleted', async () => {
  const { troupe, session } = await open();
  const turn = await session.sendAndWait('How much is 2+2?');
  expect(turn.text).toContain('4');
  expect(await session.update({ title: 'Sums' })).toMatchObject({ title: 'Sums' });
  const fork = await session.fork(turn.posted.id);
  expect((await fork.messages()).data.map(({ role }) => role)).toEqual(['user']);
  await session.delete();
  await expect(session.get()).rejects.toMatchObject({ code: 'not_found' });
  await expect(session.sendAndWait('Hello?')).rejects.toMatchObject({ code: 'not_found' });
  const { data } = await troupe.sessions.list({ params: { agentId: fork.agentId } });
  expect(data.map(({ id }) => id)).toEqual([fork.id]);
});
