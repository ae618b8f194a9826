import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, silentLogger } from '@troupe/server';
import { createDatabase, until } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';
import { start, startProcess, type Told } from './command.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function database(template?: null): Promise<string> {
  const { url, drop } = await createDatabase(inject('postgresUrl'), template);
  cleanups.push(drop);
  return url;
}

/** A process that goes on until it is told to stop; killed after the test. */
function begin(words: string[], env: Record<string, string>) {
  const home = mkdtempSync(join(tmpdir(), 'troupe-processes-'));
  cleanups.push(() => rmSync(home, { recursive: true, force: true }));
  const { child, told, done } = startProcess(words, { env: { TROUPE_HOME: home, PORT: '0', ...env } });
  cleanups.push(async () => {
    child.kill('SIGKILL');
    await done;
  });
  const said = (text: string | RegExp) =>
    until(`it says ${text}`, () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${told.out}${told.err}`);
      return told.out.match(text);
    });
  const stop = async (signal: NodeJS.Signals): Promise<Told> => {
    child.kill(signal);
    return done;
  };
  return { child, told, done, said, stop };
}

it('dev: says where it is, has agents from the start, also for older projects, and stops by Ctrl-C', async () => {
  const DATABASE_URL = await database();
  const db = new Database({ url: DATABASE_URL, applicationName: 'troupe/test', logger: silentLogger });
  cleanups.push(() => db.close());
  await db.pool.query(`insert into troupe.projects (id, name) values (gen_random_uuid(), 'older')`);
  const dev = begin(['dev'], { DATABASE_URL });
  const [, url] = await dev.said(/Troupe \d\S+ is at (http:\S+)\n/);
  const list = start(['--url', url!, 'agents', 'list']);
  expect([await list.done, list.out]).toEqual([0, expect.stringMatching(/researcher .*\n.*general /)]);
  await until('older projects have them too', async () => {
    const { rowCount } = await db.pool.query(
      `select from troupe.agents a join troupe.projects p on p.id = a.project_id where p.name = 'older'`,
    );
    return rowCount === 2;
  });
  expect(await dev.stop('SIGINT')).toMatchObject({ code: 0, err: '' });
});

it('migrate, serve and work: on an empty database, each by itself, and a message goes through', async () => {
  const DATABASE_URL = await database(null);
  const env = {
    DATABASE_URL,
    TROUPE_BOOTSTRAP_KEY: 'k'.repeat(40),
    TROUPE_ENCRYPTION_KEY: `v1:${'A'.repeat(43)}=`,
  };
  expect(await startProcess(['migrate'], { env }).done).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Applied 0040_baseline, .*\.$/m),
  });
  const [again, serve, work] = [
    begin(['--json', 'migrate'], env),
    begin(['serve', '--json'], env),
    begin(['work', '--json'], env),
  ];
  const { code, out } = await again.done;
  expect([code, JSON.parse(out)]).toEqual([0, { version: expect.any(String), applied: [] }]);
  await Promise.all([serve.said('\n'), work.said('\n')]);
  const { url } = JSON.parse(serve.told.out);
  const asked = ['--url', url, '--key', env.TROUPE_BOOTSTRAP_KEY];
  await start([...asked, 'agents', 'create', 'Ada']).done;
  const chat = start([...asked, 'chat', 'Ada', '2+2?']);
  expect([await chat.done, chat.out]).toEqual([0, expect.stringContaining('4')]);
  for (const [process, facts] of [
    [serve, { url }],
    [work, { concurrency: 100 }],
  ] as const) {
    const ended = await process.stop('SIGTERM');
    // The log is elsewhere, so that a program can read what is left.
    expect([ended.code, JSON.parse(ended.out)]).toEqual([0, expect.objectContaining(facts)]);
    expect(ended.err).toContain('"msg":"stopping"');
  }
});

it('what cannot start says why, and ends with 1', async () => {
  const env = { DATABASE_URL: '' };
  const [serve, dev] = await Promise.all([
    startProcess(['serve'], { env }).done,
    startProcess(['dev', '--json'], { env: { ...env, PORT: 'x' } }).done,
  ]);
  expect([serve.code, serve.out, serve.err]).toEqual([
    1,
    '',
    expect.stringMatching(/^error: .*DATABASE_URL is not set\.\n {2}Set DATABASE_URL/),
  ]);
  expect([dev.code, dev.out, dev.err]).toEqual([1, '', expect.stringMatching(/^error: .*PORT is "x"/)]);
});
