import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleStage } from './stage.ts';

let stage: ConsoleStage;
let worker: TestServer | undefined;
let agentId: string;

beforeAll(async () => {
  // As `serve`: it takes no runs, so that the queue is seen.
  stage = await ConsoleStage.open({ postgresUrl: inject('postgresUrl'), works: false });
  agentId = (await stage.troupe.agents.create({ body: { name: 'Counter' } })).id;
}, 60_000);
afterAll(async () => {
  await worker?.close();
  await stage?.close();
});

it('shows what waits without a worker, and the worker that takes it', async () => {
  const page = await stage.page('/workers');
  await page.getByText('No worker', { exact: true }).waitFor();
  await page.getByText('The queue is empty').waitFor();
  await (await stage.troupe.open(agentId)).send('How much is 2+2?');
  await page.getByText('1 run is due, and no worker takes them.').waitFor();
  const queue = page.getByRole('table', { name: 'First of the queue' });
  await queue.getByRole('cell', { name: 'Counter' }).waitFor();

  worker = await openServer({ postgresUrl: inject('postgresUrl'), databaseUrl: stage.server.databaseUrl });
  const workers = page.getByRole('table', { name: 'Workers' });
  await workers.getByText('Working').waitFor();
  expect(await workers.getByRole('meter').count()).toBe(1);
  await page.getByText('The queue is empty').waitFor();
}, 60_000);

it('shows what was used: over time, by agent and by model, as the address says', async () => {
  await until('it was answered', async () => {
    const { data } = await stage.troupe.runs.list({ query: { status: 'completed' } });
    return data.length === 1;
  });
  const page = await stage.page('/usage');
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
  expect(stage.strayRequests).toEqual([]);
  expect(stage.pageErrors).toEqual([]);
}, 60_000);
