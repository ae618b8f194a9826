import { Troupe } from '@troupe/sdk';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { momentOf, wallTime } from '../src/data/zoned.ts';
import { ConsoleFixture } from './fixture.ts';

// What whoever runs a project does: plans, models, keys, secrets, the audit log.

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

it('plans a run again and again, shows when in the zone of the reader, pauses, resumes and deletes it', async () => {
  const page = await open('/plans', { timezoneId: 'Europe/Zurich' });
  await page.getByText('No plans yet').waitFor();
  await page.getByRole('button', { name: 'Create plan' }).first().click();
  await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'general' });
  await page.getByLabel('Name', { exact: true }).fill('Morning report');
  await page.getByLabel('When').selectOption({ label: 'Repeatedly' });
  await page.getByLabel('Cron').fill('0 0 30 2 *');
  await page.getByLabel('Time zone').fill('America/New_York');
  await page.getByRole('button', { name: 'Create plan' }).click();
  await page
    .getByRole('dialog')
    .getByRole('alert')
    .or(page.getByText(/never|no day/))
    .first()
    .waitFor();
  await page.getByLabel('Cron').fill('0 9 1 7 *');
  await page.getByRole('button', { name: 'Create plan' }).click();
  const row = page.getByRole('row', { name: /Morning report/ });
  // Nine in New York is three in the afternoon in Zurich.
  await row
    .getByText(/1 Jul \d{4}, 15:00/)
    .first()
    .waitFor();
  await row.getByRole('button', { name: 'Actions of Morning report' }).click();
  await page.getByRole('menuitem', { name: 'Pause' }).click();
  await row.getByText('canceled').waitFor();
  await row.getByRole('button', { name: 'Actions of Morning report' }).click();
  await page.getByRole('menuitem', { name: 'Resume' }).click();
  await row.getByText('pending').waitFor();
  await page.getByLabel('Status').selectOption('completed');
  await page.getByText('No completed plans').waitFor();
  await page.getByLabel('Status').selectOption('pending');
  await row.getByRole('button', { name: 'Actions of Morning report' }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No pending plans').waitFor();
});

it.each([
  ['2030-07-01T09:00', 'America/New_York', '2030-07-01T13:00:00.000Z', 'plain'],
  ['2030-12-01T09:00', 'America/New_York', '2030-12-01T14:00:00.000Z', 'plain'],
  // The morning after each change, and the hour before and behind it.
  ['2030-03-31T01:59', 'Europe/Zurich', '2030-03-31T00:59:00.000Z', 'plain'],
  ['2030-03-31T02:00', 'Europe/Zurich', '2030-03-31T01:00:00.000Z', 'skipped'],
  ['2030-03-31T02:30', 'Europe/Zurich', '2030-03-31T01:00:00.000Z', 'skipped'],
  ['2030-03-31T03:00', 'Europe/Zurich', '2030-03-31T01:00:00.000Z', 'plain'],
  ['2030-10-27T01:59', 'Europe/Zurich', '2030-10-26T23:59:00.000Z', 'plain'],
  ['2030-10-27T02:30', 'Europe/Zurich', '2030-10-27T00:30:00.000Z', 'twice'],
  ['2030-10-27T03:00', 'Europe/Zurich', '2030-10-27T02:00:00.000Z', 'plain'],
  // Half an hour, below the equator; no change, and no whole hour; far ahead of UTC.
  ['2030-10-06T02:15', 'Australia/Lord_Howe', '2030-10-05T15:30:00.000Z', 'skipped'],
  ['2030-04-07T01:45', 'Australia/Lord_Howe', '2030-04-06T14:45:00.000Z', 'twice'],
  ['2030-02-28T23:30', 'Asia/Kathmandu', '2030-02-28T17:45:00.000Z', 'plain'],
  ['2030-01-01T00:30', 'Pacific/Kiritimati', '2029-12-31T10:30:00.000Z', 'plain'],
])('takes %s in %s for the moment that it is', (wall, zone, time, kind) => {
  expect(momentOf(wall, zone)).toEqual({ time, kind });
  if (kind !== 'skipped') expect(wallTime(time, zone)).toBe(wall);
});

it('plans a run once, at a time of the zone that was chosen, and filters by times of that zone', async () => {
  const page = await open('/settings', { timezoneId: 'Asia/Tokyo' });
  await page.getByLabel('Time zone').selectOption('America/New_York');
  await page.goto(`${fixture.server.url}/plans`);
  await page.getByRole('button', { name: 'Create plan' }).first().click();
  await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'general' });
  await page.getByLabel('Name', { exact: true }).fill('On a Sunday');
  await page.getByLabel('When').selectOption({ label: 'Once, at a time' });
  await page.getByText('In America/New_York, chosen in Settings.').waitFor();
  const time = page.getByLabel('Time', { exact: true });
  // In the night before, clocks are put forward from 2 to 3.
  await time.fill('2030-03-10T02:30');
  await page.getByText('Clocks skip it that night; it runs at 03:00.').waitFor();
  await time.fill('2030-03-10T09:00');
  await page.getByText('That is 10 Mar 2030, 13:00 UTC.').waitFor();
  await page.getByRole('button', { name: 'Create plan' }).click();
  const row = page.getByRole('row', { name: /On a Sunday/ });
  await row.getByText('10 Mar 2030, 09:00').first().waitFor();
  const { data } = await fixture.troupe.plans.listAll();
  expect(data.find(({ name }) => name === 'On a Sunday')).toMatchObject({
    scheduledAt: '2030-03-10T13:00:00.000Z',
  });

  const search = 'from=2030-03-10T13:00:00.000Z&to=2030-03-11T13:00:00.000Z';
  await page.goto(`${fixture.server.url}/usage?${search}`);
  const from = page.getByLabel('From');
  expect(await from.inputValue()).toBe('2030-03-10T09:00');
  await from.fill('2030-03-09T09:00');
  await page.waitForURL((url) => url.searchParams.get('from') === '2030-03-09T14:00:00.000Z');
});

it('explains the demo model, adds a provider with its key and a model with prices, and makes it the default', async () => {
  const page = await open('/models');
  await page.getByRole('heading', { name: 'The demo model answers' }).waitFor();
  await page.getByRole('button', { name: 'Add provider' }).first().click();
  await page.getByLabel('Kind').selectOption({ label: 'Anthropic' });
  await page.getByLabel('API key').fill('sk-of-nobody');
  await page.getByRole('button', { name: 'Add provider' }).click();
  // At once the model, since a provider without one does nothing.
  await page.getByRole('dialog', { name: 'Add model of Anthropic' }).waitFor();
  await page.getByLabel('Model', { exact: true }).fill('claude-sonnet-4-5');
  await page.getByLabel('Price per million input tokens').fill('3');
  await page.getByRole('button', { name: 'Add model' }).click();
  await page
    .getByRole('row', { name: /claude-sonnet-4-5/ })
    .getByText('default')
    .waitFor();
  await page.getByText('key is set').waitFor();
  await page.getByRole('heading', { name: 'The demo model answers' }).waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain('sk-of-nobody');

  await page.getByRole('button', { name: 'Delete claude-sonnet-4-5' }).click();
  const confirm = page.getByRole('dialog');
  await confirm.getByRole('button', { name: 'Delete' }).click();
  // In use: said there, and nothing is gone.
  await confirm.getByRole('alert').waitFor();
  await confirm.getByRole('button', { name: 'Keep' }).click();
  await page.getByRole('button', { name: 'Edit claude-sonnet-4-5' }).click();
  await page.getByLabel('Name for people').fill('Sonnet');
  await page.getByRole('button', { name: 'Save model' }).click();
  await page.getByRole('row', { name: /Sonnet/ }).waitFor();
  const { data } = await fixture.troupe.models.listModels();
  expect(data).toMatchObject([{ displayName: 'Sonnet', inputPrice: 3, isDefault: true }]);
});

it('makes a key that is shown once and may only what it was allowed, and revokes it', async () => {
  const page = await open('/keys');
  await page.getByRole('button', { name: 'Create key' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('Reader');
  await page.getByLabel('All scopes of its kind').uncheck();
  await page.getByLabel('agents:read').check();
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = await page.getByRole('textbox', { name: 'Key Reader' }).inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  await page
    .getByRole('row', { name: /Reader/ })
    .getByText('agents:read')
    .waitFor();
  expect(await page.content()).not.toContain(key);
  const reader = new Troupe({ baseUrl: fixture.server.url, key });
  expect((await reader.agents.list()).data.length).toBeGreaterThan(0);
  await expect(reader.access.listKeys()).rejects.toMatchObject({ status: 403 });
  await page.getByRole('button', { name: 'Revoke Reader' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page
    .getByRole('row', { name: /Reader/ })
    .getByText('revoked')
    .waitFor();
  await expect(reader.agents.list()).rejects.toMatchObject({ status: 401 });
});

it('keeps secrets without showing them, and says how tokens of people are checked', async () => {
  const page = await open('/keys?tab=secrets');
  await page.getByRole('button', { name: 'Add secret' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('SIGNING');
  await page.getByLabel('Value', { exact: true }).fill('0123456789abcdef0123456789abcdef');
  await page.getByRole('button', { name: 'Save secret' }).click();
  await page.getByRole('cell', { name: 'SIGNING', exact: true }).waitFor();
  expect(await page.content()).not.toContain('0123456789abcdef');

  await page.getByRole('tab', { name: 'Tokens of people' }).click();
  await page.getByLabel('Audience (aud)').fill('troupe');
  await page.getByRole('button', { name: 'Save token rules' }).click();
  await page.getByText('Is needed for HS algorithms.').waitFor();
  await page.getByLabel('Secret for HS algorithms').fill('SIGNING');
  await page.getByRole('button', { name: 'Save token rules' }).click();
  await page.getByRole('button', { name: 'Reject all tokens' }).waitFor();
  expect((await fixture.troupe.access.getProject()).tokens).toMatchObject({
    audience: 'troupe',
    secretName: 'SIGNING',
  });

  await page.getByRole('tab', { name: 'Secrets' }).click();
  await page.getByRole('button', { name: 'Delete SIGNING' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  // In use by the rules above.
  await page.getByRole('dialog').getByRole('alert').waitFor();
});

it('tells who changed what, by action, with details', async () => {
  await fixture.troupe.agents.create({ body: { name: 'Watched' } });
  const page = await open('/audit');
  const row = page.getByRole('row', { name: /agent\.created/ }).first();
  await row.getByText('Somebody at this machine').waitFor();
  await row.getByRole('button', { name: 'agent.created', exact: true }).click();
  await page.waitForURL(/action=agent\.created/);
  await expect
    .poll(async () => new Set(await page.getByTitle('Filter by this action').allTextContents()))
    .toEqual(new Set(['agent.created']));
  // How it begins is enough.
  await page.getByLabel('Action, such as').fill('agent.cr');
  await page.waitForURL(/action=agent\.cr$/);
  await page.getByRole('button', { name: 'Details of agent.created Watched' }).click();
  await page.getByRole('region', { name: 'Details' }).getByText('"version": 1').waitFor();
  await page.getByRole('link', { name: 'Watched' }).click();
  await page.getByRole('heading', { name: /^Watched/, level: 1 }).waitFor();
});
