import { type Api, type Space, Troupe } from '@troupe/sdk';
import { until } from '@troupe/testing';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { openHooks, type HooksFixture, type Visit } from './fixture.ts';

// Two agents that say what they were told, piece by piece, and two people: Ann looks at the page.

let fixture: HooksFixture;
let page: Visit;
let troupe: Troupe;
let ann: Api.Entity;
let ben: Api.Entity;
let agents: Api.Agent[];
let space: Space;

beforeAll(async () => {
  fixture = await openHooks({
    postgresUrl: inject('postgresUrl'),
    script: ({ system, step }) => {
      if (step > 1) return { text: '' };
      const name = system.includes('You are Ada.') ? 'Ada' : 'Bob';
      const heard = JSON.parse(/^- message: (".*")$/m.exec(system)![1]!) as string;
      const said = JSON.stringify({ text: `${name} says slowly, word by word: ${heard}` });
      const chunks = said.match(/.{1,6}/g)!;
      return {
        delayBetweenChunksMs: 40,
        calls: [{ name: 'send_message', arguments: JSON.parse(said), chunks }],
      };
    },
  });
  troupe = new Troupe({ baseUrl: fixture.origin });
  const person = (externalId: string, displayName: string) =>
    troupe.entities.create({ body: { externalId, displayName } });
  [ann, ben] = [await person('ann', 'Ann'), await person('ben', 'Ben')];
  agents = [];
  for (const name of ['Ada', 'Bob'])
    agents.push(await troupe.agents.create({ body: { name, systemPrompt: `You are ${name}.` } }));
  page = await fixture.visit();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  const members = [
    ...[ann, ben].map(({ id }) => ({ entityId: id })),
    ...agents.map(({ id }) => ({ agentId: id })),
  ];
  const { id } = await troupe.spaces.create({ body: { name: 'Launch', policy: 'humans', members } });
  space = troupe.space(id).as(ben.id);
});
afterEach(async () => {
  fixture.rule();
  await page.ask('unmountAll()');
  expect(page.errors).toEqual([]);
});

const show = () =>
  page.ask(`mount('space', ({ useSpace }, log) => {
    const space = useSpace('${space.id}');
    log.push({ live: space.live.map(({ id }) => id), messages: space.messages.map(({ id }) => id) });
    return space;
  }, { entityId: '${ann.id}' })`);

it('two agents write at once, and each text becomes its message', async () => {
  await show();
  await page.ask(
    `mount('active', ({ useActiveAgents, useMembers }) => ({ active: useActiveAgents('${space.id}').map(({ agentName }) => agentName),
      members: useMembers('${space.id}').map(({ name }) => name) }), { entityId: '${ann.id}' })`,
  );
  await page.sees(`results.space.connection === 'live' && results.space.space?.name === 'Launch'`);
  expect(await page.ask('results.active.members')).toEqual(['Ann', 'Ben', 'Ada', 'Bob']);
  const id = await page.ask<string>(`results.space.post('Go.')`);
  await page.sees(
    'results.space.live.length === 2 && results.space.live.every(({ text }) => text.length > 8)',
  );
  expect((await page.ask<string[]>('results.active.active')).sort()).toEqual(['Ada', 'Bob']);
  await page.sees('results.space.messages.length === 3 && results.active.active.length === 0');
  const said = `results.space.messages.map(({ senderName, content }) => senderName + ': ' + content.text)`;
  expect((await page.ask<string[]>(said)).sort()).toEqual([
    'Ada: Ada says slowly, word by word: Go.',
    'Ann: Go.',
    'Bob: Bob says slowly, word by word: Go.',
  ]);
  const log = await page.ask<{ live: string[]; messages: string[] }[]>('log.space');
  expect(log.find(({ messages }) => messages.length > 0)!.messages).toEqual([id]);
  for (const { live, messages } of log) {
    const shown = [...messages, ...live];
    expect(new Set(shown).size).toBe(shown.length);
  }
  // Both components look at one stream.
  expect(fixture.seen.filter(({ path, isStream }) => isStream && path.includes(space.id))).toHaveLength(1);
});

it('others are seen typing, oneself is not, and what is refused can be sent again', async () => {
  await show();
  await page.sees(`results.space.connection === 'live'`);
  await space.typing();
  await page.sees(`results.space.typing[0]?.name === 'Ben'`);
  await page.ask('results.space.setTyping(true)');
  await page.ask('results.space.setTyping(true)');
  await space.post({ content: { text: 'Hello.' }, startsRuns: false });
  await page.sees(`results.space.messages.length === 1 && results.space.typing.length === 0`);
  const typed = fixture.seen.filter(({ path }) => path === `/v1/spaces/${space.id}/typing`);
  expect(typed).toHaveLength(2); // Ben's, and one of Ann's two.

  fixture.rule(({ method }) => (method === 'POST' ? { status: 403, code: 'not_a_member' } : 'pass'));
  const post = `results.space.post('Hi.', { startsRuns: false }).catch(({ code }) => code)`;
  expect(await page.ask(post)).toBe('not_a_member');
  expect(await page.ask('results.space.messages[1]')).toMatchObject({
    content: { text: 'Hi.' },
    senderName: 'Ann',
    sending: { state: 'failed' },
  });
  fixture.rule();
  await page.ask('results.space.messages[1].sending.resend()');
  await page.sees('!results.space.messages[1].sending');
  expect((await space.messages()).data.map(({ content }) => content.text)).toEqual(['Hello.', 'Hi.']);
});

it('what was seen is marked as read, once it was in view', async () => {
  for (let at = 0; at < 6; at++) await space.post({ content: { text: `No. ${at}` }, startsRuns: false });
  await page.ask(`mount('marker', ({ useSpace, useReadMarker }) => {
    const { messages } = useSpace('${space.id}');
    const marker = useReadMarker('${space.id}');
    const view = createElement('div', { id: 'list', style: { height: 100, overflow: 'auto' } }, messages.map(({ id, content }) =>
      createElement('p', { key: id, ref: marker.readRef(id), style: { height: 48, margin: 0 } }, content.text)));
    return { ...marker, view };
  }, { entityId: '${ann.id}' })`);
  await page.sees('results.marker.unread === 4');
  const { data } = await space.messages();
  const markerOf = async () =>
    (await space.members()).find(({ entityId }) => entityId === ann.id)!.lastSeenMessageId;
  await until('the server knows it', async () => (await markerOf()) === data[1]!.id);
  expect(await page.ask('results.marker.firstUnreadId')).toBe(data[2]!.id);
  await page.ask(`document.querySelector('#list').scrollTo(0, 1_000)`);
  await page.sees('results.marker.unread === 0');
  await until('the server knows it', async () => (await markerOf()) === data[5]!.id);
  // What one could not tell the server is unread again; and it never goes back.
  await space.post({ content: { text: 'One more' }, startsRuns: false });
  await page.sees('results.marker.unread === 1');
  fixture.rule(({ method }) => (method === 'POST' ? { status: 403, code: 'forbidden' } : 'pass'));
  expect(await page.ask('results.marker.markRead().catch(({ code }) => code)')).toBe('forbidden');
  await page.sees('results.marker.unread === 1');
  fixture.rule();
  await page.ask(`results.marker.markRead('${data[0]!.id}')`);
  expect(await page.ask('results.marker.unread')).toBe(1);
});

it('a token says who one is, as soon as the server can be asked; of somebody else, nothing stays', async () => {
  const secret = 'a secret of thirty-two bytes, or more';
  await troupe.access.putSecret({ params: { name: 'TOKENS' }, body: { value: secret } });
  const tokens = { algorithms: ['HS256' as const], audience: 'page', secretName: 'TOKENS' };
  await troupe.access.updateProject({ body: { tokens } });
  const { key } = await troupe.access.createKey({ body: { name: 'page', kind: 'public' } });
  const signIn = async (person: string) => {
    const unsigned = new SignJWT({ sub: person, aud: 'page' }).setProtectedHeader({ alg: 'HS256' });
    const token = await unsigned.setExpirationTime('1 hour').sign(Buffer.from(secret));
    const options = JSON.stringify({ baseUrl: fixture.origin, key, token, retries: 0 });
    await page.ask(`void (window.${person} = new Troupe(${options}))`);
    return token;
  };
  const token = await signIn('ann');
  await signIn('ben');
  await space.post({ content: { text: 'Hello.' }, startsRuns: false });
  // As Ann, whom the server cannot tell who she is at first.
  fixture.rule(({ path }) => (path === '/v1/system' ? 'lose' : 'pass'));
  const mount = (person: string) =>
    page.ask(`mount('person', ({ useTroupe, useEntityId, useSpace, useReadMarker, useApprovals, useTasks, useRuns }, log) => {
      log.push([useTroupe() === window.ann ? 'ann' : 'ben', useEntityId()]);
      const { unread } = useReadMarker('${space.id}');
      const [inbox, tasks, runs] = [useApprovals(), useTasks({ chat: '${space.id}' }), useRuns()];
      const isRead = !inbox.isLoading && !tasks.isLoading && !inbox.error && !tasks.error;
      return { ...useSpace('${space.id}'), unread, isRead, refused: runs.error?.code };
    }, { client: window.${person} })`);
  await mount('ann');
  await page.sees(`results.person.connection === 'live' && results.person.messages.length === 1`);
  expect(await page.ask('results.person.entityId')).toBe(null);
  fixture.rule();
  await page.sees(`results.person.entityId === '${ann.id}' && results.person.unread === 1`);
  await page.sees(`results.person.isRead && results.person.refused === 'forbidden'`);
  await page.ask(`results.person.post('I am Ann.', { startsRuns: false })`);
  await page.ask(`results.person.setTyping(true)`);
  await page.sees(
    `results.person.unread === 0 && results.person.lastSeenMessageId === results.person.messages[1].id`,
  );
  expect((await space.messages()).data.at(-1)).toMatchObject({ senderId: ann.id, senderName: 'Ann' });
  // Then somebody else signs in.
  await mount('ben');
  await page.sees(`results.person.entityId === '${ben.id}' && results.person.messages.length === 2`);
  const seen = await page.ask<[string, string | null][]>('log.person');
  expect(seen.filter(([who, id]) => who === 'ben' && id === ann.id)).toEqual([]);
  expect(seen.at(-1)).toEqual(['ben', ben.id]);
  await page.ask('unmountAll()');

  // What Ann said and was refused is there again when she comes back to the page, with another token, and for nobody else.
  const open = (person: string) =>
    page.ask(
      `mount('person', ({ useSpace }) => useSpace('${space.id}'), { client: window.${person}, keepUnsent: true })`,
    );
  await open('ann');
  await page.sees(`results.person.connection === 'live'`);
  fixture.rule(({ method }) => (method === 'POST' ? { status: 409, code: 'not_now' } : 'pass'));
  await page.ask(`results.person.post('For later.', { startsRuns: false }).catch(() => {})`);
  const kept = () => page.ask<string>(`JSON.stringify(Object.entries(localStorage))`);
  await until('it is kept', async () => (await kept()).includes('not_now'));
  expect(await kept()).toContain('For later.');
  for (const credential of [token, key]) expect(await kept()).not.toContain(credential);
  await page.tab.reload();
  await page.tab.waitForFunction('window.isLoaded');
  fixture.rule();
  await signIn('ben');
  const asked = fixture.seen.length;
  await open('ben');
  await until('it is known who looks', () =>
    fixture.seen.slice(asked).some(({ path }) => path === '/v1/system'),
  );
  await page.sees(`results.person.connection === 'live' && results.person.messages.length === 2`);
  await signIn('ann');
  await open('ann');
  await page.sees(`results.person.messages[2]?.sending?.error.code === 'not_now'`);
  await page.ask('results.person.messages[2].sending.resend()');
  await page.sees('results.person.messages[2].sending === undefined');
  expect((await space.messages()).data.at(-1)).toMatchObject({
    senderId: ann.id,
    content: { text: 'For later.' },
  });
  await until('nothing is kept', async () => !(await kept()).includes('For later.'));
});
