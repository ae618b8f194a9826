import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CodeTool } from '@troupe/server/parts';
import { until } from '@troupe/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { disown } from '../../../packages/server/src/store/index.ts';
import { ConsoleFixture } from './fixture.ts';

// One of every kind waits; a person settles them all, and in the end nothing waits.

let fixture: ConsoleFixture;
let page: Page;
let receiver: Server;
let isReceiving = false;
let received = 0;
let agentId: string;
const sent: unknown[] = [];
/** The first call is lost with its worker. */
const send: CodeTool = {
  name: 'send',
  effect: 'once',
  execute: async (args, { attempt, signal }) => {
    sent.push(args);
    const isLost = (args as { lost?: boolean }).lost && attempt === 1;
    if (isLost) await new Promise((_, reject) => signal.addEventListener('abort', reject));
    return { sent: true };
  },
};

beforeAll(async () => {
  receiver = createServer((_, response) => {
    received++;
    response.writeHead(isReceiving ? 200 : 400).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  fixture = await ConsoleFixture.open({
    postgresUrl: inject('postgresUrl'),
    code: [send],
    allow: [`127.0.0.1:${port}`],
  });
  const { troupe } = fixture;
  await troupe.tools.create({ body: { name: 'send', kind: 'code', function: 'send' } });
  await troupe.tools.create({
    body: {
      name: 'pick_colour',
      kind: 'client',
      outputSchema: {
        type: 'object',
        required: ['colour'],
        properties: { colour: { type: 'string', enum: ['red', 'blue'] } },
      },
    },
  });
  const made = await troupe.agents.create({
    body: {
      name: 'Clerk',
      capabilities: [{ id: 'current_time' }, { id: 'delegation' }],
      tools: ['send', 'pick_colour'],
      approvals: ['current_time'],
      inDoubt: 'wait',
    },
  });
  agentId = made.id;
  await troupe.triggers.create({
    body: {
      name: 'on-space',
      collection: 'spaces',
      events: ['create'],
      action: { type: 'webhook', url: `http://127.0.0.1:${port}/hook` },
      retry: { maxAttempts: 1 },
    },
  });
});
afterAll(async () => {
  await fixture?.close();
  receiver?.close();
});

const ask = async (text: string) => {
  const session = await fixture.troupe.open(agentId);
  const { run } = await session.send(text);
  return { session, runId: run!.id };
};
const callOf = async (runId: string) => (await fixture.troupe.runs.get({ params: { runId } })).calls[0]!;
const settled = (runId: string) =>
  until('it is settled', async () => {
    const call = await callOf(runId);
    return call.settledAt === null ? null : call;
  });
const zone = (name: string) => ask(`call current_time {"timezone": "${name}"}`);
const waiting = () => page.getByRole('list', { name: 'What waits' });
const detail = () => page.getByRole('region', { name: 'The one you look at' });

it('says that nothing waits, and shows what begins to wait while one looks', async () => {
  page = await fixture.page('/inbox');
  page.setDefaultTimeout(20_000);
  await page.getByText('Nothing waits for you').waitFor();
  const { runId } = await zone('Europe/Oslo');
  await detail().getByText('"Europe/Oslo"').waitFor();
  await detail().getByRole('button', { name: 'Approve' }).click();
  expect((await settled(runId)).status).toBe('completed');
  await page.getByText('Nothing waits for you').waitFor();
});

it('approves and rejects by keyboard, and approves with other arguments', async () => {
  const [rome, paris, berlin] = [
    await zone('Europe/Rome'),
    await zone('Europe/Paris'),
    await zone('Europe/Berlin'),
  ];
  await waiting().getByRole('listitem').nth(2).waitFor();
  await page.keyboard.press('j');
  await detail().getByText('"Europe/Paris"').waitFor();
  await page.keyboard.press('k');
  await detail().getByText('"Europe/Rome"').waitFor();
  await page.keyboard.press('a');
  expect((await settled(rome.runId)).status).toBe('completed');
  await detail().getByText('"Europe/Paris"').waitFor();
  await page.keyboard.press('r');
  await page.getByRole('textbox', { name: 'Reason' }).fill('Not that city.');
  await page.getByRole('button', { name: 'Reject call' }).click();
  expect(await settled(paris.runId)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('Not that city.') },
  });
  await detail().getByText('"Europe/Berlin"').waitFor();
  await detail().getByRole('button', { name: 'Edit arguments' }).click();
  await detail().getByRole('textbox', { name: 'Arguments' }).fill('{"timezone": "Asia/Tokyo"}');
  await detail().getByRole('button', { name: 'Approve with these' }).click();
  expect(await settled(berlin.runId)).toMatchObject({ edited: true, arguments: { timezone: 'Asia/Tokyo' } });
});

it('approves several at once', async () => {
  const asked = [await zone('Europe/Rome'), await zone('Europe/Paris')];
  await waiting().getByRole('listitem').nth(1).waitFor();
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Approve 2' }).click();
  for (const { runId } of asked) expect((await settled(runId)).status).toBe('completed');
  await page.getByText('Nothing waits for you').waitFor();
});

it('answers a call of a client by a form made of its schema', async () => {
  const { runId } = await ask('call pick_colour {}');
  await page.getByRole('button', { name: /^Tools 1/ }).click();
  expect(page.url()).toContain('kind=tool');
  await detail().getByRole('radio', { name: 'blue' }).check();
  await detail().getByRole('button', { name: 'Answer' }).click();
  expect(await settled(runId)).toMatchObject({ status: 'completed', output: { colour: 'blue' } });
  await page.getByText('Tools: nothing waits').waitFor();
});

it('settles a call in doubt', async () => {
  const { runId } = await ask('call send {"lost": true}');
  await until('it is under way', () => sent.length === 1);
  const { rows } = await fixture.server.db.pool.query(
    'select epoch, worker_id from troupe.runs where id = $1',
    [runId],
  );
  await disown(fixture.server.db, rows[0].worker_id, [{ id: runId, epoch: rows[0].epoch }]);
  await page.getByRole('button', { name: 'In doubt' }).click();
  await detail()
    .getByText(/take effect\?/)
    .waitFor();
  await detail().getByRole('button', { name: 'It took effect…' }).click();
  await detail().getByRole('textbox').fill('{"sent": "by hand"}');
  await detail().getByRole('button', { name: 'It took effect', exact: true }).click();
  expect(await settled(runId)).toMatchObject({ status: 'completed', output: { sent: 'by hand' } });
  expect(sent).toHaveLength(1);
});

it('answers the question of a sub-agent', async () => {
  const { session } = await ask('delegate to general: ask me which colour');
  await page.getByRole('button', { name: 'Questions' }).click();
  await detail().getByText('Which colour?').waitFor();
  // The mark in the side counts it too.
  const mark = page.getByRole('link', { name: 'Inbox 1 waiting' });
  await mark.waitFor();
  await detail().getByRole('textbox', { name: 'Your answer' }).fill('blue');
  await detail().getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Questions: nothing waits').waitFor();
  await mark.waitFor({ state: 'detached' });
  const { data } = await session.tasks();
  await until('it continues with the answer', async () => {
    const { result } = await fixture.troupe.tasks.get({ params: { taskId: data[0]!.id } });
    return result?.includes('blue');
  });
  await until('the agent is notified', async () =>
    (await session.messages()).data.some(({ role }) => role === 'system'),
  );
});

it('shows the question in the chat and under the task, and answers it there', async () => {
  for (const place of ['chat', 'task'] as const) {
    const { session } = await ask('delegate to general: ask me which colour');
    const chat = await fixture.page(`/sessions/${agentId}/${session.id}?panel=tasks`);
    const at =
      place === 'chat' ? chat.getByRole('region', { name: 'general asks' }) : chat.getByRole('treeitem');
    await at.getByText('Which colour?').first().waitFor();
    await at.getByRole('textbox', { name: 'Your answer' }).fill('green');
    await at.getByRole('button', { name: 'Send answer' }).click();
    await until('it is done', async () => (await session.tasks()).data[0]!.result?.includes('green'));
    await chat.getByRole('region', { name: 'general asks' }).waitFor({ state: 'detached' });
    await chat.close();
  }
});

it('delivers again what was given up', async () => {
  await fixture.troupe.spaces.create({ body: { name: 'Somewhere' } });
  await page.getByRole('button', { name: 'Dead letters' }).click();
  await detail().getByText(/400/).first().waitFor();
  isReceiving = true;
  const before = received;
  await detail().getByRole('button', { name: 'Redeliver' }).click();
  await page.getByText('Dead letters: nothing waits').waitFor();
  await until('it is received', () => received > before);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByText('Nothing waits for you').waitFor();
});

it('asked nobody else, and nothing was thrown', () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
