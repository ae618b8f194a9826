import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { isBuiltin } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createDatabase, until } from '@troupe/testing';
import { SignJWT } from 'jose';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openBrowser } from '../../../tools/browser.ts';
import { Troupe } from '../src/index.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const MAIN = here('../../server/src/main.ts');
const BOOTSTRAP = randomBytes(24).toString('hex');
const SECRET = randomBytes(32).toString('hex');

/** Writes down what the stream of a session brings, for the test to look at. */
const PAGE = `<!doctype html><script type="module">
  import { Troupe } from '/sdk.js';
  window.open = async ({ agentId, token, ...options }) => {
    window.troupe = new Troupe({ ...options, token: async () => token });
    window.session = await troupe.open(agentId);
  };
  window.say = async (text) => (await session.sendAndWait(text)).text;
  window.seen = [];
  window.connections = 0;
  window.follow = async () => {
    for await (const item of session.stream()) {
      if (item.kind === 'connected') connections++;
      if (item.kind === 'event') seen.push([item.event.sequence, item.event.type]);
    }
  };
  window.isLoaded = true;
</script>`;

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean();
});

/** Listens on a free port of this machine; answers with the origin. */
async function open(answer: (path: string) => [type: string, body: string]): Promise<string> {
  const server = createServer((request, response) => {
    const [type, body] = answer(request.url!);
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function start(command: 'serve' | 'work', env: Record<string, string>): ChildProcess {
  const { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE } = process.env;
  const settings = { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE, ...env };
  const child = spawn(process.execPath, [MAIN, command], { env: settings, stdio: 'ignore' });
  cleanups.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child;
}

let bundle: Rolldown.OutputChunk;
let page: string;
let strangePage: string;
let url: string;
let serve: () => Promise<ChildProcess>;
let agentId: string;
let credentials: { baseUrl: string; key: string; token: string };
let stop: () => Promise<void>;

beforeAll(async () => {
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: false,
      lib: { entry: here('../src/index.ts'), formats: ['es'], fileName: 'sdk' },
    },
  })) as Rolldown.RolldownOutput[];
  bundle = built[0]!.output[0];
  const show = (path: string): [string, string] =>
    path === '/sdk.js' ? ['text/javascript', bundle.code] : ['text/html', PAGE];
  [page, strangePage] = [await open(show), await open(show)];

  const database = await createDatabase(inject('postgresUrl'));
  cleanups.push(database.drop);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const env = {
    DATABASE_URL: database.url,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
    TROUPE_BOOTSTRAP_KEY: BOOTSTRAP,
  };
  serve = async () => {
    const child = start('serve', { ...env, PORT: String(port), TROUPE_ORIGINS: page });
    await until(
      'it is ready',
      () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      30_000,
    );
    return child;
  };
  start('work', env);
  const server = await serve();

  const operator = new Troupe({ baseUrl: url, key: BOOTSTRAP });
  await operator.access.putSecret({ params: { name: 'TOKENS' }, body: { value: SECRET } });
  const tokens = { algorithms: ['HS256' as const], audience: 'page', secretName: 'TOKENS' };
  await operator.access.updateProject({ body: { tokens } });
  const { key } = await operator.access.createKey({ body: { name: 'page', kind: 'public' } });
  agentId = (await operator.agents.create({ body: { name: 'Ada' } })).id;
  const token = await new SignJWT({ sub: 'grace', aud: 'page' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('10 minutes')
    .sign(Buffer.from(SECRET));
  credentials = { baseUrl: url, key, token };
  stop = async () => {
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
});

/** A page of this origin in Chromium; answers with what evaluates a piece of JavaScript there. */
async function visit(origin: string): Promise<<Value>(script: string) => Promise<Value>> {
  const browser = await openBrowser();
  cleanups.push(() => browser.close());
  const tab = await browser.newPage();
  await tab.goto(origin);
  await tab.waitForFunction('window.isLoaded');
  return (script) => tab.evaluate(script);
}

it('the bundle for a page holds nothing of Node', () => {
  expect(bundle.imports.filter((name) => isBuiltin(name))).toEqual([]);
  expect([...bundle.imports, ...bundle.dynamicImports]).toEqual([]);
  expect(bundle.code).not.toMatch(
    /__vite-browser-external|\brequire\(|["']node:|\bprocess\.[a-z]|\bBuffer\./,
  );
});

it('a person talks to an agent from a page of another origin, and the stream outlives the server', async () => {
  const ask = await visit(page);
  await ask(`open(${JSON.stringify({ ...credentials, agentId })})`);
  expect(await ask('say("How much is 2+2?")')).toContain('4');
  await ask('void follow()');
  const completed = (count: number) =>
    until(`${count} turns are seen`, async () => {
      const seen = await ask<[number, string][]>('seen');
      return seen.filter(([, type]) => type === 'run.completed').length === count ? seen : null;
    });
  await completed(1);
  expect(await ask('connections')).toBe(1);

  await stop();
  await serve();
  expect(await ask('say("How much is 3*5?")')).toContain('15');
  const seen = await completed(2);
  expect(seen.map(([sequence]) => sequence)).toEqual(seen.map((_, at) => at + 1));
  expect(await ask('connections')).toBeGreaterThan(1);
  // The session is the person's own.
  const operator = new Troupe({ baseUrl: url, key: BOOTSTRAP });
  const { data } = await operator.sessions.list({ params: { agentId } });
  expect(data).toMatchObject([{ id: await ask('session.id'), entityId: expect.any(String) }]);

  const elsewhere = await visit(strangePage);
  const script = `open(${JSON.stringify({ ...credentials, agentId, retries: 0 })})`;
  expect(await elsewhere(`${script}.catch((error) => error.name)`)).toBe('ConnectionError');
});
