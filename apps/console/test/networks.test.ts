import { readFile } from 'node:fs/promises';
import { until } from '@troupe/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

// One network, from its first agent to a batch over it, by the hands of a person; the demo model answers.

let fixture: ConsoleFixture;
let page: Page;
beforeAll(async () => {
  fixture = await ConsoleFixture.open({ postgresUrl: inject('postgresUrl') });
  // Wide enough that a route is not drawn at the edge of the canvas, which would move under the hand.
  page = await fixture.page('/networks', { viewport: { width: 1_920, height: 1_000 } });
  page.setDefaultTimeout(12_000);
});
afterAll(() => fixture.close());

const node = (key: string) => page.locator(`.react-flow__node[data-id="${key}"]`);
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const tab = (name: string) => page.getByRole('tab', { name, exact: true }).click();
const dialog = () => page.getByRole('dialog');
const route = (from: string, to: string) => page.getByLabel(new RegExp(`^Route from ${from} to ${to}`));
const draftOf = () => fixture.troupe.networks.definition({ params: { network: 'Help desk' } });

async function middleOf(place: Locator): Promise<[number, number]> {
  const { x, y, width, height } = (await place.boundingBox())!;
  return [x + width / 2, y + height / 2];
}

async function drag(from: Locator, to: Locator): Promise<void> {
  await page.mouse.move(...(await middleOf(from)));
  await page.mouse.down();
  const [x, y] = await middleOf(to);
  await page.mouse.move(x - 5, y, { steps: 4 });
  await page.mouse.move(x, y);
  await page.mouse.up();
}

async function publish(note: string, what: string): Promise<void> {
  await button('Publish').click();
  await dialog().getByLabel('Note').fill(note);
  await dialog().getByRole('button', { name: what, exact: true }).click();
  await dialog().waitFor({ state: 'detached' });
}

test('a network is made from the example, and routes are drawn by keyboard and by mouse', async () => {
  await page.getByText('No networks yet').waitFor();
  await button('Create network').first().click();
  await dialog().getByText('From an example').click();
  await dialog().getByLabel('Name').fill('Help desk');
  await page.keyboard.press('Enter');
  await node('writer').waitFor();
  expect(await page.getByLabel(/^Route from \w+ to/).count()).toBe(2);

  await page.getByLabel('From', { exact: true }).focus();
  await page.keyboard.type('writer');
  await page.keyboard.press('Tab');
  await page.keyboard.type('front');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await route('writer', 'front').waitFor({ state: 'attached' });

  // No route leads to a new agent, and none from it to one that may respond: both are shown where they are.
  await button('Add an own agent').click();
  await node('agent').getByText('only a limit would end a run there. (and 1 more)').waitFor();
  await drag(node('front').locator('.source'), node('agent').locator('.target'));
  await route('front', 'agent').waitFor({ state: 'attached' });
  await node('agent').getByText('(and 1 more)').waitFor({ state: 'detached' });
  await page.locator('summary', { hasText: '1 problem' }).click();
  await page.getByRole('button', { name: /agents\.agent · no_way_to_respond/ }).click();
  await page.getByRole('checkbox', { name: 'May respond' }).check();
  await page.getByText('No problems').waitFor();
  expect((await draftOf()).agents).toHaveLength(3);
});

test('undo and redo; a tool is dropped on an agent; what differs is shown, and saved', async () => {
  await button('Undo').click();
  await node('agent').getByText('only a limit').waitFor();
  await button('Redo').click();
  await page.getByText('No problems').waitFor();
  await page.getByLabel(/^Give lookup to/).dragTo(node('writer'));
  await node('writer').getByText('lookup').waitFor();
  // Whoever moves one box, or drops another, moves no other.
  const stays = await node('front').boundingBox();
  const [x, y] = await middleOf(node('writer'));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 10, y + 60, { steps: 4 });
  await page.mouse.up();
  await until('it is moved', async () => Math.abs((await middleOf(node('writer')))[1] - y) > 40);
  await button('Add an own agent').dragTo(page.locator('.react-flow__pane'), {
    targetPosition: { x: 40, y: 40 },
  });
  await node('agent-2').waitFor();
  expect(await node('front').boundingBox()).toEqual(stays);
  await button('Undo').click();
  await node('agent-2').waitFor({ state: 'detached' });
  await button('Save').click();
  const differs = dialog().getByLabel('What differs');
  expect(await differs.getByRole('listitem').filter({ hasText: 'Added' }).first().textContent()).toMatch(
    /agent/,
  );
  await dialog().getByRole('button', { name: 'Save draft' }).click();
  await dialog().waitFor({ state: 'detached' });
  const { agents } = await draftOf();
  expect(agents.find(({ key }) => key === 'agent')).toMatchObject({ allowRespond: true });
  expect(agents.find(({ key }) => key === 'front')?.routes).toEqual(['researcher', 'agent']);
  expect(agents.find(({ key }) => key === 'writer')).toMatchObject({ routes: ['front'], tools: ['lookup'] });
});

test('what somebody else saved meanwhile is neither lost nor overwritten', async () => {
  await node('researcher').click();
  await page.getByLabel('Description').fill('Mine.');
  await fixture.troupe.networks.updateAgent({
    params: { network: 'Help desk', key: 'writer' },
    body: { prompt: 'Theirs.' },
  });
  await button('Save').click();
  await dialog()
    .getByRole('button', { name: 'Save draft' })
    .or(dialog().getByText('What they changed'))
    .first()
    .waitFor();
  if (await dialog().getByRole('button', { name: 'Save draft' }).isVisible())
    await dialog().getByRole('button', { name: 'Save draft' }).click();
  await dialog().getByRole('region', { name: 'Prompt' }).getByText('Theirs.').waitFor();
  await dialog().getByRole('button', { name: 'Put mine on top of theirs' }).click();
  await dialog().getByRole('button', { name: 'Save draft' }).click();
  await dialog().waitFor({ state: 'detached' });
  const { agents } = await draftOf();
  expect(agents.find(({ key }) => key === 'writer')?.prompt).toBe('Theirs.');
  expect(agents.find(({ key }) => key === 'researcher')?.description).toBe('Mine.');
});

test('as text, what is wrong is told with its line', async () => {
  await button('Text').click();
  const text = page.getByLabel('Definition of the network');
  const before = await text.inputValue();
  await text.fill(before.replace('allowRespond: true', 'allowRespond: perhaps'));
  const line = before.split('\n').findIndex((one) => one.includes('allowRespond')) + 1;
  await page
    .getByLabel('Problems in the text')
    .getByRole('button', { name: `Line ${line}` })
    .waitFor();
  await text.fill(before.replace('description: Mine.', 'description: Looks things up.'));
  await page.getByText('Unsaved changes').waitFor();
  await button('Graph').click();
  await node('researcher').getByText('Looks things up.').waitFor();
});

test('it is published, run with the path lit, changed, published again and rolled back', async () => {
  await publish('the first', 'Save and publish');
  await page.getByText('version 1', { exact: true }).waitFor();

  await tab('Playground');
  await page.getByLabel('Input', { exact: true }).fill('How much is 12 * 12?');
  await button('Run network').click();
  await page.getByText('Answer of').waitFor();
  await page.getByText('144').first().waitFor();
  const decisions = page.getByRole('list', { name: 'Decisions' });
  await decisions.getByText('responds').waitFor();
  const lit = await page.locator('.react-flow__node:has(.troupe-node-visited)').count();
  expect(lit).toBeGreaterThan(1);
  expect(await page.locator('.troupe-route-visited').count()).toBe(lit - 1);
  expect(await decisions.getByText('allowed').count()).toBe(lit);
  expect(new URL(page.url()).searchParams.get('run')).toMatch(/^[0-9a-f-]{36}$/);

  await tab('Graph');
  await node('front').click();
  await page.getByLabel('Prompt').fill('Be quick.');
  await button('Publish').click();
  await dialog().getByRole('region', { name: 'Prompt' }).getByText('Be quick.').waitFor();
  await dialog().getByRole('button', { name: 'Save and publish' }).click();
  await page.getByText('version 2', { exact: true }).waitFor();

  await tab('Versions');
  await page.getByLabel('What differs').getByText('Be quick.').waitFor();

  // A tool of the project that was changed since is pinned by the next version: it is shown, although the network is the same.
  const { data } = await fixture.troupe.tools.list({ query: { name: 'lookup' } });
  const params = { toolId: data[0]!.id };
  const { models } = fixture.troupe;
  const { id: providerId } = await models.createProvider({ body: { name: 'Other', kind: 'anthropic' } });
  const body = { modelId: 'another', isDefault: true };
  const { id: modelId } = await models.createModel({ params: { providerId }, body });
  await fixture.troupe.tools.update({ params, body: { timeoutMs: 4_321 } });
  await button('Publish').click();
  const borrowed = dialog().getByRole('region', { name: 'Changed in the project since' });
  await borrowed.getByText('lookup').waitFor();
  await borrowed.getByText('4321').waitFor();
  // Every fact has a name of its own, also where several fields of one thing differ.
  const labels = await borrowed
    .locator('dl')
    .evaluateAll((lists) =>
      lists.map((list) => [...list.querySelectorAll('dt')].map((label) => label.textContent)),
    );
  for (const each of labels) expect(new Set(each).size).toBe(each.length);
  expect(labels.flat()).toContain('Model: model');
  await dialog().getByRole('button', { name: 'Cancel' }).click();
  await models.updateModel({ params: { modelId }, body: { isDefault: false } });

  await button('Publish').click();
  await borrowed.getByText('4321').waitFor();
  expect(await borrowed.getByText('Model: model').count()).toBe(0);
  await dialog().getByText('The network itself is the same.').waitFor();
  await dialog().getByRole('button', { name: 'Publish network', exact: true }).click();
  await page.getByText('version 3', { exact: true }).first().waitFor();
  const between = page.getByRole('region', { name: 'Changed in the project, by what the network refers to' });
  await between.getByText('4321').waitFor();
  await button('Publish').click();
  await dialog().getByText('Nothing differs, so there would be no new version.').waitFor();
  await dialog().getByRole('button', { name: 'Cancel' }).click();

  await button('Roll back to version 1').click();
  await dialog().getByRole('button', { name: 'Roll back' }).click();
  await page.getByText('version 1', { exact: true }).waitFor();
  expect(await fixture.troupe.networks.get({ params: { network: 'Help desk' } })).toMatchObject({
    currentVersion: 1,
  });
});

test('three rows become a batch, whose results are downloaded', async () => {
  await tab('Batches');
  await button('Create batch').click();
  await page.getByLabel('Or paste it here').fill('input,metadata.topic\n1 + 1,a\n2 + 2,b\n3 + 3,c\n');
  await page.getByRole('region', { name: 'The first rows' }).getByText('metadata.topic').waitFor();
  await button('Start 3 runs').click();
  await page.getByText('3 / 3').waitFor();
  const items = page.getByRole('table', { name: 'Items of the batch' });
  await until(
    'all items are shown completed',
    async () => (await items.getByText('Completed').count()) === 3,
  );
  expect(await items.textContent()).toMatch(/2 \+ 2 = 4/);
  await button('Results').click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'As CSV' }).click(),
  ]);
  expect(await readFile(await download.path(), 'utf8')).toMatch(/3 \+ 3 = 6/);
  await tab('Runs');
  await until(
    'all runs are shown',
    async () =>
      (await page.getByRole('table', { name: 'Runs of the network' }).getByRole('row').count()) === 5,
  );
});

test('what is selected stands in the address, and is selected where it is opened', async () => {
  await page.goto(`${page.url().split('?')[0]}?agent=researcher`);
  expect(await page.getByRole('textbox', { name: 'Key' }).inputValue()).toBe('researcher');
  await node('researcher').locator('.troupe-node-selected').waitFor();
  await page.locator('.react-flow__pane').click({ position: { x: 300, y: 60 } });
  await page.getByText('Select an agent or a route').waitFor();
  expect(new URL(page.url()).search).toBe('');
});

test('a phone gets the list, and nothing was thrown or asked of others', async () => {
  const { pathname } = new URL(page.url());
  const phone = await fixture.page(pathname, { viewport: { width: 390, height: 844 } });
  await phone.getByRole('list', { name: 'Agents' }).getByText('Front desk').waitFor();
  expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(390);
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
