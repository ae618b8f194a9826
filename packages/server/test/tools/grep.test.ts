import { expect, it, vi } from 'vitest';
import { grep } from '../../src/tools/builtin/files/grep.ts';
import type { Files } from '../../src/tools/ports.ts';

const binary = Buffer.alloc(1_048_576, 0);

function files(count: number, { name = (index: number) => `/f${index}`, onRead = () => {} } = {}) {
  const read = { times: 0 };
  const all = Array.from({ length: count }, (_, index) => ({ path: name(index), size: binary.length }));
  const given = {
    list: async () => all,
    read: async () => {
      read.times++;
      onRead();
      return { content: binary, size: binary.length };
    },
  } as unknown as Files;
  return { given, read };
}

it('counts what is no text as read', async () => {
  const { given, read } = files(64);
  const context = { threadId: 't', signal: new AbortController().signal };
  expect(await grep(given, { pattern: 'x' }, context)).toMatchObject({ files: 0, truncated: true });
  expect(read.times).toBe(16);
});

it('reads nothing more once it is no longer wanted', async () => {
  const controller = new AbortController();
  const { given, read } = files(8, { onRead: () => controller.abort(new Error('gone')) });
  const context = { threadId: 't', signal: controller.signal };
  await expect(grep(given, { pattern: 'x' }, context)).rejects.toThrow('gone');
  expect(read.times).toBe(1);
});

it('spends no more than its time on what is no text', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const { given, read } = files(8, { onRead: () => vi.advanceTimersByTime(1_001) });
    const context = { threadId: 't', signal: new AbortController().signal };
    await expect(grep(given, { pattern: 'x' }, context)).rejects.toMatchObject({ code: 'grep_too_slow' });
    expect(read.times).toBe(3);
  } finally {
    vi.useRealTimers();
  }
});

it('leaves time to others while it looks for files', async () => {
  const part = 'abcdefgh'.repeat(30);
  const { given, read } = files(20_000, { name: (index) => `/${part}/${part}/${part}/${part}${index}` });
  const controller = new AbortController();
  setImmediate(() => controller.abort(new Error('gone')));
  const args = { pattern: 'x', path_pattern: `/${'*a?'.repeat(320)}z/b` };
  await expect(grep(given, args, { threadId: 't', signal: controller.signal })).rejects.toThrow('gone');
  expect(read.times).toBe(0);
});
