import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

let fixture: ConsoleFixture;
let worker: TestServer | undefined;
let agentId: string;

beforeAll(async () => {
  // As `serve`: it takes no runs, so that the queue is seen.
  fixture = await ConsoleFixture.open({ postgresUrl: inject('postgresUrl'), works: false });
  agentId = (await fixture.troupe.agents.create({ body: { name: 'Counter' } })).id;
});
afterAll(async () => {
  await worker?.close();
  await fixture?.close();
});

it('shows what waits without a worker, and the worker that takes it', async () => {
  const page = await fixture.page('/workers');
  await page.getByText('No worker', { exact: true }).waitFor();
  await page.getByText('The queue is empty').waitFor();
  await (await fixture.troupe.open(agentId)).send('How much is 2+2?');
  await page.getByText('1 run is due, and no worker takes them.').waitFor();
  const queue = page.getByRole('table', { name: 'First of the queue' });
  await queue.getByRole('cell', { name: 'Counter' }).waitFor();

  worker = await openServer({ postgresUrl: inject('postgresUrl'), databaseUrl: fixture.server.databaseUrl });
  const workers = page.getByRole('table', { name: 'Workers' });
  await workers.getByText('Working').waitFor();
  expect(await workers.getByRole('meter').count()).toBe(1);
  await page.getByText('The queue is empty').waitFor();
});

it('shows what was used: over time, by agent and by model, as the address says', async () => {
  await until('it was answered', async () => {
    const { data } = await fixture.troupe.runs.list({ query: { status: 'completed' } });
    return data.length === 1;
  });
  const page = await fixture.page('/usage');
  const ended = page.getByRole('table', { name: 'Runs that ended, over time' });
  await ended.getByRole('row', { name: /1 0 0$/ }).waitFor();
  const byAgent = page.getByRole('table', { name: 'Usage by agent' });
  await byAgent.getByRole('row', { name: /^Counter 100 % 1 0/ }).waitFor();
  await page.getByRole('button', { name: 'Model' }).click();
  await page.getByRole('table', { name: 'Usage by model' }).getByText('demo').first().waitFor();
  await page.getByLabel('Range').selectOption('Last 7 days');
  await ended.getByRole('row', { name: /1 0 0$/ }).waitFor();
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ by: 'model', range: '7d' });
  // Minutes of a week are too many: the interval stays one that fits.
  expect(await page.getByLabel('Interval').getByRole('option', { name: 'By minute' }).isDisabled()).toBe(
    true,
  );
  await page.getByText('No budgets').waitFor();

  // Where the pointer is, the numbers are.
  const figure = page.getByRole('figure', { name: 'Runs that ended, over time' });
  await figure.locator('svg').hover({ position: { x: 400, y: 60 } });
  await figure.locator('p', { hasText: 'Completed' }).waitFor();
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});

it('sets a budget that a run waits for, raises it there, and deletes it', async () => {
  const page = await fixture.page('/usage');
  await page.getByRole('button', { name: 'Set budget' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('For', { exact: true }).selectOption('An agent');
  // By keyboard: what is typed finds it among any number.
  await dialog.getByRole('combobox', { name: 'Agent' }).fill('ount');
  await page.getByRole('option', { name: 'Counter' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await dialog.getByLabel('Amount').fill('1.5');
  await dialog.getByLabel('When it is used up').selectOption('Runs wait until it is raised');
  await dialog.getByRole('button', { name: 'Set budget' }).click();
  // Tokens are whole, says the browser; the dialog stays.
  await dialog.locator('input:invalid').waitFor();
  await dialog.getByLabel('Amount').fill('1');
  await dialog.getByRole('button', { name: 'Set budget' }).click();
  const table = page.getByRole('table', { name: 'Budgets' });
  await table.getByRole('row', { name: /^Agent Counter 0 % 0 tokens 0 tokens 1 tokens runs wait/ }).waitFor();
  const { run } = await (await fixture.troupe.open(agentId)).send('How much is 3+3?');
  await until('it waits', async () => (await fixture.troupe.usage.budgets()).data[0]?.waiting === 1);

  await page.getByRole('button', { name: 'Change the budget of Counter in tokens' }).click();
  await dialog.getByText('1 run waits for it').waitFor();
  await dialog.getByLabel('Amount').fill('50000');
  await dialog.getByRole('button', { name: 'Set budget' }).click();
  await table.getByText('50K tokens').waitFor();
  await until('it went on', async () => (await fixture.troupe.run(run!.id).get()).status === 'completed');
  await page.getByRole('button', { name: 'Delete the budget of Counter in tokens' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No budgets').waitFor();
  expect(fixture.pageErrors).toEqual([]);
});
