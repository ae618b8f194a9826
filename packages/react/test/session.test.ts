import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Session, Troupe } from '@troupe/sdk';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { openHooks, type HooksFixture, type Visit } from './fixture.ts';

// One agent, one page. What the agent is told decides what it does: see the script. Every component is drawn in strict mode.

let fixture: HooksFixture;
let page: Visit;
let troupe: Troupe;
let agentId: string;

const SLOW = 'Slowly: this is written piece by piece, and takes a while to be whole.';

beforeAll(async () => {
  fixture = await openHooks({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages, tools }) => {
      if (tools.some(({ name }) => name === 'final_answer'))
        return { calls: [{ name: 'ask_user', arguments: { question: 'How long?' } }] };
      const last = messages.at(-1)!;
      const text = 'text' in last ? last.text : `Got: ${JSON.stringify(last.output)}`;
      if (text === 'Fail.') return { error: { code: 'no_idea', message: 'Out of ideas.', retryable: false } };
      if (text === 'Pick.') return { calls: [{ name: 'pick_file', arguments: { folder: 'in' } }] };
      if (text === 'Look.') return { calls: [{ name: 'current_time', arguments: {} }] };
      if (text === 'Hand it on.')
        return { calls: [{ name: 'create_agent', arguments: { type: 'general', instruction: 'Wait.' } }] };
      if (text.startsWith('Slowly'))
        return { reasoning: 'How?', chunks: text.match(/.{1,4}/g)!, delayBetweenChunksMs: 40 };
      return { text: last.role === 'tool' ? text : `Heard: ${text}` };
    },
  });
  troupe = new Troupe({ baseUrl: fixture.origin });
  const tool = { name: 'pick_file', kind: 'client' as const, inputSchema: { type: 'object' } };
  await troupe.tools.create({ body: tool });
  const body = {
    name: 'Ada',
    capabilities: [{ id: 'current_time' }, { id: 'delegation' }],
    tools: ['pick_file'],
    approvals: ['current_time'],
  };
  agentId = (await troupe.agents.create({ body })).id;
  page = await fixture.visit();
});
afterAll(() => fixture.close());
afterEach(async () => {
  fixture.rule();
  await page.ask('unmountAll()');
  expect(page.errors).toEqual([]);
});

const useIt = (session: Session) => `useSession('${agentId}', '${session.id}')`;
/** Draws a component that reads these fields, and writes down what they were each time. */
const show = (name: string, session: Session, ...fields: string[]) =>
  page.ask(`mount('${name}', ({ useSession }, log) => {
    const chat = ${useIt(session)};
    log.push(JSON.parse(JSON.stringify({ ${fields.map((field) => `${field}: chat.${field}`).join()} })));
    return chat;
  })`);
const texts = (name = 'chat') => `results.${name}.messages.map(({ content }) => content.text).join('|')`;
const isIdle = (name = 'chat') => `results.${name}.session?.status === 'pending' && !results.${name}.run`;

interface Drawn {
  messages: { id: string; content: { text?: string }; sending?: { state: string } }[];
  live: { text: string; reasoning: string }[];
}
const drawn = (name = 'chat') => page.ask<Drawn[]>(`log.${name}`);
/** At no moment a message twice, nor what is written beside the message that it became. */
async function wasEverWhole(name = 'chat'): Promise<void> {
  for (const { messages, live } of await drawn(name)) {
    const ids = messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { text } of live)
      expect(messages.slice(0, -1).map(({ content }) => content.text)).not.toContain(text);
  }
}

it('what is said shows at once, the answer as it is written, and each of them once', async () => {
  const session = await troupe.open(agentId);
  await show('chat', session, 'messages', 'live');
  // This one does not look at what is being written, and is not drawn for it.
  await page.ask(`mount('quiet', ({ useSession }) => ({ said: ${useIt(session)}.messages.length }))`);
  await page.sees(`results.chat.connection === 'live'`);
  const before = await page.ask<number>('renders.quiet');
  await page.ask(`results.chat.send('${SLOW}')`);
  await page.sees(`results.chat.live[0]?.text.length > 8`);
  expect(await page.ask('results.chat.live[0].reasoning')).toBe('How?');
  expect(await page.ask('results.chat.session.status')).toBe('running');
  await page.sees(`results.chat.messages.length === 2 && ${isIdle()}`);
  expect(await page.ask(texts())).toBe(`${SLOW}|${SLOW}`);
  await page.sees(`results.chat.session.title !== null`);
  const states = await drawn();
  const sending = states.find(({ messages }) => messages[0]?.sending)!;
  expect(sending.messages).toMatchObject([{ content: { text: SLOW }, sending: { state: 'sending' } }]);
  expect(states.filter(({ live }) => live.length > 0).length).toBeGreaterThan(4);
  expect(states.at(-1)).toMatchObject({ live: [], messages: [{ id: sending.messages[0]!.id }, {}] });
  await wasEverWhole();
  // Strict mode draws twice: shown, stored, answered.
  expect((await page.ask<number>('renders.quiet')) - before).toBeLessThanOrEqual(8);
  // Two components in strict mode, one stream.
  const opened = fixture.seen.filter(({ path, isStream }) => isStream && path.includes(session.id));
  expect(opened).toHaveLength(1);
});

it('the stream is closed a moment after the last has gone, and not when one of two has', async () => {
  const session = await troupe.open(agentId);
  const open = () => [...fixture.streams].filter(({ req }) => req.url!.includes(session.id)).length;
  await show('chat', session, 'messages');
  await show('other', session, 'messages');
  await page.sees(`results.chat.connection === 'live'`);
  await page.ask(`unmount('chat')`);
  await session.sendAndWait('Hello.');
  await page.sees(`${texts('other')} === 'Hello.|Heard: Hello.'`);
  expect(open()).toBe(1);
  await page.ask(`unmount('other')`);
  await until('the stream is closed', () => open() === 0);
});

it('older messages are loaded when they are asked for', async () => {
  const session = await troupe.open(agentId);
  for (let at = 0; at < 30; at++) await session.send({ content: { text: `No. ${at}` } });
  await until('all are answered', async () => (await session.get()).status === 'pending');
  await page.ask(
    `mount('chat', ({ useMessages }) => useMessages({ agentId: '${agentId}', sessionId: '${session.id}' }))`,
  );
  const all = (await session.messages({ limit: 1000 })).data.map(({ id }) => id);
  await page.sees('results.chat.messages.length === 50');
  expect(await page.ask('results.chat.hasOlder')).toBe(true);
  await page.ask('results.chat.loadOlder()');
  await page.sees('!results.chat.hasOlder');
  expect(await page.ask('results.chat.messages.map(({ id }) => id)')).toEqual(all);
});

it('what is refused stays, to be sent again or discarded', async () => {
  const session = await troupe.open(agentId);
  await show('chat', session, 'messages', 'live');
  await page.sees(`results.chat.connection === 'live'`);
  fixture.rule(({ method }) => (method === 'POST' ? { status: 409, code: 'session_busy' } : 'pass'));
  const refusal = `results.chat.send('Really?').catch(({ code }) => code)`;
  expect(await page.ask(refusal)).toBe('session_busy');
  await page.sees(`results.chat.messages[0].sending.state === 'failed'`);
  expect(await page.ask('results.chat.messages[0].sending.error.code')).toBe('session_busy');
  fixture.rule();
  await page.ask('results.chat.messages[0].sending.resend()');
  await page.sees(`${texts()} === 'Really?|Heard: Really?' && !results.chat.messages[0].sending`);

  fixture.rule(({ method }) => (method === 'POST' ? { status: 409, code: 'session_busy' } : 'pass'));
  await page.ask(refusal);
  await page.ask('results.chat.messages.at(-1).sending.discard()');
  await page.sees('results.chat.messages.length === 2');
  await wasEverWhole();
});

it('a message whose answer is lost is stored once and shown once', async () => {
  const session = await troupe.open(agentId);
  await show('chat', session, 'messages', 'live');
  await page.sees(`results.chat.connection === 'live'`);
  let lost = 0;
  fixture.rule(({ method }) => (method === 'POST' && lost++ < 2 ? 'lose' : 'pass'));
  const id = await page.ask<string>(`results.chat.send('Once.')`);
  await page.sees(`results.chat.messages.length === 2 && ${isIdle()}`);
  expect(lost).toBeGreaterThanOrEqual(1);
  const { data } = await session.messages();
  expect(data.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect(data[0]!.id).toBe(id);
  await wasEverWhole();
});

it('a run that failed is taken up again, and one that is at work is stopped', async () => {
  const session = await troupe.open(agentId);
  await show('chat', session, 'messages');
  await page.ask(`results.chat.send('Fail.')`);
  await page.sees(
    `results.chat.session?.error?.code === 'no_idea' && results.chat.session.status === 'failed'`,
  );
  await page.ask('results.chat.retry()');
  await until('it was taken up again', async () => {
    const { data } = await session.events({ types: 'run.failed' });
    return data.length === 2;
  });
  const other = await troupe.open(agentId);
  await show('other', other, 'messages', 'live');
  await page.ask(`results.other.send('${SLOW}')`);
  await page.sees('results.other.live[0]?.text.length > 3');
  await page.ask('results.other.stop()');
  await page.sees(
    `!results.other.run && results.other.live.length === 0 && results.other.session.status === 'pending'`,
  );
  expect(await page.ask(texts('other'))).toBe(SLOW);
});

it('a call that waits for the page is answered by it, once', async () => {
  const session = await troupe.open(agentId);
  await page.ask(`mount('chat', ({ useSession, useToolResult }) => {
    const chat = ${useIt(session)};
    const call = chat.calls[0];
    const answer = useToolResult({ runId: call?.runId ?? '', callId: call?.id ?? '' });
    return { ...chat, call, answer };
  })`);
  await page.ask(`results.chat.send('Pick.')`);
  await page.sees(`results.chat.call?.state === 'pending' && results.chat.session.status === 'waiting'`);
  expect(await page.ask('results.chat.call')).toMatchObject({
    tool: 'pick_file',
    arguments: { folder: 'in' },
    waitsFor: 'client',
    result: null,
  });
  const { runId } = await page.ask<{ runId: string }>('results.chat.call');
  await page.ask(`mount('run', ({ useRun }) => useRun('${runId}'))`);
  await page.ask(`mount('runs', ({ useRuns }) => useRuns({ sessionId: '${session.id}' }))`);
  await page.sees(`results.run.run?.status === 'waiting_tool' && results.run.calls[0].waitsFor === 'client'`);
  await page.sees(`results.runs.items[0]?.status === 'waiting_tool'`);
  await page.ask(
    `Promise.all([results.chat.answer.submit({ file: 'a' }), results.chat.answer.submit({ file: 'b' })])`,
  );
  await page.sees(`results.chat.answer.state === 'settled' && results.chat.call.state === 'settled'`);
  await page.sees(`${texts()}.endsWith('Got: {"file":"a"}') && ${isIdle()}`);
  await page.sees(`results.run.run.status === 'completed' && results.run.steps.length === 2`);
  await page.sees(`results.runs.items[0].status === 'completed'`);
  const fork = await page.ask<string>('results.run.fork({ step: 1 })');
  expect(await troupe.run(fork).get()).toMatchObject({ forkedFrom: { runId, step: 1 } });
});

it('a search whose pages are empty goes on, one page with every time that more is asked for', async () => {
  await page.ask(`{
    const client = new Troupe({ baseUrl: location.origin });
    const pages = { first: { data: [], nextCursor: 'second' }, second: { data: [], nextCursor: 'third' }, third: { data: [{ id: 'found' }], nextCursor: null } };
    client.runs.list = async ({ query: { cursor = 'first' } }) => pages[cursor];
    mount('search', ({ useRuns }) => useRuns({ search: 'rare' }), { client });
  }`);
  await page.sees('!results.search.isLoading && results.search.hasMore');
  expect(await page.ask('results.search.items')).toEqual([]);
  await page.ask('results.search.loadMore()');
  expect(await page.ask('results.search.items')).toEqual([]);
  await page.ask('results.search.loadMore()');
  await page.sees(`results.search.items[0]?.id === 'found' && !results.search.hasMore`);
});

it('a call that waits for approval is in the inbox until somebody decides; what is refused is taken back', async () => {
  const session = await troupe.open(agentId);
  const filter = `{ sessionId: '${session.id}' }`;
  await page.ask(`mount('inbox', ({ useApprovals }, log) => {
    const inbox = useApprovals(${filter});
    log.push(inbox.items.map(({ deciding, failure }) => deciding ?? failure?.code ?? 'waits'));
    return inbox;
  })`);
  await page.sees('!results.inbox.isLoading');
  await session.send('Look.');
  await page.sees('results.inbox.items.length === 1');
  fixture.rule(({ method }) => (method === 'POST' ? { status: 403, code: 'forbidden' } : 'pass'));
  const approve = 'results.inbox.approve(results.inbox.items[0]).catch(({ code }) => code)';
  expect(await page.ask(approve)).toBe('forbidden');
  await page.sees(`results.inbox.items[0].failure?.code === 'forbidden' && !results.inbox.items[0].deciding`);
  fixture.rule();
  expect(await page.ask(approve)).toBe(undefined);
  await page.sees('results.inbox.items.length === 0');
  const all = await page.ask<string[][]>('log.inbox');
  const told = all.map((states) => states.join()).filter((state, at, list) => state !== list[at - 1]);
  expect(told).toEqual(['', 'waits', 'approve', 'forbidden', 'approve', '']);
  await until('it was called', async () => (await session.get()).status === 'pending');

  await session.send('Look.');
  await page.sees('results.inbox.items.length === 1');
  const [call] = (await troupe.inbox.list({ query: { sessionId: session.id } })).data;
  await troupe.inbox.reject(call!);
  await page.sees('results.inbox.items.length === 0');
});

it('tasks are seen as they go, in their session, in a list and one by one, and can be canceled', async () => {
  const session = await troupe.open(agentId);
  await show('chat', session, 'tasks');
  await page.ask(`mount('tasks', ({ useTasks }) => useTasks({ chat: '${session.id}' }))`);
  await page.sees(`results.chat.connection === 'live' && !results.tasks.isLoading`);
  await session.send('Hand it on.');
  await page.sees(`results.tasks.items[0]?.status === 'waiting'`);
  const [task] = (await session.tasks()).data;
  await page.ask(`mount('task', ({ useTask }) => useTask('${task!.id}'))`);
  await page.sees(`results.task.task?.question === 'How long?'`);
  await page.sees(`results.chat.tasks[0]?.status === 'waiting'`);
  await page.ask('results.task.cancel()');
  await page.sees(
    `[results.task.task, results.tasks.items[0], results.chat.tasks[0]].every(({ status }) => status === 'canceled')`,
  );
});

it('lists stay up to date for those who may not hear of all that changes', async () => {
  const session = await troupe.open(agentId);
  fixture.rule(({ path }) => (path.startsWith('/v1/changes') ? { status: 403, code: 'forbidden' } : 'pass'));
  const own = '{ client: new Troupe({ baseUrl: location.origin }) }';
  await page.ask(`mount('runs', ({ useRuns }) => useRuns({ sessionId: '${session.id}' }), ${own})`);
  await until('it follows what copies are told', () =>
    [...fixture.streams].some(({ req }) => req.url!.startsWith('/v1/sync/stream?collections=runs')),
  );
  await session.send('Hello.');
  await page.sees(`results.runs.items[0]?.status === 'completed'`);
});

it('the example of docs/react.md runs as it stands', async () => {
  const doc = readFileSync(new URL('../../../docs/react.md', import.meta.url), 'utf8');
  const [, example] = /```tsx\n([\s\S]+?)```/.exec(doc)!;
  const file = fileURLToPath(new URL(`./example-${process.pid}.gen.tsx`, import.meta.url));
  writeFileSync(
    file,
    example!.replace('http://localhost:4700', fixture.origin).replace("'Ada'", "'Example'"),
  );
  const tab = await fixture.visitProgram(file).finally(() => rmSync(file));
  await tab.getByLabel('Message').fill('Hi.');
  await tab.getByLabel('Message').press('Enter');
  await tab.getByText('assistant Heard: Hi.').waitFor();
});
