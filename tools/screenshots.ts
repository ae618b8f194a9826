/**
 * Takes the pictures of the README and the documents, of a server that has just been started with an empty database:
 * `npm start`, then `node tools/screenshots.ts [address]`. What they show is made through the console itself.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { openBrowser } from './browser.ts';

const address = process.argv[2] ?? 'http://localhost:4700';
const folder = resolve(import.meta.dirname, '../docs/images');
mkdirSync(folder, { recursive: true });

const browser = await openBrowser();

async function open(colorScheme: 'light' | 'dark', width = 1_440, height = 900): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  return context.newPage();
}

async function take(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('load');
  // Plots and lists have come in, nothing is drawn half.
  await page.waitForTimeout(1_200);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}

try {
  const page = await open('light');
  await page.goto(address);
  await page.getByRole('button', { name: 'Start all four' }).click();
  const part = (name: string) => page.getByRole('article', { name, exact: true });
  await part('A space').getByText('as long as it does not rain').waitFor();
  await part('Sub-agents').getByText('42').first().waitFor();
  await part('A network').getByText('51').waitFor();
  await part('A session')
    .getByText(/^It is /)
    .first()
    .waitFor();
  await take(page, 'home');
  const links = {
    session: await hrefOf('Sub-agents'),
    space: await hrefOf('A space'),
    run: await hrefOf('A network'),
  };
  await page.goto(address + links.session);
  await take(page, 'session');
  await page.goto(address + links.space);
  await take(page, 'space');
  await page.goto(`${address}/networks/Front%20desk`);
  await take(page, 'network');
  const dark = await open('dark');
  await dark.goto(`${address + links.run}?tab=timeline`);
  await take(dark, 'run');
  await dark.goto(`${address}/runs`);
  await take(dark, 'runs');

  async function hrefOf(name: string): Promise<string> {
    return (await part(name).getByRole('link', { name: /^Open/ }).getAttribute('href')) ?? '/';
  }
} finally {
  await browser.close();
}
