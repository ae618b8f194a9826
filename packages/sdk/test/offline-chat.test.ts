import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openServer, type TestServer, until } from '@troupe/testing';
import type { Page } from 'playwright-core';
import { build, type PreviewServer, preview } from 'vite';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openBrowser, type TestBrowser } from '../../../tools/browser.ts';
import { Troupe } from '../src/index.ts';

// The example app as it is, in a real browser: built, served and proxied by its own configuration.

const root = fileURLToPath(new URL('../../../examples/offline-chat', import.meta.url));
let server: TestServer;
let built: string;
let pages: PreviewServer;
let browser: TestBrowser;

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
  const troupe = new Troupe({ baseUrl: server.url });
  await troupe.agents.create({ body: { name: 'Olga', capabilities: [{ id: 'delegation' }] } });
  built = mkdtempSync(join(tmpdir(), 'troupe-offline-chat-'));
  const common = { root, logLevel: 'error' as const };
  await build({ ...common, build: { outDir: built, emptyOutDir: true, minify: false } });
  const proxy = { '/v1': server.url };
  pages = await preview({
    ...common,
    build: { outDir: built },
    preview: { port: 0, host: '127.0.0.1', proxy },
  });
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
  await pages?.close();
  await server?.close();
  rmSync(built, { recursive: true, force: true });
});

const said = (page: Page) => page.locator('#messages li').allTextContents();

it('what is said offline, in a chat begun offline, arrives when there is a network again; tasks show their steps', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(pages.resolvedUrls!.local[0]!);
  await page.selectOption('#agent', { label: 'Olga' });
  // Whoever goes before the page has put itself aside finds nothing later.
  await page.waitForFunction('navigator.serviceWorker.controller');

  await context.setOffline(true);
  expect(await said(page)).toEqual(['Choose a chat, or begin one.']);
  await page.click('text=New chat');
  const asksFor = () => page.getAttribute('#text', 'placeholder');
  await until('it says to whom', async () => (await asksFor()) === 'Say something to Olga');
  await page.fill('#text', 'delegate to general: how much is 2+2?');
  await page.click('text=Send');
  await until('it waits', async () => (await page.locator('li[data-pending]').count()) === 1);
  expect(await page.locator('#state').textContent()).toMatch(/^Offline/);
  const { rows } = await server.db.pool.query('select from troupe.sessions');
  expect(rows).toEqual([]);

  // The chat comes late to the server; what was said in it must not come before.
  await context.route('**/sync/sessions/push*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await context.setOffline(false);
  await until('it was answered', async () => (await said(page)).length === 2);
  expect(await page.locator('li[data-pending]').count()).toBe(0);
  const [asked, answered] = await said(page);
  expect(asked).toBe('delegate to general: how much is 2+2?');
  expect(answered).toContain('4');
  await until('the task is done', async () => (await page.textContent('#tasks'))?.includes('general: done'));
  expect(await page.textContent('#tasks')).toMatch(/how much is 2\+2\?[\s\S]*4/);

  const stored = () =>
    server.db.pool.query(`select s.title, m.content->>'text' as text from troupe.sessions s
      join troupe.messages m on m.thread_id = s.thread_id and m.role = 'user'`);
  await until('the chat has its name', async () => (await stored()).rows[0].title === asked);
  expect((await stored()).rows).toEqual([{ title: asked, text: asked }]);

  // Without a network the page opens all the same, with what it has.
  await page.reload();
  await context.setOffline(true);
  await page.reload();
  await until('it is there', async () => (await said(page)).length === 2);
  expect(await said(page)).toEqual([asked, answered]);
  await context.close();
});
