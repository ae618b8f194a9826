import { readFileSync } from 'node:fs';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

// Agents as people make and change them.

let fixture: ConsoleFixture;

/** What does not come is named, rather than the test that waited for it. */
async function open(path: string, options?: BrowserContextOptions) {
  const page = await fixture.page(path, options);
  page.setDefaultTimeout(20_000);
  return page;
}

beforeAll(async () => {
  fixture = await ConsoleFixture.open({ postgresUrl: inject('postgresUrl') });
});
afterAll(async () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
  await fixture.close();
});

it('makes an agent, gives it capabilities in an order by keyboard, and saves that as a version with a note', async () => {
  const page = await open('/agents');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await page.getByLabel('Name', { exact: true }).fill('general');
  await page.getByLabel('Prompt', { exact: true }).fill('You help with bicycles.');
  await page.getByRole('button', { name: 'Create agent' }).click();
  // The server rejects the name: its issue is shown at the field, which has the focus.
  await page.getByText('Is taken.').waitFor();
  const name = page.getByLabel('Name', { exact: true });
  expect(await page.locator(':focus').getAttribute('id')).toBe(await name.getAttribute('id'));
  expect(await name.getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByRole('dialog').getByRole('alert').count()).toBe(0);
  await name.fill('Ada');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await page.getByRole('heading', { name: /^Ada/, level: 1 }).waitFor();

  const add = page.getByLabel('Add a capability', { exact: true });
  await add.selectOption({ label: 'Current time' });
  await add.selectOption({ label: 'Memory' });
  const order = page.getByRole('list', { name: 'Capabilities in their order' });
  await order.getByRole('button', { name: 'Options' }).click();
  await page.getByLabel('Per', { exact: true }).selectOption('agent');
  await page.getByRole('button', { name: 'Move Memory', exact: true }).focus();
  await page.keyboard.press('ArrowUp');
  await page.getByText('Memory is number 1 of 2 now.').waitFor();
  await page.getByLabel('Model calls of a run').fill('0');
  await page.getByLabel('Note on this version').fill('Remembers');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  // The server's issue is shown at its field, and correcting the value is enough.
  await page.getByText(/^Must be /).waitFor();
  expect(await page.getByLabel('Model calls of a run').getAttribute('aria-invalid')).toBe('true');
  await page.getByLabel('Model calls of a run').fill('7');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('version 2', { exact: true }).waitFor();

  const { data } = await fixture.troupe.agents.list({ query: { search: 'Ada' } });
  const [agent] = data;
  expect(agent).toMatchObject({
    version: 2,
    capabilities: [
      { id: 'memory', config: { per: 'agent' } },
      { id: 'current_time', config: {} },
    ],
    limits: { steps: 7 },
  });
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page
    .getByRole('region', { name: 'Prompt', exact: true })
    .getByText('You help with bicycles.')
    .waitFor();
  await page.getByText('set_memories').first().waitFor();
});

it('shows both where two people saved, warns of unsaved changes, and compares and rolls back versions', async () => {
  const agent = await fixture.troupe.agents.create({
    body: { name: 'Lin', systemPrompt: 'Be kind.\nBe brief.', tags: ['sums'] },
  });
  const params = { agentId: agent.id };
  const page = await open(`/agents/${agent.id}`);
  const prompt = page.getByLabel('What the model is told before the conversation');
  await prompt.fill('Be kind.\nBe very brief.');
  await fixture.troupe.agents.update({ params, body: { description: 'Of somebody else' } });
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await page
    .getByRole('dialog', { name: 'Leave without saving?' })
    .getByRole('button', { name: 'Stay' })
    .click();
  expect(await prompt.inputValue()).toBe('Be kind.\nBe very brief.');
  // Nor does a look at another tab lose it.
  await page.getByRole('tab', { name: 'Goals' }).click();
  await page.getByText('No goals').waitFor();
  await page.getByRole('tab', { name: 'Edit' }).click();
  expect(await prompt.inputValue()).toBe('Be kind.\nBe very brief.');

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const conflict = page.getByRole('dialog', { name: 'Somebody else saved meanwhile' });
  await conflict.getByRole('region', { name: 'Your change of the prompt' }).getByText('very').waitFor();
  await conflict.getByRole('button', { name: 'Save mine on top' }).click();
  await page.getByText('version 3', { exact: true }).waitFor();
  // Neither is lost.
  expect(await fixture.troupe.agents.get({ params })).toMatchObject({
    systemPrompt: 'Be kind.\nBe very brief.',
    description: 'Of somebody else',
  });

  await page.getByRole('tab', { name: 'Versions' }).click();
  await page.getByLabel('Compare from version 1').check();
  const diff = page.getByRole('region', { name: 'The prompt of versions 1 and 3' });
  expect(await diff.getByRole('row').allTextContents()).toEqual([
    '11 Be kind.',
    '2−Removed: Be brief.',
    '2+Added: Be very brief.',
  ]);
  expect(new URL(page.url()).searchParams.get('from')).toMatch(/1/);
  await page.getByRole('button', { name: 'Roll back to version 1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await page.getByText('version 4', { exact: true }).waitFor();
  expect(await fixture.troupe.agents.get({ params })).toMatchObject({
    systemPrompt: 'Be kind.\nBe brief.',
    description: null,
  });
});

it('keeps memories and goals, takes an agent out and in as a file, finds it, archives it and talks to it', async () => {
  const agent = await fixture.troupe.agents.create({ body: { name: 'Joan', tags: ['shop'] } });
  const params = { agentId: agent.id };
  const page = await open(`/agents/${agent.id}?tab=memories`);
  await page.getByRole('button', { name: 'Add memory' }).click();
  await page.getByLabel('Key', { exact: true }).fill('opening');
  await page.getByLabel('Value', { exact: true }).fill('Nine');
  await page.getByRole('button', { name: 'Save memory' }).click();
  await page.getByRole('button', { name: 'Edit opening' }).click();
  await page.getByLabel('Value', { exact: true }).fill('Twelve');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Edit opening' }).click();
  await page.getByLabel('Value', { exact: true }).fill('Ten');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('cell', { name: 'Ten' }).waitFor();
  // Kept for all, not of those who were not named.
  await page.getByLabel('Whose').selectOption({ label: 'Of those who were not named' });
  await page.getByText('No memories yet').waitFor();
  await page.getByLabel('Whose').selectOption({ label: 'Kept for all' });
  await page.getByRole('button', { name: 'Delete opening' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete memory' }).click();
  await page.getByText('No memories yet').waitFor();

  await page.getByRole('tab', { name: 'Goals' }).click();
  await page.getByLabel('New goal').fill('Sell ten lights');
  await page.keyboard.press('Enter');
  await page.getByLabel('Status of Sell ten lights').selectOption('completed');
  await expect
    .poll(async () => (await fixture.troupe.goals.list({ params })).data)
    .toMatchObject([{ description: 'Sell ten lights', status: 'completed' }]);

  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Export as Markdown' }).click();
  const file = readFileSync(await (await downloading).path(), 'utf8');
  expect(file).toContain('name: Joan');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Archive…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await page.getByText('archived', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'Agents', exact: true }).first().click();
  await page.getByLabel('Search agents').fill('joan');
  await page.getByText('No agents match').waitFor();
  await page.getByLabel('Status').selectOption('archived');
  await page.getByRole('link', { name: 'Joan' }).waitFor();
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('Text', { exact: true }).fill(file.replace('- shop', '- town'));
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByText('version 2', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Talk to it' }).click();
  await page.waitForURL(/\/sessions\//);
  expect(await fixture.troupe.agents.get({ params })).toMatchObject({ status: 'active', tags: ['town'] });
});
