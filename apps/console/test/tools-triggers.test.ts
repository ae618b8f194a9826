import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

// Tools that are defined and tried, and rules that are tried while they are written, against a receiver on this machine.

let fixture: ConsoleFixture;

/** What does not come is named, rather than the test that waited for it. */
async function open(path: string, options?: BrowserContextOptions) {
  const page = await fixture.page(path, options);
  page.setDefaultTimeout(20_000);
  return page;
}
let status = 200;
const seen: { url: string; authorization: string | undefined }[] = [];
const receiver = createServer((request, response) => {
  request.resume();
  seen.push({ url: request.url!, authorization: request.headers.authorization });
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ now: { temperature: -4 }, key: request.headers.authorization }));
});
let address: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  address = `http://127.0.0.1:${port}`;
  fixture = await ConsoleFixture.open({
    postgresUrl: inject('postgresUrl'),
    allow: [`127.0.0.1:${port}`],
    script: () => ({ text: 'Done.' }),
  });
});
afterAll(async () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
  await fixture.close();
  receiver.closeAllConnections();
  receiver.close();
});

it('defines an http tool with a secret, says what is wrong with its schema, tests and tries it', async () => {
  await fixture.troupe.access.putSecret({ params: { name: 'WEATHER_KEY' }, body: { value: 'wk-3f9a2c71' } });
  const page = await open('/tools');
  await page.getByRole('link', { name: 'Create tool' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('fetchWeather');
  await page.getByLabel('Description').fill('The weather of a city');
  await page.getByLabel('Address').fill(`${address}/current?city={{input.city}}`);
  await page.getByRole('button', { name: 'Add header' }).click();
  await page.getByLabel('Header 1').fill('Authorization');
  await page.getByLabel('Value 1').fill('Bearer {{secrets.WEATHER_KEY}}');
  const schema = page.getByLabel('What a call must be given');
  const whole = await schema.inputValue();
  await schema.fill('{\n  "type": \n}');
  await page.getByText('This is no JSON').waitFor();
  expect(await page.getByRole('button', { name: 'Create tool' }).isDisabled()).toBe(true);
  await schema.fill(whole);
  await page.getByRole('button', { name: 'Create tool' }).click();
  await page.getByRole('heading', { name: /fetchWeather/, level: 1 }).waitFor();

  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText('It can be reached.').waitFor();
  await page.getByLabel('city *').fill('Oslo');
  await page.getByRole('button', { name: 'Call tool' }).click();
  const outcome = page.getByRole('region', { name: 'What became of it' });
  await outcome.getByText(`GET ${address}/current?city=Oslo`).waitFor();
  await outcome.getByText('"temperature": -4').waitFor();
  expect(seen.at(-1)).toEqual({ url: '/current?city=Oslo', authorization: 'Bearer wk-3f9a2c71' });
  expect(await outcome.textContent()).not.toContain('wk-3f9a2c71');

  await page.getByLabel('What the model gets of it').fill('"/now/temperature"');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('version 2', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Call tool' }).click();
  await outcome.getByText('-4', { exact: true }).waitFor();
});

it('shows both where two people saved a tool, and overwrites neither unseen', async () => {
  const { troupe } = fixture;
  const { id: toolId } = await troupe.tools.create({
    body: { name: 'ofTwo', kind: 'http', request: { url: `${address}/two` } },
  });
  const params = { toolId };
  const page = await open(`/tools/${toolId}`);
  await page.getByLabel('Description').fill('Mine.');
  await troupe.tools.update({ params, body: { displayName: 'Theirs', description: 'Theirs.' } });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const conflict = page.getByRole('dialog', { name: 'Somebody else saved meanwhile' });
  await conflict.getByRole('region', { name: 'Your change' }).getByText('Mine.').waitFor();
  expect(await conflict.textContent()).toContain('The tool is at version 2 now.');
  expect(await troupe.tools.get({ params })).toMatchObject({ version: 2, description: 'Theirs.' });
  await conflict.getByRole('button', { name: 'Keep editing' }).click();
  await page.getByText('Somebody else saved version 2 while you were editing version 1.').waitFor();
  expect(await page.getByLabel('Description').inputValue()).toBe('Mine.');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await conflict.getByRole('button', { name: 'Save mine on top' }).click();
  await page.getByText('version 3', { exact: true }).waitFor();
  // What only the other one changed stays.
  expect(await troupe.tools.get({ params })).toMatchObject({
    description: 'Mine.',
    displayName: 'Theirs',
    effect: 'pure',
  });
});

it('keeps what is written in a rule that others change, and shows both', async () => {
  const { troupe } = fixture;
  const { id: trigger } = await troupe.triggers.create({
    body: {
      name: 'of-two',
      collection: 'spaces',
      events: ['create'],
      action: { type: 'webhook', url: `${address}/two` },
    },
  });
  const params = { trigger };
  const page = await open('/triggers/of-two');
  const attempts = page.getByLabel('Attempts');
  await attempts.fill('3');
  // One's own switch is in nobody's way, and what is written stays.
  await page.getByRole('button', { name: 'Disable of-two' }).click();
  await page.getByRole('button', { name: 'Enable of-two' }).waitFor();
  expect(await attempts.inputValue()).toBe('3');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('version 3', { exact: true }).waitFor();
  expect(await troupe.triggers.get({ params })).toMatchObject({
    enabled: false,
    retry: { maxAttempts: 3 },
  });

  await attempts.fill('4');
  await troupe.triggers.update({ params, body: { edge: false, timeoutMs: 1_234 } });
  await page.getByText('Somebody else saved version 4 while you were editing version 3.').waitFor();
  expect(await attempts.inputValue()).toBe('4');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const conflict = page.getByRole('dialog', { name: 'Somebody else saved meanwhile' });
  await conflict.getByRole('region', { name: 'Your change' }).getByText('"maxAttempts": 4').waitFor();
  await conflict.getByRole('button', { name: 'Drop my changes' }).click();
  expect(await attempts.inputValue()).toBe('3');
  expect(await troupe.triggers.get({ params })).toMatchObject({ version: 4, timeoutMs: 1_234, edge: false });
  await troupe.triggers.remove({ params });
});

it('adds an MCP server that does not answer, and says so', async () => {
  const page = await open('/tools?tab=servers');
  await page.getByRole('button', { name: 'Add MCP server' }).click();
  await page.getByLabel('Name', { exact: true }).fill('issues');
  await page.getByLabel('Address').fill('http://127.0.0.1:9/mcp');
  await page.getByRole('button', { name: 'Add MCP server' }).click();
  await page.getByRole('button', { name: 'Test issues' }).click();
  await page.getByText('address_forbidden').waitFor();
});

it('judges a condition while it is written, delivers, gives up, and delivers again', async () => {
  const agent = await fixture.troupe.agents.create({ body: { name: 'Grace' } });
  const session = await fixture.troupe.open(agent.id, { title: 'About lights' });
  await fixture.troupe.open(agent.id, { title: 'About tyres' });
  const page = await open('/triggers/new');
  await page.getByLabel('Name', { exact: true }).fill('on-lights');
  await page.getByLabel('Collection').fill('sessions');
  const condition = page.getByLabel('Condition', { exact: true });
  await condition.fill('event.document.title ==\n  "About');
  await page
    .getByText(/line \d+, column \d+/)
    .first()
    .waitFor();
  await condition.fill('event.document.title.contains("lights")');
  await page.getByText('1 of 2 match').waitFor();
  await page.getByLabel('Address').fill(`${address}/hook`);
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('button', { name: 'Create secret' }).click();
  expect(await page.getByRole('textbox', { name: 'Secret WEBHOOK' }).inputValue()).toMatch(/^whsec_.{32}$/);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByLabel('Attempts').fill('1');
  await page.getByRole('button', { name: 'Create trigger' }).click();
  await page.getByRole('heading', { name: /on-lights/, level: 1 }).waitFor();
  expect(await fixture.troupe.triggers.get({ params: { trigger: 'on-lights' } })).toMatchObject({
    collection: 'sessions',
    events: ['update'],
    action: { type: 'webhook', secrets: ['WEBHOOK'] },
  });

  status = 500;
  await page.getByLabel('A change counts only where').uncheck();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('version 2', { exact: true }).waitFor();
  await fixture.troupe.sessions.update({
    params: { agentId: agent.id, sessionId: session.id },
    body: { title: 'More about lights' },
  });
  await page.getByRole('tab', { name: 'Deliveries' }).click();
  await page.getByRole('cell', { name: 'Given up' }).waitFor({ timeout: 15_000 });
  await page.getByRole('button', { name: 'Details' }).click();
  const details = page.getByRole('dialog', { name: 'Delivery' });
  await details.getByRole('region', { name: 'Request' }).getByText('/hook').waitFor();
  await details.getByRole('region', { name: 'Answer' }).getByText('500').waitFor();
  status = 200;
  await details.getByRole('button', { name: 'Deliver again' }).click();
  await details.getByText('Delivered', { exact: true }).waitFor({ timeout: 15_000 });
  await page.keyboard.press('Escape');
  await page.getByLabel('Status').selectOption('delivered');
  await page.getByRole('cell', { name: 'Delivered', exact: true }).waitFor();

  await page.getByRole('button', { name: 'Disable on-lights' }).click();
  await page.getByRole('button', { name: 'Enable on-lights' }).waitFor();
});

it('applies a file of triggers', async () => {
  const page = await open('/triggers');
  await page.getByRole('button', { name: 'Apply triggers' }).click();
  const rule = { name: 'from-a-file', collection: 'spaces', events: ['create'] };
  const action = { type: 'webhook', url: `${address}/other` };
  await page.getByLabel('JSON', { exact: true }).fill(JSON.stringify([{ ...rule, action }]));
  await page.getByRole('button', { name: 'Apply triggers' }).click();
  await page.getByText('from-a-file: created').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('link', { name: 'from-a-file' }).waitFor();
});
