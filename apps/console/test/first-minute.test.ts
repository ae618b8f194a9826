import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { consoleFolder } from '../../../tools/console.ts';
import { ConsoleFixture } from './fixture.ts';

// What somebody sees who has just installed it, and reads nothing.

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await ConsoleFixture.open({ postgresUrl: inject('postgresUrl') });
});
afterAll(() => fixture?.close());

const part = (page: Page, name: string) => page.getByRole('article', { name, exact: true });

it('shows in one click a session that answers, three agents that talk, a network that routes and sub-agents that finish', async () => {
  const page = await fixture.page('/');
  const began = Date.now();
  await page.getByRole('button', { name: 'Start all four' }).click();
  await part(page, 'A session')
    .getByText(/^It is .* \d{2}:\d{2}/)
    .first()
    .waitFor();
  const space = part(page, 'A space');
  for (const said of ['I would take the garden', 'The garden is cheap', 'Fine, as long as it does not rain'])
    await space.getByText(said).waitFor();
  const network = part(page, 'A network');
  await network.getByText('51').waitFor();
  expect(
    await network.getByRole('list', { name: 'The way it takes' }).getByRole('listitem').allTextContents(),
  ).toEqual(['front', 'sums']);
  const tasks = part(page, 'Sub-agents').getByRole('list', { name: 'Sub-agents' });
  await expect.poll(() => tasks.getByLabel('done').count(), { timeout: 20_000 }).toBe(2);
  await part(page, 'Sub-agents').getByText('42').first().waitFor();
  expect(Date.now() - began).toBeLessThan(60_000);

  // All of it is there afterwards, and each leads to its page.
  await space.getByRole('link', { name: 'Open A space' }).click();
  await page.getByRole('heading', { name: 'Summer party', level: 1 }).waitFor();
  await page.goBack();
  await part(page, 'A session').getByRole('link', { name: 'Open A session' }).click();
  await page.getByText('What time is it?').first().waitFor();
});

it('loads less than 350 KB of JavaScript at first, nothing from elsewhere, and says that the demo model answers', async () => {
  const page = await fixture.page('about:blank');
  const names: string[] = [];
  page.on(
    'request',
    (request) => request.url().endsWith('.js') && names.push(new URL(request.url()).pathname),
  );
  await page.goto(fixture.server.url);
  await page.getByText('Runs, last 24 hours').waitFor();
  await page.getByRole('link', { name: 'Connect a real model' }).waitFor();
  const files = names.map((name) => readFileSync(join(consoleFolder, name)));
  const bytes = files.map((file) => gzipSync(file).length);
  expect(names.length).toBeGreaterThan(2);
  const total = bytes.reduce((sum, one) => sum + one, 0);
  expect(total).toBeGreaterThan(50_000);
  expect(total).toBeLessThan(350_000);
  // What draws graphs comes where one is drawn, and plots where there are some.
  const hasGraphs = (file: Buffer) => file.includes('react-flow__node');
  const hasPlots = (file: Buffer) => file.includes('Runs, last 24 hours');
  expect([files.some(hasGraphs), files.some(hasPlots)]).toEqual([false, true]);
  names.length = 0;
  const network = await fixture.troupe.networks.create({
    body: {
      name: 'Drawn',
      agents: [{ key: 'front', isDefault: true, allowRespond: true, prompt: 'Answer.' }],
    },
  });
  await page.goto(`${fixture.server.url}/networks/${network.id}`);
  await page.locator('.react-flow__node').waitFor();
  const later = names.map((name) => readFileSync(join(consoleFolder, name)));
  expect([later.some(hasGraphs), later.some(hasPlots)]).toEqual([true, false]);
});

it('opens links into it, and leaves the API to programs', async () => {
  const { url } = fixture.server;
  const page = await fetch(`${url}/runs/some-run?tab=events`, { headers: { accept: 'text/html' } });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers.get('content-security-policy')).toContain("connect-src 'self'");
  expect((await fetch(`${url}/v1/nothing`, { headers: { accept: 'text/html' } })).status).toBe(404);
  expect((await fetch(`${url}/assets/nothing.js`)).status).toBe(404);
  expect((await fetch(`${url}/nothing`, { headers: { accept: 'application/json' } })).status).toBe(404);
  expect((await fetch(`${url}/..%2f..%2fpackage.json`)).status).toBe(404);
});

it('asked nobody but the server, and threw nothing', () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
