import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

// Two browsers, as two people, in one space with two agents.

let fixture: ConsoleFixture;
let ada: Page;
let ben: Page;

beforeAll(async () => {
  fixture = await ConsoleFixture.open({
    postgresUrl: inject('postgresUrl'),
    // Both say what they heard; of what is asked for slowly, only the beginning, until they are stopped.
    script: ({ system, step }) => {
      if (step > 1) return { text: '' };
      const name = system.includes('You are Sums.') ? 'Sums' : 'Words';
      const heard = JSON.parse(/^- message: (".*")$/m.exec(system)![1]!) as string;
      const said = { text: `${name} heard this: ${heard}` };
      const whole = JSON.stringify(said);
      const chunks = [whole.slice(0, 24), whole.slice(24)];
      const stalls = heard.includes('slowly') ? { failAfterChunks: 1, stallForever: true } : {};
      return { ...stalls, calls: [{ name: 'send_message', arguments: said, chunks }] };
    },
  });
  for (const name of ['Sums', 'Words'])
    await fixture.troupe.agents.create({ body: { name, systemPrompt: `You are ${name}.` } });
});
afterAll(() => fixture?.close());

const patience = { timeout: 15_000 };
const write = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Message to Party' }).fill(text);
  await page.keyboard.press('Enter');
};
const become = async (page: Page, name: string) => {
  await page.getByRole('menuitem', { name: 'Create person…' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
  await page.getByRole('button', { name: 'Create person' }).click();
  await page.getByRole('button', { name: `You are ${name}` }).waitFor();
};
const said = (page: Page, by: string) => page.getByRole('article', { name: by, exact: true });

it('makes a space with agents and a person, who one is from then on', async () => {
  ada = await fixture.page('/spaces');
  ada.setDefaultTimeout(20_000);
  await ada.getByText('No spaces yet').waitFor();
  await ada.getByRole('button', { name: 'Who are you?' }).click();
  await become(ada, 'Ada');
  await ada.getByRole('button', { name: 'Create space' }).first().click();
  await ada.getByRole('textbox', { name: 'Name', exact: true }).fill('Party');
  await ada.getByRole('checkbox', { name: 'Sums' }).check();
  await ada.getByRole('checkbox', { name: 'Words' }).check();
  expect(await ada.getByRole('checkbox', { name: 'Ada (you)' }).isChecked()).toBe(true);
  await ada.getByRole('combobox', { name: 'A message starts' }).selectOption('humans');
  await ada.getByRole('button', { name: 'Create space' }).click();
  await ada.getByRole('heading', { level: 1, name: 'Party' }).waitFor();
  await ada.getByText('1 person, 2 agents').waitFor();
});

it('another person reads along, and joins', async () => {
  ben = await fixture.page(new URL(ada.url()).pathname);
  ben.setDefaultTimeout(20_000);
  await ben.getByRole('button', { name: 'Who are you?' }).click();
  await become(ben, 'Ben');
  await ben.getByRole('button', { name: 'Join as Ben' }).click();
  await ben.getByText('2 people, 2 agents').waitFor();
  await ada.getByText('2 people, 2 agents').waitFor();
});

it('both hear what is said and what the agents answer', async () => {
  await write(ada, 'What are you?');
  for (const page of [ada, ben]) {
    await said(page, 'Ada').getByText('What are you?').waitFor();
    for (const agent of ['Sums', 'Words'])
      await said(page, agent).getByText('heard this: What are you?').waitFor();
    expect(await page.getByRole('article').getByText('heard this: What are you?').count()).toBe(2);
  }
});

it('shows what two agents write at the same time, and stops them', async () => {
  await write(ada, 'Tell me slowly');
  const writing = (page: Page) => page.locator('article[aria-busy=true]');
  for (const page of [ada, ben])
    for (const agent of ['Sums', 'Words']) await writing(page).getByText(`${agent} heard`).waitFor();
  for (const agent of ['Sums', 'Words']) await ben.getByRole('button', { name: `Stop ${agent}` }).click();
  for (const page of [ada, ben]) await expect.poll(() => writing(page).count(), patience).toBe(0);
});

it('shows where what is new began, to whoever was away', async () => {
  await ben.getByRole('link', { name: 'Spaces' }).first().click();
  await ben.getByRole('table', { name: 'Spaces' }).waitFor();
  await write(ada, 'How much is 6 times 7?');
  for (const agent of ['Sums', 'Words'])
    await said(ada, agent).getByText('heard this: How much is 6 times 7?').waitFor();
  expect(await ada.getByText('New', { exact: true }).count()).toBe(0);
  await ben.getByRole('link', { name: 'Party' }).click();
  const divider = ben.getByText('New', { exact: true });
  await divider.waitFor();
  const above = await divider.boundingBox();
  const question = await said(ben, 'Ada').getByText('How much is 6 times 7?').boundingBox();
  const before = await said(ben, 'Ada').getByText('What are you?').boundingBox();
  expect(above!.y).toBeLessThan(question!.y);
  expect(above!.y).toBeGreaterThan(before!.y);
  // Read now: whoever comes again finds nothing new.
  await expect
    .poll(async () => {
      const members = await fixture.troupe.space(ben.url().split('/').at(-1)!.split('?')[0]!).members();
      return new Set(members.filter(({ type }) => type === 'human').map((one) => one.lastSeenMessageId)).size;
    }, patience)
    .toBe(1);
  await ben.reload();
  await said(ben, 'Sums').getByText('heard this: How much is 6 times 7?').waitFor();
  expect(await divider.count()).toBe(0);
});

it('is somebody else when one says so, and speaks as them', async () => {
  await ben.getByRole('button', { name: 'You are Ben' }).click();
  await ben.getByRole('menuitem', { name: 'Ada' }).click();
  await ben.getByRole('button', { name: 'You are Ada' }).waitFor();
  await write(ben, 'Thank you');
  await said(ada, 'Ada').getByText('Thank you').waitFor();
  await ben.reload();
  await ben.getByRole('button', { name: 'You are Ada' }).waitFor();
});

it('finds what was said, changes members and settings, and lists the runs', async () => {
  await ada.getByRole('tab', { name: 'Search' }).click();
  await ada.getByRole('searchbox', { name: 'Search messages' }).fill('6 TIMES');
  const found = ada.getByRole('list', { name: 'Found messages' });
  await found.getByText('Ada', { exact: true }).waitFor();
  // So much was said since that it is neither in sight nor loaded.
  const space = fixture.troupe.space(new URL(ada.url()).pathname.split('/').at(-1)!);
  const entityId = (await space.members()).find(({ name }) => name === 'Ben')!.entityId;
  for (let n = 0; n < 70; n++)
    await space.as(entityId).post({ content: { text: `Line ${n}` }, startsRuns: false });
  await ada.reload();
  await said(ada, 'Ben').getByText('Line 69').waitFor();
  const asked = said(ada, 'Ada').getByText('How much is 6 times 7?');
  expect(await asked.count()).toBe(0);
  const isInSight = () =>
    asked.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      const area = element.closest('[role=log]')!.getBoundingClientRect();
      return top >= area.top && bottom <= area.bottom;
    });
  const hit = found.getByRole('button', { name: 'Ada', exact: true });
  await hit.click();
  await asked.waitFor();
  await expect.poll(isInSight, patience).toBe(true);
  // Once more, for whoever has gone elsewhere.
  await said(ada, 'Ben').getByText('Line 69').scrollIntoViewIfNeeded();
  expect(await isInSight()).toBe(false);
  await hit.click();
  await expect.poll(isInSight, patience).toBe(true);
  await ada.getByRole('tab', { name: 'Runs' }).click();
  await ada
    .getByRole('link', { name: /Sums.*Completed/ })
    .first()
    .waitFor();
  await ada.getByRole('tab', { name: 'Members' }).click();
  await ada.getByRole('button', { name: 'Change Words' }).click();
  await ada.getByRole('menuitem', { name: 'Remove' }).click();
  await ada.getByRole('button', { name: 'Remove', exact: true }).click();
  await ada.getByText('2 people, 1 agent').waitFor();
  await ada.getByRole('tab', { name: 'Settings' }).click();
  await ada.getByRole('textbox', { name: 'Name', exact: true }).fill('Garden party');
  await ada.getByRole('button', { name: 'Save' }).click();
  await ada.getByRole('heading', { level: 1, name: 'Garden party' }).waitFor();
});

it('asked nobody else, and nothing was thrown', () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
