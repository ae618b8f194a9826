import { type Session, Troupe } from '@troupe/sdk';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { openHooks, type HooksFixture, type Visit } from './fixture.ts';

// Servers that are killed while something is being written, and networks that go while something is said. What the agent says: server-process.ts.

let fixture: HooksFixture;
let page: Visit;
let troupe: Troupe;
let agentId: string;
const LONG = 'Slowly: this is written piece by piece, and takes so long that nobody waits for the end of it.';

beforeAll(async () => {
  fixture = await openHooks({ postgresUrl: inject('postgresUrl') });
  troupe = new Troupe({ baseUrl: fixture.origin });
  agentId = (await troupe.agents.create({ body: { name: 'Ada' } })).id;
  page = await fixture.visit({ clock: true, elsewhere: true });
});
afterAll(() => fixture.close());
afterEach(async () => {
  fixture.rule();
  await page.ask('unmountAll()');
  expect(page.errors).toEqual([]);
});

interface Drawn {
  texts: string[];
  live: string[];
  connection: string;
}

async function show(): Promise<Session> {
  const session = await troupe.open(agentId);
  await page.ask(`mount('chat', ({ useSession, useConnection }, log) => {
    const chat = useSession('${agentId}', '${session.id}');
    const overall = useConnection();
    log.push({ texts: chat.messages.map(({ content }) => content.text), live: chat.live.map(({ text }) => text), connection: chat.connection });
    return { ...chat, overall };
  })`);
  await page.sees(`results.chat.connection === 'live' && results.chat.overall === 'live'`);
  return session;
}
const texts = `results.chat.messages.map(({ content }) => content.text).join('|')`;

it('a server that is killed while an answer is written, and started again, brings the whole answer once', async () => {
  const session = await show();
  await page.ask(`results.chat.send('${LONG}')`);
  await page.sees('results.chat.live[0]?.text.length > 12');
  await fixture.kill();
  // What was there stays to be seen, and what is said now waits.
  await page.sees(`results.chat.connection === 'offline' && results.chat.overall === 'offline'`);
  expect(await page.ask(texts)).toBe(LONG);
  await page.ask(`void results.chat.send('And then?')`);
  await page.sees(`results.chat.messages[1].sending?.state === 'waiting'`);
  await fixture.start();
  await page.sees(`results.chat.connection === 'live'`);
  await page.sees(`results.chat.messages.length === 4 && !results.chat.run`);
  expect((await page.ask<string>(texts)).split('|').sort()).toEqual(
    [LONG, LONG, 'And then?', 'Heard: And then?'].sort(),
  );
  const { data } = await session.messages();
  expect(await page.ask('results.chat.messages.map(({ id }) => id)')).toEqual(data.map(({ id }) => id));
  for (const { texts: shown, live } of await page.ask<Drawn[]>('log.chat')) {
    expect(shown.filter((text) => text === LONG).length).toBeLessThanOrEqual(2);
    // It is never written beside the message that it became, and never anything but a beginning of it.
    if (shown.filter((text) => text === LONG).length === 2) expect(live).not.toContainEqual(LONG);
    for (const text of live) expect(LONG.startsWith(text) || 'Heard: And then?'.startsWith(text)).toBe(true);
  }
});

it('whoever was offline sees what was said meanwhile, and what they said is sent', async () => {
  const session = await show();
  await page.setOffline(true);
  await page.sees(`results.chat.connection === 'offline'`);
  await page.ask(`void results.chat.send('From the train.')`);
  await page.sees(`results.chat.messages[0]?.sending.state === 'waiting'`);
  await session.sendAndWait('From the office.');
  expect(await page.ask(texts)).toBe('From the train.');
  await page.setOffline(false);
  await page.sees(`results.chat.messages.length === 4 && results.chat.connection === 'live'`);
  expect(await page.ask(texts)).toBe(
    'From the office.|Heard: From the office.|From the train.|Heard: From the train.',
  );
  const { data } = await session.messages();
  expect(await page.ask('results.chat.messages.map(({ id }) => id)')).toEqual(data.map(({ id }) => id));
  await until('it is idle', async () => (await session.get()).status === 'pending');
});

it('a server on the same machine is there without a network', async () => {
  const near = await fixture.visit();
  await near.ask(
    `Object.defineProperty(navigator, 'onLine', { value: false }); dispatchEvent(new Event('offline'))`,
  );
  const session = await troupe.open(agentId);
  await near.ask(`mount('chat', ({ useSession }) => useSession('${agentId}', '${session.id}'))`);
  await near.ask(`results.chat.send('In the mountains.')`);
  await near.sees(`results.chat.messages.length === 2 && results.chat.connection === 'live'`);
  await until('it is idle', async () => (await session.get()).status === 'pending');
  await near.tab.close();
});

it('what may not be read says so, and is read again by the next who asks', async () => {
  const session = await troupe.open(agentId);
  fixture.rule(() => ({ status: 403, code: 'forbidden' }));
  const mount = (name: string) =>
    page.ask(`mount('${name}', ({ useSession }) => useSession('${agentId}', '${session.id}'))`);
  await mount('chat');
  await page.sees(`results.chat.error?.code === 'forbidden' && !results.chat.isLoading`);
  fixture.rule();
  await mount('again');
  await page.sees(`results.again.connection === 'live' && results.chat.error === null`);
});

it('a page that nobody looks at gives its connection back, and catches up when somebody does', async () => {
  const hide = (state: string) =>
    page.ask(
      `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
    );
  const session = await show();
  await hide('hidden');
  await page.fastForward(20_000);
  await page.sees(`results.chat.connection === 'offline'`);
  await session.sendAndWait('While you were away.');
  expect(await page.ask(texts)).toBe('');
  await hide('visible');
  await page.sees(`results.chat.messages.length === 2 && results.chat.connection === 'live'`);
  expect(await page.ask(texts)).toBe('While you were away.|Heard: While you were away.');

  // What the server has and the page has not heard of by then is where it belongs, though so much was said since that it is not loaded.
  fixture.rule(({ method }) => (method === 'GET' ? { status: 503, code: 'stopping' } : 'pass'));
  for (const stream of fixture.streams) stream.destroy();
  await page.ask(`results.chat.send('Just before.')`);
  expect(await page.ask(texts)).toContain('|Just before.');
  await hide('hidden');
  await page.fastForward(20_000);
  fixture.rule();
  for (let n = 0; n < 30; n++) await session.sendAndWait(`Then ${n}`);
  await hide('visible');
  await page.sees(`results.chat.messages.at(-1)?.content.text === 'Heard: Then 29'`);
  expect(await page.ask('results.chat.messages.length')).toBe(50);
  // Older ones that were loaded are still there when one comes back.
  const { length } = (await session.messages({ limit: 1_000 })).data;
  expect(length).toBeGreaterThan(60);
  await page.ask('results.chat.loadOlder()');
  await page.sees(`results.chat.messages.length === ${length} && !results.chat.hasOlder`);
  await hide('hidden');
  await page.fastForward(20_000);
  await page.sees(`results.chat.connection === 'offline'`);
  await hide('visible');
  await page.sees(`results.chat.connection === 'live'`);
  expect(await page.ask('results.chat.messages.length')).toBe(length);
});

const opens = (session: Session, options: string) =>
  `mount('chat', ({ useSession }) => useSession('${agentId}', '${session.id}'), { keepUnsent: true, ${options} })`;
const kept = () =>
  page.ask<string[]>(`Object.entries(localStorage).filter(([key]) => key.startsWith('troupe.')).flat()`);
async function reload(): Promise<void> {
  await page.tab.reload();
  await page.tab.waitForFunction('window.isLoaded');
}

it('what is not sent when the page is loaded anew is sent then, once and in order, by whoever said it and nobody else', async () => {
  const { key: secret } = await troupe.access.createKey({ body: { name: 'Of somebody else' } });
  const somebody = (await troupe.entities.create({ body: { externalId: 'ben' } })).id;
  const session = await troupe.open(agentId);
  const other = await troupe.open(agentId);
  await page.ask(opens(session, ''));
  await page.sees(`results.chat.connection === 'live'`);
  await until('the page knows who it is', () => fixture.seen.some(({ path }) => path === '/v1/system'));
  await page.setOffline(true);
  await page.sees(`results.chat.connection === 'offline'`);
  for (const text of ['One.', 'Two.', 'Never mind.', 'Long ago.'])
    await page.ask(`void results.chat.send('${text}', { metadata: { of: 'me' } }).catch(() => {})`);
  await page.sees(`results.chat.messages.every(({ sending }) => sending.state === 'waiting')`);
  await page.ask('results.chat.messages[2].sending.discard()');
  // What is too old is not said any more.
  await page.ask(`for (const [key, text] of Object.entries(localStorage)) {
    const kept = JSON.parse(text);
    if (kept.said?.content.text === 'Long ago.')
      localStorage.setItem(key, JSON.stringify({ ...kept, createdAt: new Date(Date.now() - 4 * 86_400_000).toISOString() }));
  }`);
  await fixture.kill();
  await page.setOffline(false);
  await reload();
  await fixture.start();
  const nothing = `results.chat.connection === 'live' && results.chat.messages.length === 0`;
  for (const options of [
    `client: new Troupe({ baseUrl: location.origin, key: '${secret}' })`,
    `entityId: '${somebody}'`,
  ]) {
    const asked = fixture.seen.length;
    await page.ask(opens(session, options));
    await until('it is known who looks', () =>
      fixture.seen.slice(asked).some(({ path }) => path === '/v1/system'),
    );
    await page.sees(nothing);
    // Who may say something here says it, and nothing of others with it.
    await page.ask(opens(other, options));
    await page.sees(`results.chat.connection === 'live'`);
    await page.ask(`results.chat.send('By somebody else.')`);
    await page.ask('unmountAll()');
  }
  expect((await session.messages()).data).toEqual([]);
  expect((await kept()).join()).not.toContain(secret);
  expect((await kept()).join()).not.toContain('By somebody else.');

  // Two tabs at once send both; they are stored once.
  const second = await page.tab.context().newPage();
  await second.goto(page.tab.url());
  await second.waitForFunction('window.isLoaded');
  await Promise.all([page.ask(opens(session, '')), second.evaluate(opens(session, ''))]);
  const whole = `results.chat.messages.filter(({ role, sending }) => role === 'user' && !sending).length === 2 && !results.chat.run`;
  await page.sees(whole);
  await second.waitForFunction(whole);
  const said = (await session.messages()).data.filter(({ role }) => role === 'user');
  expect(said).toMatchObject([
    { content: { text: 'One.' }, metadata: { of: 'me' } },
    { content: { text: 'Two.' } },
  ]);
  await until('nothing is kept', async () => (await kept()).length === 0);
  await second.close();
});

it('what another tab discards is not sent, and a storage that is full keeps nobody from speaking', async () => {
  const session = await troupe.open(agentId);
  await page.ask(opens(session, ''));
  await page.sees(`results.chat.connection === 'live'`);
  const second = await page.tab.context().newPage();
  await second.goto(page.tab.url());
  await second.waitForFunction('window.isLoaded');
  await page.setOffline(true);
  await page.sees(`results.chat.connection === 'offline'`);
  await page.ask(`void results.chat.send('Not this.').catch(() => {})`);
  await until('it is kept', async () => (await kept()).length === 2);
  await second.evaluate(`(() => {
    const [[key]] = Object.entries(localStorage);
    localStorage.setItem(key, 'discarded');
    localStorage.removeItem(key);
  })()`);
  await page.sees('results.chat.messages.length === 0');
  await page.ask(
    `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }`,
  );
  await page.ask(`void results.chat.send('But this.')`);
  expect(await kept()).toEqual([]);
  await page.setOffline(false);
  await page.sees(`${texts} === 'But this.|Heard: But this.'`);
  await second.close();
  await reload();
});
