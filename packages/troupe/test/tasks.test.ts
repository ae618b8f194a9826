import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Writing } from '../src/commands/writing.ts';
import type { Terminal } from '../src/terminal.ts';
import { start } from './command.ts';

// The demo model delegates what it is told to delegate.

let server: TestServer;

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterAll(() => server.close());

async function told(...words: string[]) {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
}

it('a chat tells of tasks as they go; they are listed, shown, watched and canceled', async () => {
  await told('agents', 'create', 'Olga', '--capabilities', 'delegation');
  const chat = await told('chat', 'Olga', 'delegate to general: how much is 2+2?');
  expect(chat).toMatchObject({ code: 0 });
  const [task] = JSON.parse((await told('tasks', 'list', '--json')).out);
  // They are told of beside the run, mostly before it ends: the chat shows those that came by then.
  const events = await until('all is told', async () => {
    const { rows } = await server.db.pool.query<{ type: string; data: Record<string, string> }>(
      `select e.type, e.data from troupe.events e join troupe.sessions s on s.thread_id = e.thread_id
        where s.id = $1 and e.type like 'task.%' order by e.seq`,
      [task.chatId],
    );
    return rows.at(-1)?.data.status === 'success' ? rows : null;
  });
  const lines: string[] = [];
  const terminal = { err: (text: string) => void lines.push(text), out: () => {}, isWatched: false };
  const writing = new Writing(terminal as unknown as Terminal);
  for (const event of events) writing.show({ kind: 'event', event } as never, { run: null } as never);
  writing.stop();
  expect(lines).toEqual(['  [general begins]\n', '  [general has done it]\n']);
  expect(chat.err).not.toContain('undefined');

  expect(task).toMatchObject({ name: 'agent:general', status: 'success' });
  expect((await told('tasks', 'list', '--chat', task.chatId, '--status', 'success')).out).toContain(task.id);
  expect((await told('tasks', 'list', '--status', 'failed')).out).toBe('none\n');
  const shown = await told('tasks', 'show', task.id);
  expect(shown.out).toMatch(/status +success/);
  expect(shown.out).toContain('how much is 2+2?');
  expect(JSON.parse((await told('tasks', 'show', task.id, '--json')).out)).toMatchObject({
    id: task.id,
    subAgent: { role: 'general' },
    messages: [{ role: 'user' }, { role: 'assistant' }],
  });

  const watch = start(['tasks', 'watch', task.chatId], { url: server.url });
  await until('it is told of', () => watch.out.includes('general has done it'));
  watch.interrupt();
  expect(await watch.done).toBe(130);

  expect((await told('tasks', 'cancel', task.id)).out).toMatch(/status +success/);
  expect((await told('tasks', 'cancel', '--chat', task.chatId)).out).toBe('canceled: 0\n');
  await told('spaces', 'create', 'Launch', '--agent', 'Olga', '--user', 'ann');
  expect((await told('tasks', 'list', '--chat', 'launch')).out).toBe('none\n');
  expect((await told('tasks', 'watch', 'Lunch')).err).toContain('Lunch');
  expect((await told('tasks', 'cancel')).err).toContain('Say which');
  expect((await told('tasks', 'show', 'x')).err).toContain('is no id of a task');
});

it('line by line, what becomes of tasks in the background is said between the turns; the next line answers', async () => {
  await told('agents', 'create', 'Una', '--capabilities', 'delegation');
  const lines = async function* () {
    yield 'delegate to general in the background: ask me which colour';
    await until('it is asked', () => talk.out.includes('Una: general asks: Which colour?'));
    yield 'Blue';
    await until('it is done', () => talk.out.includes('Una: general is done: '));
  };
  const talk = start(['chat', 'Una'], { url: server.url, lines: lines() });
  expect(await talk.done).toBe(0);
  expect(talk.out).toContain('was told: Blue');
  // Each once: what a turn shows is not said again.
  expect(talk.out.match(/general is done/g)).toHaveLength(1);
  expect(talk.out).not.toContain('Una: general is at work');
  expect(JSON.parse((await told('tasks', 'list', '--status', 'waiting', '--json')).out)).toEqual([]);
});

it('answers the question of a sub-agent, by its task or by its number in the inbox', async () => {
  await told('agents', 'create', 'Ida', '--capabilities', 'delegation');
  const tasks = async (status: string) =>
    JSON.parse((await told('tasks', 'list', '--status', status, '--json')).out) as { id: string }[];
  const asked = async () => {
    await told('chat', 'Ida', 'delegate to general in the background: ask me which colour');
    return until('it is asked', async () => (await tasks('waiting'))[0]);
  };
  const first = await asked();
  expect((await told('tasks', 'answer', first.id, 'Dark blue')).out).toMatch(/questionId +/);
  await until('it is done', async () => (await tasks('success')).some(({ id }) => id === first.id));
  expect((await told('tasks', 'answer', first.id, 'Red')).err).toContain('The question was answered by');
  const [{ chatId }] = JSON.parse((await told('tasks', 'list', '--json')).out);
  const made = JSON.parse(
    (await told('tasks', 'create', 'general', 'how much is 3+3?', '--chat', chatId, '--json')).out,
  );
  expect(made).toMatchObject({ chatId, parentRunId: null, name: 'agent:general' });
  await until('it is done', async () => (await tasks('success')).some(({ id }) => id === made.id));
  expect((await told('tasks', 'create', 'general', 'x')).err).toContain('--chat is missing');
  const second = await asked();
  const [call] = JSON.parse((await told('inbox', '--for', 'answer', '--json')).out);
  expect(call).toMatchObject({ taskId: second.id, waitsFor: 'answer' });
  expect((await told('inbox', 'approve', call.number)).err).toContain('--text <answer>');
  expect((await told('inbox', 'answer', call.number, '--text', 'Green')).out).toContain('is answered');
  await until('it is done', async () => (await tasks('success')).some(({ id }) => id === second.id));
});

it('an answer that is being written is not cut in two by what is told of a task', () => {
  let all = '';
  const put = (text: string) => {
    all += text;
  };
  const writing = new Writing({ err: put, out: put, isWatched: false } as unknown as Terminal);
  const posted = { run: { id: 'r' } } as never;
  const delta = (offset: number, text: string) =>
    ({ kind: 'delta', delta: { type: 'message.delta', runId: 'r', step: 1, offset, text } }) as never;
  const data = { id: 't', name: 'agent:general', status: 'pending' };
  writing.show(delta(0, 'One '), posted);
  writing.show({ kind: 'event', event: { type: 'task.created', data } } as never, posted);
  writing.show(delta(4, 'sentence.'), posted);
  writing.finish('One sentence.');
  expect(all).toBe('One sentence.\n  [general begins]\n');
});
