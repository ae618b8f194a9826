import { createDemo } from '@troupe/server/parts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

// One person and the demo model: everything a session page is for, in the order in which somebody would do it.

let fixture: ConsoleFixture;
let page: Page;
/** As always, but where it is to count: then it begins, and goes on until somebody stops it. */
const demo = createDemo({ delayMs: 0 });
const counting = {
  text: 'One, two, three',
  chunks: ['One, two', ', three'],
  failAfterChunks: 1,
  stallForever: true,
};

beforeAll(async () => {
  fixture = await ConsoleFixture.open({
    postgresUrl: inject('postgresUrl'),
    script: async (request) => {
      const last = request.messages.at(-1);
      if (last?.role === 'user' && last.text === 'Count') return counting;
      const { signal } = new AbortController();
      const { text, calls } = await demo.generate(request, { signal, onDelta: () => {} });
      return { text, calls };
    },
  });
  await fixture.troupe.agents.create({
    body: {
      name: 'Helper',
      capabilities: [{ id: 'current_time' }, { id: 'delegation' }, { id: 'file_system' }],
    },
  });
  page = await fixture.page('/sessions');
  page.setDefaultTimeout(20_000);
});
afterAll(() => fixture?.close());

const say = async (text: string) => {
  await page.getByRole('textbox', { name: 'Message to Helper' }).fill(text);
  await page.keyboard.press('Enter');
};
const patience = { timeout: 15_000 };
const tab = (name: string) => page.getByRole('tab', { name }).click();
const ready = () => page.getByRole('heading', { level: 1 }).getByText('Ready').waitFor();

it('opens a session with an agent, which answers', async () => {
  await page.getByText('No sessions yet').waitFor();
  await page.getByRole('button', { name: 'Create session' }).first().click();
  await page.getByRole('radio', { name: 'Helper' }).check({ force: true });
  await page.getByRole('textbox', { name: 'First message' }).fill('What are you?');
  await page.getByRole('button', { name: 'Create and send' }).click();
  const said = page.getByRole('article', { name: 'Helper' });
  await said.getByText('choose one of its models for this agent.').waitFor();
  await page.getByRole('heading', { level: 1, name: 'What are you?' }).waitFor();
  await ready();
});

it('shows what is being written, and stops it', async () => {
  await say('Count');
  await page.locator('article[aria-busy=true]').getByText('One, two').waitFor();
  await page.getByRole('heading', { level: 1 }).getByText('Running').waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await ready();
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' });
  // Also to whoever comes later: it was stopped, and can be taken up again.
  await page.reload();
  await page.getByText('Stopped before it was done.').waitFor();
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.locator('article[aria-busy=true]').getByText('One, two').waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('Stopped before it was done.').waitFor();
});

it('shows sub-agents as a tree, and leads to what was said within them', async () => {
  await say('delegate to general: how much is 6 times 7?');
  const tree = page.getByRole('tree', { name: 'Sub-agents' });
  const item = tree.getByRole('treeitem').filter({ hasText: 'general' });
  await item.getByText('Done').waitFor();
  await ready();
  await item.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /general/ }).waitFor();
  await page.getByRole('article', { name: 'general' }).getByText('42').first().waitFor();
  await page.getByRole('link', { name: 'What are you?' }).click();
  await page.getByRole('textbox', { name: 'Message to Helper' }).waitFor();
});

it('takes files, shows them and deletes them', async () => {
  await tab('Files');
  await page.getByText('No files').waitFor();
  await page.getByLabel('Files to upload').setInputFiles({
    name: 'notes.md',
    mimeType: 'text/markdown',
    buffer: Buffer.from('# Remember the milk'),
  });
  await page.getByRole('button', { name: '/notes.md', exact: true }).click();
  await page.getByRole('dialog').getByText('Remember the milk').waitFor();
  expect(new URL(page.url()).searchParams.get('file')).toBe('/notes.md');
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
  expect((await download).suggestedFilename()).toBe('notes.md');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Delete /notes.md' }).click();
  await page.getByRole('button', { name: 'Delete the file' }).click();
  await page.getByText('No files').waitFor();
});

it('lists every event as it comes, by type, and each as JSON; and the runs', async () => {
  await tab('Events');
  const events = page.getByRole('list', { name: 'Events' });
  await events.getByText('run.completed').first().waitFor();
  await say('How much is 17 times 3?');
  await page.getByRole('article', { name: 'Helper' }).getByText('17 times 3 = 51').waitFor();
  await page.getByRole('combobox', { name: 'Types of events' }).selectOption('run.canceled');
  const canceled = events.getByRole('button', { name: /run\.canceled/ });
  // Stopped, taken up, stopped again.
  await expect.poll(() => events.getByRole('listitem').count(), patience).toBe(2);
  await canceled.first().click();
  await events.getByText('"threadId"').waitFor();
  await tab('Runs');
  await page.getByRole('link', { name: /How much is 17 times 3\?.*Completed/ }).waitFor();
  // What is looked at is in the address.
  await page.reload();
  expect(await page.getByRole('tab', { name: 'Runs' }).getAttribute('aria-selected')).toBe('true');
});

it('shows in a list that one comes back to what happened meanwhile', async () => {
  const address = page.url();
  const go = (name: string) =>
    page.getByRole('navigation').getByRole('link', { name, exact: true }).first().click();
  const titles = page.getByRole('table', { name: 'Sessions' }).getByRole('link');
  await go('Sessions');
  await titles.getByText('What are you?').waitFor();
  await go('Agents');
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  const { data: agents } = await fixture.troupe.agents.list();
  const stop = new AbortController();
  const changes = fixture.troupe.changes({ collections: ['sessions'], signal: stop.signal });
  await changes.next();
  const agentId = agents.find(({ name }) => name === 'Helper')!.id;
  const made = await fixture.troupe.open(agentId, { title: 'Made meanwhile' });
  await changes.next();
  stop.abort();
  // The page is told with everybody, and gathers what it hears for a moment.
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
  await go('Sessions');
  await titles.getByText('Made meanwhile').waitFor({ timeout: 3_000 });
  await made.delete();
  await page.goto(address);
});

it('renames it, forks it and deletes it', async () => {
  const more = page.getByRole('button', { name: 'More', exact: true });
  await more.click();
  await page.getByRole('menuitem', { name: 'Rename and settings' }).click();
  await page.getByRole('textbox', { name: 'Title' }).fill('Sums and files');
  await page.getByRole('textbox', { name: 'Tags' }).fill('sums, files');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sums and files' }).waitFor();
  const address = page.url();
  await more.click();
  await page.getByRole('menuitem', { name: 'Fork' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Fork session', exact: true }).click();
  await page.waitForURL((url) => url.pathname !== new URL(address).pathname);
  await page.getByRole('article', { name: 'Helper' }).getByText('17 times 3 = 51').waitFor();
  await more.click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete session' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
  // Whoever looks at one that somebody else deletes is told so, and not that the line is down.
  const gone = await fixture.troupe.open(address.split('/').at(-2)!);
  await gone.sendAndWait('How much is 2 times 3?');
  const other = await fixture.page(`/sessions/${address.split('/').at(-2)}/${gone.id}`);
  await other.getByRole('article', { name: 'Helper' }).getByText('2 times 3 = 6').waitFor();
  await gone.delete();
  await other.getByText('There is no such session. What you see was read before.').waitFor();
  expect(await other.getByRole('textbox', { name: 'Message to Helper' }).isDisabled()).toBe(true);
  expect(await other.getByText('Offline').count()).toBe(0);
  await other.close();
  const rows = page.getByRole('table', { name: 'Sessions' }).getByRole('link', { name: /sums|What are/i });
  await expect.poll(() => rows.allTextContents(), patience).toEqual(['Sums and files']);
  await page.getByRole('searchbox', { name: 'Search titles and ids' }).fill('nothing like it');
  await page.getByText('No sessions match').waitFor();
  expect(page.url()).toContain('search=nothing');
  await page.getByRole('searchbox', { name: 'Search titles and ids' }).fill('SUMS');
  await rows.waitFor();
});

it('asked nobody else, and nothing was thrown', () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
