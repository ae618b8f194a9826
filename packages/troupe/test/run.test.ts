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

it('without a word, the usage, exit code 2', async () => {
  expect(await told()).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/^error: no command\n\nUsage: troupe/),
  });
});

it.each([
  ['fly', 'there is no command "fly"'],
  ['constructor', 'there is no command "constructor"'],
  ['chta Ada', 'there is no command "chta"\n  Did you mean chat?'],
  ['agent list', 'there is no command "agent"\n  Did you mean agents?'],
  ['agents lsit', 'agents does not know "lsit"\n  Did you mean list?'],
  [
    'runs fly',
    'runs does not know "fly"\n  It knows list, show, get, cancel, retry, messages, events, fork, continue.',
  ],
  ['runs --statsu failed', 'there is no option --statsu\n  Did you mean --status?'],
  ['chat Ada -5', 'there is no option -5\n  Where it is no option, write -- before it.'],
  ['runs --status fail', /must be queued, .*\n {2}Did you mean failed\?/],
  ['runs --limit 0', '--limit must be a number from 1 to 200'],
  ['chat', '<agent> is missing\n  Usage: troupe chat <agent> [message] [--session …] [--model …]'],
  ['agents diff Ada 1', '<to> is missing\n  Usage: troupe agents diff <agent> <from> <to>'],
  ['agents get Ada Lovelace', '"Lovelace" is one word too many; put quotes around a name of several'],
  ['dev now', '"now" is one word too many\n  Usage: troupe dev [--tools …]'],
  ['dev --url http://localhost', 'dev does not take --url'],
  ['agents get Ada --limit 3', 'agents get does not take --limit'],
  ['agents --url --limit', '--url needs a value\n  Where --limit is the value, write --url=--limit'],
  ['agents --json=yes', '--json takes no value'],
])('%s is not understood, and told why, exit code 2', async (line, problem) => {
  const { code, out, err } = await told(...line.split(' '));
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^error: [\s\S]+\n {2}`troupe --help` shows all commands\.\n$/);
  if (typeof problem === 'string') expect(err).toContain(`error: ${problem}\n`);
  else expect(err).toMatch(problem);
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
    const wrong = await told('agents', '--url', server.url, '--key', `${key}x`);
    expect([wrong.code, wrong.out, wrong.err]).toEqual([
      1,
      '',
      expect.stringMatching(/\n {2}The key that --key gave is not one of .*\n$/),
    ]);
    // Options may stand before the command, between its words and after them.
    for (const words of [
      ['--url', server.url, '--key', key, 'agents', 'list'],
      ['agents', `--url=${server.url}`, 'list', '--key', key],
      ['agents', '--url', server.url, '--key', key],
    ])
      expect(await told(...words)).toMatchObject({ code: 0, out: 'none\n' });
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
  expect(JSON.parse((await told('--version', '--json')).out)).toEqual({ version: expect.any(String) });
});
