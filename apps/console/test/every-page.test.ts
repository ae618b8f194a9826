import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { openServer, until } from '@troupe/testing';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { consoleFolder } from '../../../tools/console.ts';
import { ConsoleFixture } from './fixture.ts';

// What must be true of every page: it can be used by whoever does not see it, in both themes, on a phone, and by keyboard alone.

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LONG = 'An agent with a name that is rather long, as those of people who like to be exact are';
let fixture: ConsoleFixture;
let paths: string[];

beforeAll(async () => {
  fixture = await ConsoleFixture.open({ postgresUrl: inject('postgresUrl') });
  const { troupe } = fixture;
  const agent = await troupe.agents.create({
    body: { name: LONG, capabilities: [{ id: 'current_time' }, { id: 'delegation' }], tags: ['demo'] },
  });
  const session = await troupe.open(agent.id, { title: `${LONG}, and its first session` });
  await session.sendAndWait('What time is it?');
  await session.sendAndWait('delegate to general: how much is 6*7?');
  const space = await troupe.spaces.create({
    body: { name: LONG, members: [{ user: 'ann' }, { agentId: agent.id }] },
  });
  const network = await troupe.networks.create({
    body: {
      name: 'Desk',
      agents: [
        { key: 'front', isDefault: true, prompt: 'Hand it over.', routes: ['sums'] },
        { key: 'sums', allowRespond: true, prompt: 'You do sums.' },
      ],
    },
  });
  await troupe.networks.publish({ params: { network: network.id }, body: {} });
  const { id: runId } = await troupe.network('Desk').invokeAndWait('How much is 2+2?');
  const { data: tasks } = await troupe.tasks.list();
  const tool = await troupe.tools.create({
    body: { name: 'echo_it', description: 'Says it again.', kind: 'echo' },
  });
  paths = [
    ...[
      '/',
      '/inbox',
      '/sessions',
      '/spaces',
      '/networks',
      '/runs',
      '/tasks',
      '/agents',
      '/tools',
      '/triggers',
    ],
    ...['/plans', '/workers', '/usage', '/models', '/keys', '/audit', '/settings'],
    `/sessions/${agent.id}/${session.id}`,
    `/spaces/${space.id}`,
    `/networks/${network.id}`,
    ...['overview', 'timeline', 'steps', 'events', 'messages'].map((tab) => `/runs/${runId}?tab=${tab}`),
    `/agents/${agent.id}`,
    `/tools/${tool.id}`,
    `/tasks/${tasks[0]!.id}`,
  ];
});
afterAll(() => fixture?.close());

/** What is loaded lazily has come, and nothing is on its way. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await until('nothing is on its way', () =>
    page
      .locator('main [data-loading]')
      .count()
      .then((count) => count === 0),
  );
}

/** Goes there as a click would, without loading the page anew. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState({}, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await page.waitForURL(fixture.server.url + path);
  await settled(page);
}

for (const colorScheme of ['light', 'dark'] as const) {
  it(`has nothing that axe calls serious, in the ${colorScheme} theme`, async () => {
    const page = await fixture.page('/', { colorScheme, reducedMotion: 'reduce' });
    await settled(page);
    await page.evaluate(AXE);
    const found: unknown[] = [];
    // Between the themes only colours differ.
    const rules = {
      resultTypes: ['violations'],
      ...(colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {}),
    };
    for (const path of paths) {
      await go(page, path);
      const violations = await page.evaluate<AxeResults['violations']>(
        `axe.run(document, ${JSON.stringify(rules)}).then(({ violations }) => violations)`,
      );
      for (const { id, impact, nodes } of violations) {
        if (impact !== 'serious' && impact !== 'critical') continue;
        found.push([
          path,
          id,
          nodes.slice(0, 3).map(({ html, any }) => [html.slice(0, 200), any[0]?.message]),
        ]);
      }
    }
    expect(found).toEqual([]);
    await page.context().close();
  });
}

it('fits on a phone, whatever the names', async () => {
  const page = await fixture.page('/', { viewport: { width: 390, height: 844 } });
  await settled(page);
  const wide: [string, unknown][] = [];
  for (const path of paths) {
    await go(page, path);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width !== 390) wide.push([path, width]);
    const tables = await page.evaluate(
      `[...document.querySelectorAll('main section > table')].filter((table) => table.scrollWidth > table.parentElement.clientWidth).length`,
    );
    if (tables) wide.push([path, `${tables} tables`]);
  }
  expect(wide).toEqual([]);
  await page.context().close();
});

it('is used by keyboard alone: a place by two keys, anything by the palette, help, and back', async () => {
  const page = await fixture.page('/');
  await settled(page);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find or do' }).waitFor();
  await page.keyboard.type('general');
  const wanted = page.getByRole('option', { name: 'Talk to general' });
  await wanted.waitFor();
  await until('it is chosen', async () => {
    if ((await wanted.getAttribute('aria-selected')) === 'true') return true;
    await page.keyboard.press('ArrowDown');
    return false;
  });
  await page.keyboard.press('Enter');
  // One is in the field already, and writes.
  await page.getByRole('textbox', { name: /^Message/ }).waitFor();
  await until('the field has the focus', () =>
    page
      .locator('textarea:focus')
      .count()
      .then((count) => count === 1),
  );
  await page.keyboard.type('How much is 3*5?');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText('3*5 = 15.').waitFor();
  await page.context().close();
});

it('keeps the theme and the time zone that were chosen', async () => {
  const page = await fixture.page('/settings', { timezoneId: 'UTC' });
  await page.getByLabel('Theme').selectOption('dark');
  expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  expect(await ground()).toBe('rgb(17, 17, 22)');
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.goto(`${fixture.server.url}/audit`);
  expect(await ground()).toBe('rgb(17, 17, 22)');
  const time = page.locator('main time').first();
  await time.waitFor();
  const shown = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'long',
    timeZone: 'Asia/Tokyo',
  });
  expect(await time.getAttribute('title')).toBe(
    shown.format(new Date((await time.getAttribute('datetime'))!)),
  );
  await page.context().close();
});

it('asks for a key where one is needed, says when it is refused, and lets in who has one', async () => {
  const closed = await openServer({
    postgresUrl: inject('postgresUrl'),
    mode: 'closed',
    console: consoleFolder,
  });
  const page = await fixture.browser.newPage();
  try {
    const project = randomUUID();
    await closed.db.pool.query(`insert into troupe.projects (id, name) values ($1, 'default')`, [project]);
    const owner = { project, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
    const made = await closed.access.keys.create(owner, {
      ...{ name: 'console', kind: 'secret' as const, scopes: [], expiresAt: null },
    });
    const { key } = made;
    page.setDefaultTimeout(8_000);
    await page.goto(`${closed.url}/runs`);
    await page.getByLabel('Secret key').fill('tsk_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('The key that this browser has is refused.').waitFor();
    await page.getByLabel('Secret key').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    // With a public key it takes the token of a person, who sees what is theirs.
    const secret = 'a secret of thirty-two bytes or more';
    await closed.access.secrets.put(owner, 'TOKENS', secret);
    const rules = { algorithms: ['HS256' as const], audience: 'troupe', issuer: null, claim: 'sub' };
    await closed.access.projects.update(owner, {
      tokens: { ...rules, secretName: 'TOKENS', jwksUrl: null },
    });
    const open = await closed.access.keys.create(owner, {
      ...{ name: 'app', kind: 'public' as const, scopes: [], expiresAt: null },
    });
    const person = await (await fixture.browser.newContext()).newPage();
    await person.goto(closed.url);
    await person.getByLabel('Secret key').fill(open.key);
    await person.getByLabel('Token of the person').fill(tokenOf('ann', secret));
    await person.keyboard.press('Enter');
    await person.getByText('Nothing waits for you').waitFor();
    await person.getByRole('link', { name: 'Spaces' }).click();
    await person.getByText('No spaces yet').waitFor();
    expect(await person.getByRole('link', { name: 'Keys and secrets' }).count()).toBe(0);
    await person.context().close();
    // Revoked while the page is open: it asks for another.
    await closed.access.keys.revoke(owner, made.id);
    await expect
      .poll(
        async () => {
          await page.getByRole('link', { name: 'Home' }).or(page.getByLabel('Secret key')).first().click();
          await page.getByRole('link', { name: 'Agents' }).or(page.getByLabel('Secret key')).first().click();
          return page.getByText('The key that this browser has is refused.').count();
        },
        { timeout: 15_000 },
      )
      .toBe(1);
  } finally {
    await page.close();
    await closed.close();
  }
});

function tokenOf(person: string, secret: string): string {
  const inBase64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { sub: person, aud: 'troupe', exp: Math.floor(Date.now() / 1_000) + 300 };
  const signed = `${inBase64({ alg: 'HS256' })}.${inBase64(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

it('asked nobody but the server, and threw nothing', () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
