import type { Script } from '@troupe/server/parts';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';
import { start, startProcess } from './command.ts';

let server: TestServer;
afterEach(() => server.close());

async function open(script?: Script): Promise<string> {
  server = await openServer({ postgresUrl: inject('postgresUrl'), ...(script ? { script } : {}) });
  const create = start(['agents', 'create', 'Ada', '--json'], { url: server.url });
  await create.done;
  return JSON.parse(create.out).id;
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const WRITES: Script = (request) => {
  const said = request.messages.filter(({ role }) => role === 'user').length;
  return { chunks: ['Answer ', `${said}`, '.'], delayBetweenChunksMs: 30 };
};

it('one message: the answer once, and a line end', async () => {
  await open(WRITES);
  const chat = start(['chat', 'Ada', 'Hello', 'there'], { url: server.url });
  const goOn = expect.stringMatching(/^Go on with: troupe chat Ada --session [0-9a-f-]{36}\n$/);
  expect([await chat.done, chat.out, chat.err]).toEqual([0, 'Answer 1.\n', goOn]);
  const { messages } = server.scripted.requests[0]!;
  expect(messages.at(-1)).toMatchObject({ role: 'user', text: 'Hello there' });
});

it('text is shown while it is written, with a sign where nothing comes for a second', async () => {
  const { open: go, opened } = gate();
  await open((request) =>
    request.step === 1
      ? { gate: opened, chunks: ['One… ', 'two.'], delayBetweenChunksMs: 1_500 }
      : { text: '' },
  );
  const chat = start(['chat', 'Ada', 'Count.'], { url: server.url, isWatched: true });
  await until('the sign is there', () => chat.err === '…');
  go();
  await until('the first piece is there', () => chat.out === 'One… ');
  expect(chat.code).toBe(-1);
  await chat.done;
  expect(chat.out).toBe('One… two.\n');
  const [signs, goOn] = chat.err.split('Go on with: ');
  expect(signs).toBe('…\b \b…\b \b');
  expect(goOn).toMatch(/^troupe chat Ada --session [0-9a-f-]{36}\n$/);
});

it('another try of the model begins on a line of its own', async () => {
  await open((_, attempt) =>
    attempt === 1
      ? { chunks: ['Wrong ', 'way'], failAfterChunks: 1, delayBetweenChunksMs: 200 }
      : { text: 'Right.' },
  );
  const chat = start(['chat', 'Ada', 'Go.'], { url: server.url });
  await chat.done;
  expect(chat.out).toMatch(/^(Wrong \n)?Right\.\n$/);
});

it('line by line, and on with the same session', async () => {
  await open(WRITES);
  const chat = start(['chat', 'ada'], { url: server.url, lines: ['One', 'Two', '', 'never said'] });
  expect([await chat.done, chat.out]).toEqual([0, 'Answer 1.\nAnswer 2.\n']);
  const [, session] = /^Go on with: troupe chat Ada --session (\S+)\n$/.exec(chat.err)!;
  const more = start(['chat', 'Ada', 'Three', '--session', session!, '--json'], { url: server.url });
  await more.done;
  expect(JSON.parse(more.out)).toMatchObject({ sessionId: session, text: 'Answer 3.', status: 'completed' });
  const lines = start(['chat', 'Ada', '--json'], { url: server.url, lines: ['One', 'Two'] });
  await lines.done;
  expect(
    lines.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).text),
  ).toEqual(['Answer 1.', 'Answer 2.']);
});

it('Ctrl-C leaves the run alone and says how to come back', async () => {
  const { open: go, opened } = gate();
  await open([{ gate: opened, text: 'Done.' }]);
  const chat = start(['chat', 'Ada', 'Take your time.'], { url: server.url });
  await until('the model is asked', () => server.scripted.requests.length === 1);
  chat.interrupt();
  expect(await chat.done).toBe(130);
  const [, session] =
    /^\nThe agent goes on without you\. Come back to it with: troupe chat Ada --session (\S+)\n$/.exec(
      chat.err,
    )!;
  go();
  await until('the run is completed', async () => {
    const runs = start(['runs', 'list', '--session', session!, '--json'], { url: server.url });
    await runs.done;
    return JSON.parse(runs.out)[0].status === 'completed';
  });
});

it('a real Ctrl-C, in a process', async () => {
  await open([{ stallForever: true }]);
  const { child, done } = startProcess(['chat', 'Ada', 'Think.'], { url: server.url });
  await until('the model is asked', () => server.scripted.requests.length === 1);
  child.kill('SIGINT');
  const { code, err } = await done;
  expect([code, err]).toEqual([130, expect.stringMatching(/--session [0-9a-f-]{36}\n$/)]);
});

it('a turn that fails is told, and does not end a conversation of lines', async () => {
  const error = { code: 'model_refused', message: 'The model says no.', retryable: false };
  await open([{ error }]);
  const once = start(['chat', 'Ada', 'Please.'], { url: server.url });
  expect([await once.done, once.out]).toEqual([1, '']);
  expect(once.err).toMatch(/^error: The model says no\.\nTry it again with: .*\nGo on with: .*\n$/);
  const chat = start(['chat', 'Ada'], { url: server.url, lines: ['Please.'] });
  expect([await chat.done, chat.out]).toEqual([1, '']);
  expect(chat.err).toMatch(/^error: The model says no\.\nGo on with: /);
});

it('a session that is not there is told before anything is typed', async () => {
  await open();
  const nowhere = '00000000-0000-4000-8000-000000000000';
  const chat = start(['chat', 'Ada', '--session', nowhere], { url: server.url, lines: ['Hello'] });
  expect([await chat.done, chat.out]).toEqual([1, '']);
  expect(chat.err).toMatch(/^error: .*session/i);
});

it('a piped conversation with the demo model, in a process', async () => {
  const agentId = await open();
  const { done } = startProcess(['chat', agentId], {
    url: server.url,
    input: 'How much is 2+2?\nHow much is 3*5?\n',
  });
  const { code, out, err } = await done;
  expect(code).toBe(0);
  expect(out).toMatch(/4[\s\S]*15/);
  expect(err).toMatch(/^Go on with: troupe chat Ada --session \S+\n$/);
});
