import { request } from 'node:http';
import { Troupe } from '@troupe/sdk';
import { createDatabase, openServer, type TestServer } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { type Gallery, openGallery } from './fixture.ts';

// One server, one page: what an agent is told decides what it does.

let server: TestServer;
let gallery: Gallery;
let troupe: Troupe;
let agentId: string;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase(inject('postgresUrl'));
  drop = database.drop;
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    databaseUrl: database.url,
    script: ({ messages, system, step }) => {
      if (system.includes('ACTIVE SPACE')) {
        if (step > 1) return { text: '' };
        const text = `I am **${system.includes('You are Bob.') ? 'Bob' : 'Ada'}**, and I say so slowly.`;
        const chunks = JSON.stringify({ text }).match(/.{1,6}/g)!;
        return { delayBetweenChunksMs: 60, calls: [{ name: 'send_message', arguments: { text }, chunks }] };
      }
      const last = messages.at(-1)!;
      if (!('text' in last)) return { text: `Got: ${JSON.stringify(last.output ?? 'nothing')}` };
      const { text } = last;
      if (text === 'Fail.') return { error: { code: 'no_idea', message: 'Out of ideas.', retryable: false } };
      if (text === 'Pick.') return { calls: [{ name: 'pick_colour', arguments: {} }] };
      if (text === 'Draw.') return { calls: [{ name: 'draw', arguments: {} }] };
      if (text === 'Look.') return { calls: [{ name: 'current_time', arguments: {} }] };
      if (text === 'Nothing.' || text.startsWith('No answer was given.')) return { text: '' };
      if (text === 'Slowly.') {
        const chunks = 'This is **written** piece by piece, with `code`.'.match(/.{1,3}/g)!;
        return { reasoning: 'How do I say it?', chunks, delayBetweenChunksMs: 80 };
      }
      return { text: `Heard: ${text}` };
    },
  });
  gallery = await openGallery((asked, response) => {
    const { method, headers } = asked;
    const asking = request(server.url + asked.url, { method, headers }, (answered) => {
      response.writeHead(answered.statusCode!, answered.headers);
      answered.pipe(response);
      answered.on('error', () => response.destroy());
    });
    asking.on('error', () => response.destroy());
    response.on('close', () => asking.destroy());
    asked.pipe(asking);
  });
  troupe = new Troupe({ baseUrl: server.url });
  const tool = { name: 'pick_colour', kind: 'ui' as const, inputSchema: { type: 'object' } };
  await troupe.tools.create({ body: tool });
  const content = [
    { type: 'text', text: 'A dot.' },
    { type: 'image', mimeType: 'image/png', data: PNG },
    { type: 'resource', uri: 'file:///dot.bin', blob: 'AAAA' },
  ];
  await troupe.tools.create({ body: { name: 'draw', kind: 'static', output: { content } } });
  const body = {
    name: 'Ada',
    systemPrompt: 'You are Ada.',
    tools: ['pick_colour', 'draw'],
    approvals: ['current_time'],
  };
  agentId = (await troupe.agents.create({ body: { ...body, capabilities: [{ id: 'current_time' }] } })).id;
});
afterAll(async () => {
  await gallery.close();
  await server.close();
  await drop();
});
afterEach(() => {
  expect(gallery.errors.splice(0)).toEqual([]);
  expect(gallery.remote).toEqual([]);
});

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Of the page, where this file is no part of it. */
declare const MutationObserver: new (
  act: () => void,
) => { observe(watched: unknown, options: object): void; disconnect(): void };

async function chat() {
  const session = await troupe.open(agentId);
  await gallery.open(`server=${gallery.origin}&agent=${agentId}&session=${session.id}`);
  const { page } = gallery;
  const field = page.getByRole('textbox', { name: 'Message to Ada' });
  await field.waitFor();
  const say = async (text: string) => {
    await field.fill(text);
    await field.press('Enter');
  };
  return { session, page, field, say };
}

it('one talks: a suggestion, an answer while it is written, its thoughts, a tool that asks for a colour', async () => {
  const { page, say, field } = await chat();
  await page.getByText('Nothing has been said yet.').waitFor();
  await page.getByRole('button', { name: 'How much is 2+2?' }).click();
  expect(await field.inputValue()).toBe('How much is 2+2?');
  await field.press('Enter');
  await page.getByText('Heard: How much is 2+2?').first().waitFor();
  const writing = page.locator('[aria-busy=true]');
  await Promise.all([
    writing.locator('strong').waitFor(),
    writing.getByRole('button', { name: /^(Thinking…|Thoughts)$/ }).waitFor(),
    page.getByRole('button', { name: 'Stop' }).waitFor(),
    say('Slowly.'),
  ]);
  await writing.waitFor({ state: 'detached' });
  expect(await page.locator('.troupe-markdown code').count()).toBe(1);
  await say('Pick.');
  await page.getByRole('button', { name: 'blue' }).click();
  await page.getByText('Got: {"colour":"blue"}').first().waitFor();
  expect(await page.locator('.troupe-message').count()).toBe(6);
});

it('images and files that a tool returned are shown with its call', async () => {
  const { page, say } = await chat();
  await say('Draw.');
  await page.getByText('Got: ').first().waitFor();
  await page.getByRole('button', { name: 'draw' }).click();
  const image = page.getByRole('img', { name: 'Image from draw' });
  await image.waitFor();
  expect(await image.evaluate((shown) => (shown as unknown as { naturalWidth: number }).naturalWidth)).toBe(
    1,
  );
  const file = page.getByRole('link', { name: /dot\.bin/ });
  expect(await file.getAttribute('href')).toBe('data:application/octet-stream;base64,AAAA');
  // The data is not shown as text.
  expect(await page.locator('.troupe-tool').textContent()).not.toContain(PNG.slice(0, 20));
});

it('an empty answer is shown as such', async () => {
  const { page, say } = await chat();
  await say('Nothing.');
  await page.getByText('The model gave no answer. It was asked twice.').first().waitFor();
  await say('Something.');
  await page.getByText('Heard: Something.').first().waitFor();
});

it('what was begun in one chat stays out of the next', async () => {
  const other = await troupe.open(agentId);
  await other.sendAndWait('Before.');
  const { page, field } = await chat();
  await field.fill('Not for the other.');
  const address = `?server=${gallery.origin}&agent=${agentId}&session=${other.id}`;
  await page.evaluate(
    `history.pushState(null, '', '${address}'); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await page.getByText('Heard: Before.').first().waitFor();
  expect(await field.inputValue()).toBe('');
  // It is there again where it was begun, also after a reload; what was sent is not.
  await page.goBack();
  await expect.poll(() => field.inputValue()).toBe('Not for the other.');
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe('Not for the other.');
  await field.press('Enter');
  await page.getByText('Heard: Not for the other.').first().waitFor();
  await page.reload();
  await page.getByText('Heard: Not for the other.').first().waitFor();
  expect(await field.inputValue()).toBe('');
});

it('one approves in place, and takes up what failed', async () => {
  const { page, say, field } = await chat();
  await say('Look.');
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.getByRole('button', { name: 'Approve' }).press('Enter');
  await page
    .getByText(/^Got: /)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' });
  await page.locator('.troupe-tool').getByText('Completed').waitFor();
  await say('Fail.');
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  expect(await field.isDisabled()).toBe(true);
});

it('who goes up in the moment in which it grows is left there, although the browser tells of that later', async () => {
  const { page, session } = await chat();
  const area = page.getByRole('log');
  await session.sendAndWait('Hello');
  await page.getByText('Heard: Hello').first().waitFor();
  await area.evaluate((box) => {
    const watching = new MutationObserver(() => {
      if (box.scrollTop < 700) return;
      watching.disconnect();
      box.scrollTo(0, 600);
    });
    watching.observe(box, { childList: true, subtree: true });
  });
  await session.sendAndWait('7 '.repeat(2_000));
  await page
    .getByText(/^Heard: 7 /)
    .first()
    .waitFor();
  const place = () => area.evaluate((box) => box.scrollTop);
  await expect.poll(place).toBe(600);
  await session.sendAndWait('Are you there?');
  await page.getByRole('button', { name: 'New messages' }).waitFor();
  expect(await place()).toBe(600);
});

it('one stays where one reads, is told what is new, and comes back to the end', async () => {
  const { page, session } = await chat();
  for (let turn = 0; turn < 12; turn++) await session.sendAndWait(`${turn} `.repeat(400));
  await page
    .getByText(/^Heard: 11 /)
    .first()
    .waitFor();
  const area = page.getByRole('log');
  const end = () => area.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  await expect.poll(end).toBeLessThan(2);
  await area.evaluate((box) => box.scrollTo(0, 600));
  await session.sendAndWait('Are you there?');
  const pill = page.getByRole('button', { name: 'New messages' });
  await pill.waitFor();
  expect(await area.evaluate((box) => box.scrollTop)).toBe(600);
  await pill.click();
  await pill.waitFor({ state: 'detached' });
  await expect.poll(end).toBeLessThan(2);
});

it('several agents write at once in a space, and what is new is set off', async () => {
  const ann = await troupe.entities.create({ body: { externalId: `ann-${Date.now()}`, displayName: 'Ann' } });
  const ben = await troupe.entities.create({ body: { externalId: `ben-${Date.now()}`, displayName: 'Ben' } });
  const bob = await troupe.agents.create({ body: { name: 'Bob', systemPrompt: 'You are Bob.' } });
  const members = [{ entityId: ann.id }, { entityId: ben.id }, { agentId }, { agentId: bob.id }];
  const { id } = await troupe.spaces.create({ body: { name: 'Launch', policy: 'humans', members } });
  const first = await troupe.spaces.post({
    params: { spaceId: id },
    body: { content: { text: 'Seen before.' }, senderId: ben.id, startsRuns: false },
  });
  await troupe.spaces.read({ params: { spaceId: id }, body: { messageId: first.id, entityId: ann.id } });
  await troupe.spaces.post({
    params: { spaceId: id },
    body: { content: { text: 'Not seen yet.' }, senderId: ben.id, startsRuns: false },
  });
  await gallery.open(`server=${gallery.origin}&space=${id}&as=${ann.id}`);
  const { page } = gallery;
  await page.getByText('Not seen yet.').waitFor();
  await page.locator('.troupe-divider-new').waitFor();
  const field = page.getByRole('textbox', { name: 'Message to Launch' });
  await field.fill('Who are you?');
  await field.press('Enter');
  await page.waitForFunction(
    `document.querySelectorAll('.troupe-message[aria-busy=true] strong').length === 2`,
  );
  await page.getByRole('button', { name: 'Stop Bob' }).waitFor();
  await page.waitForFunction(`document.querySelectorAll('.troupe-message[aria-busy=true]').length === 0`);
  await page.getByRole('button', { name: 'Stop Bob' }).waitFor({ state: 'detached' });
  await page.locator('.troupe-message', { hasText: 'I am Bob' }).waitFor();
  expect(await page.locator('.troupe-message').count()).toBe(5);
  // Those who listen hear who said what last, people too.
  const heard = page.locator('[aria-live=polite]');
  expect(await heard.textContent()).toMatch(/^(Ada|Bob): I am \*\*\1/);
  await troupe.spaces.post({
    params: { spaceId: id },
    body: { content: { text: 'Hello.' }, senderId: ben.id, startsRuns: false },
  });
  await expect.poll(() => heard.textContent()).toBe('Ben: Hello.');
});
