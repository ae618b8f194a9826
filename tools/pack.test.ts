import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { createDatabase, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openRegistry } from './pack/registry.ts';
import { pack } from './pack.ts';

const root = resolve(import.meta.dirname, '..');
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-pack-')));
const cleanups: (() => unknown)[] = [];
let styles: string;
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** Starts a program in the folder, with the Node of this test and nothing else of the repository. */
function start(program: string, args: string[], more: Record<string, string> = {}) {
  const { PATH = '', HOME = '' } = process.env;
  const path = PATH.split(delimiter).filter((part) => !part.startsWith(root));
  const env = { PATH: [dirname(process.execPath), ...path].join(delimiter), HOME, ...more };
  const child = spawn(program, args, { cwd: folder, env, detached: true });
  const told = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told.err += text;
  });
  const code = new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  cleanups.push(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL'); // npx starts others; they are one group
    } catch {
      // It is gone, as it should be.
    }
  });
  return { child, told, code };
}

/** What must go well; answers with its standard output. */
async function run(program: string, args: string[], more?: Record<string, string>): Promise<string> {
  const { told, code } = start(program, args, more);
  expect([await code, told], `${program} ${args.join(' ')}`).toEqual([0, expect.anything()]);
  return told.out;
}

beforeAll(async () => {
  const tarballs = pack(join(folder, 'tarballs'), { check: false });
  expect(tarballs).toHaveLength(7);
  // Much more than it comes with it, and no more is shown by installing it too.
  const [ui] = tarballs.splice(
    tarballs.findIndex((file) => file.includes('troupe-ui')),
    1,
  );
  styles = await run('tar', ['-xzOf', ui!, 'package/dist/style.css']);
  const registry = await openRegistry(root);
  cleanups.push(registry.close);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const quiet = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...quiet, ...tarballs, '@types/react'], {
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, 'cache'),
  });
}, 180_000);

it('the command is there, and says its version', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/troupe/package.json'), 'utf8'));
  expect(await run('npx', ['--no-install', 'troupe', '--version'])).toBe(`${version}\n`);
});

it('a server starts from the packages, and a program talks to it through the SDK', async () => {
  const database = await createDatabase(inject('postgresUrl'), null);
  cleanups.push(database.drop);
  const dev = start('npx', ['--no-install', 'troupe', 'dev', '--json'], {
    DATABASE_URL: database.url,
    PORT: '0',
    TROUPE_HOME: join(folder, 'home'),
  });
  await until(
    'it has started',
    () => {
      if (dev.child.exitCode !== null) throw new Error(`it ended: ${dev.told.err}`);
      return dev.told.out.endsWith('\n');
    },
    30_000,
  );
  const { url } = JSON.parse(dev.told.out);
  writeFileSync(
    join(folder, 'talk.mjs'),
    `import { Troupe } from '@troupe/sdk';
    const troupe = new Troupe({ baseUrl: '${url}' });
    const agent = await troupe.agents.create({ body: { name: 'Ada' } });
    const session = await troupe.open(agent.id);
    console.log((await session.sendAndWait('How much is 2+2?')).text);`,
  );
  expect(await run('node', ['talk.mjs'])).toContain('4');
  expect(await run('node_modules/.bin/troupe', ['--url', url, 'chat', 'Ada', '3*5?'])).toContain('15');
  dev.child.kill('SIGTERM');
  await dev.code;
  await until('the server is gone', () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
});

const CONSUMER = `import { Troupe, type Turn, TurnFailedError } from '@troupe/sdk';
import { agentEndpoints, type Message } from '@troupe/protocol';
import { TroupeProvider, useSession } from '@troupe/react';

export async function ask(question: string): Promise<Message[]> {
  const session = await new Troupe({ key: 'k' }).open('a');
  const turn: Turn = await session.sendAndWait(question);
  for await (const item of session.stream()) if (item.kind === 'event') console.log(item.event.sequence);
  // @ts-expect-error: had the types been lost on the way, everything would be allowed
  console.log(turn.posted.sequins, agentEndpoints.list.path);
  return turn.messages.filter((message) => message.role === 'assistant');
}
export const names = [TurnFailedError.name, TroupeProvider.name];
export const useTexts = (): string[] => useSession('a', 's').live.map(({ text }) => text);
// @ts-expect-error: see above
export const useNothing = () => useSession('a', 's').lives;
`;

it('the style sheet is one file', () => {
  expect(styles).toContain('--troupe-');
  expect(styles).not.toMatch(/@import/);
});

it('a program is checked against the declarations, which are complete', async () => {
  writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
  const compilerOptions = {
    target: 'es2022',
    // As for a page: nothing of Node, and the declarations are checked too, except for those of the compiler itself.
    skipDefaultLibCheck: true,
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    module: 'nodenext',
    strict: true,
    noEmit: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  await run(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'),
    '--singleThreaded',
    '-p',
    folder,
  ]);
});
