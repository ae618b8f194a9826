import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
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
  expect(chat.err).toMatch(/ {2}\[general begins\]\n[\s\S]* {2}\[general has done it\]\n/);

  const [task] = JSON.parse((await told('tasks', 'list', '--json')).out);
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
  expect((await told('tasks', 'cancel')).err).toContain('Say which');
  expect((await told('tasks', 'show', 'x')).err).toContain('is no id of a task');
});
