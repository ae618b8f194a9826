import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openServer } from '@troupe/testing';
import { expect, inject, it } from 'vitest';
import { start, startProcess } from './command.ts';

async function told(...words: string[]) {
  const command = start(words);
  await command.done;
  return command;
}

it.each([['--help'], ['-h'], ['help'], ['agents', '--help'], ['chat', '-h']])(
  '%s shows the usage',
  async (...words) => {
    const { code, out, err } = await told(...words);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^Usage: troupe <command>\n[\s\S]*\n$/);
    // Nobody has to scroll sideways.
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  },
);

it('what is not understood is told with the usage, exit code 2', async () => {
  for (const words of [[], ['fly'], ['constructor'], ['chat'], ['agents', 'fly'], ['runs', '--fast']]) {
    const { code, out, err } = await told(...words);
    expect([words, code, out]).toEqual([words, 2, '']);
    expect(err).toMatch(/^error: .+\n\nUsage: troupe/);
  }
});

it('says where to get a server when there is none', async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(free.address() as AddressInfo).port}`;
  await new Promise((resolve) => free.close(resolve));
  expect(await told('agents', 'list', '--url', url)).toMatchObject({
    code: 1,
    out: '',
    err: `error: The server at ${url} cannot be reached.\n  Start it with \`troupe dev\`, or say where it is with --url.\n`,
  });
  expect(await told('agents', '--url', 'nowhere')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no address'),
  });
});

it('asks for a key where one is needed, and takes it', async () => {
  const server = await openServer({ postgresUrl: inject('postgresUrl'), mode: 'closed' });
  try {
    const { rows } = await server.db.pool.query<{ id: string }>(
      `insert into troupe.projects (id, name) values (gen_random_uuid(), 'p') returning id`,
    );
    const caller = { project: rows[0]!.id, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
    const wanted = { name: 'k', kind: 'secret' as const, scopes: [], expiresAt: null };
    const { key } = await server.access.keys.create(caller, wanted);
    const without = await told('agents', '--url', server.url);
    expect([without.code, without.err]).toEqual([
      1,
      expect.stringMatching(/\n {2}Give a key with --key or TROUPE_KEY\.\n$/),
    ]);
    expect(await told('agents', '--url', server.url, '--key', key)).toMatchObject({ code: 0, out: 'none\n' });
  } finally {
    await server.close();
  }
});

it('the process ends with the same code, and knows its version', async () => {
  expect(await startProcess(['fly']).done).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('"fly"'),
  });
  expect(await startProcess(['--help']).done).toMatchObject({ code: 0, err: '' });
  expect((await startProcess(['--version']).done).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});
