import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Troupe } from '@troupe/sdk';
import { createDatabase, until } from '@troupe/testing';

import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openBrowser, type TestBrowser } from '../../../tools/browser.ts';
import { buildConsole } from '../../../tools/console.ts';

// The server as a process, killed while an answer streams, and started again: the page is not touched.

const MAIN = fileURLToPath(new URL('../../../packages/server/src/main.ts', import.meta.url));
const cleanups: (() => unknown)[] = [];
let browser: TestBrowser;
let port: number;
let env: Record<string, string | undefined>;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: found } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return found;
}

async function start(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, 'dev'], { env: env as NodeJS.ProcessEnv, stdio: 'ignore' });
  cleanups.push(() => child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'));
  await until(
    'the server is ready',
    () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    30_000,
  );
  return child;
}

beforeAll(async () => {
  await buildConsole();
  const database = await createDatabase(inject('postgresUrl'), null);
  cleanups.push(() => database.drop());
  port = await freePort();
  const { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE, TMPDIR } = process.env;
  env = {
    ...{ PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE, TMPDIR },
    DATABASE_URL: database.url,
    PORT: String(port),
    LOG_LEVEL: 'silent',
    TROUPE_HOME: `${TMPDIR ?? '/tmp'}/troupe-restart-${process.pid}`,
  };
  browser = await openBrowser();
  cleanups.push(() => browser.close());
});

afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean();
});

it('shows the whole answer once by itself, after the server was killed in the middle of it', async () => {
  const first = await start();
  const troupe = new Troupe({ baseUrl: `http://127.0.0.1:${port}` });
  const agent = await troupe.agents.create({ body: { name: 'Ada' } });
  const session = await troupe.open(agent.id);
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${port}/sessions/${agent.id}/${session.id}`);
  await page.getByRole('textbox', { name: /message/i }).fill('hello');
  await page.keyboard.press('Enter');
  // The demo model writes a word at a time; its greeting begins so, and ends with what to ask.
  await page.getByText('Hello', { exact: false }).last().waitFor();
  first.kill('SIGKILL');
  await once(first, 'exit');
  await page
    .getByText(/offline|reconnect/i)
    .first()
    .waitFor();
  const second = await start();
  const talk = page.getByRole('log');
  await talk.getByText('to learn more.').waitFor({ timeout: 30_000 });
  expect(await talk.getByText(/Hello! I can/).count()).toBe(1);
  const { data } = await troupe.sessions.listMessages({
    params: { agentId: agent.id, sessionId: session.id },
    query: {},
  });
  expect(data.map(({ role }) => role)).toEqual(['user', 'assistant']);
  // It goes on from here without a reload.
  await page.getByRole('textbox', { name: /message/i }).fill('How much is 2+2?');
  await page.keyboard.press('Enter');
  await talk.getByText('2+2 = 4.').waitFor();
  // A server on the same machine needs no network.
  await page.evaluate(`dispatchEvent(new Event('offline'))`);
  await page.getByRole('navigation').getByRole('link', { name: 'Agents', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  await page.getByRole('link', { name: agent.name }).first().waitFor({ timeout: 10_000 });
  await page.goBack();
  await talk.getByText('2+2 = 4.').waitFor();
  // What is said while the server is away is sent by the next page of this browser, where this one is closed before.
  second.kill('SIGKILL');
  await once(second, 'exit');
  await page
    .getByText(/offline|reconnect/i)
    .first()
    .waitFor();
  await page.getByRole('textbox', { name: /message/i }).fill('How much is 3+3?');
  await page.keyboard.press('Enter');
  await talk.getByText('How much is 3+3?').waitFor();
  await talk.getByText('Not sent yet').waitFor();
  const [address, context] = [page.url(), page.context()];
  await page.close({ runBeforeUnload: false });
  await start();
  const later = await context.newPage();
  await later.goto(address);
  await later.getByRole('log').getByText('3+3 = 6.').waitFor({ timeout: 30_000 });
  expect(await later.getByRole('log').getByText('How much is 3+3?').count()).toBe(1);
});
