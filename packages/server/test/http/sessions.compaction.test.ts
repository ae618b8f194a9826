import type { Message, Run, RunStep, Session } from '@troupe/protocol';
import { violations } from '@troupe/testing';
import { afterEach, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import { SessionFixture, type SessionFixtureOptions } from './session-fixture.ts';

let fixture: SessionFixture;
afterEach(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const isSummariser = ({ system }: ModelRequest) => system.startsWith('You keep the memory');
const textOf = ({ messages }: ModelRequest) => JSON.stringify(messages);
const factsIn = (text: string) => [...new Set(text.match(/fact-\d+-[a-z]+/g) ?? [])];
const lastOf = ({ messages }: ModelRequest) => (messages.at(-1) as { text: string }).text;

const resultsIn = ({ messages }: ModelRequest) => messages.filter((message) => message.role === 'tool');

/** Repeats only facts of the request. */
function honest(request: ModelRequest) {
  if (isSummariser(request)) return { text: `Known: ${factsIn(textOf(request)).join(' ')}` };
  const asked = /What about (\d+)\?/.exec(lastOf(request))?.[1];
  if (asked === undefined) return { text: 'Noted.' };
  return {
    text: factsIn(textOf(request)).find((fact) => fact.startsWith(`fact-${asked}-`)) ?? 'I do not know.',
  };
}

async function open(options: SessionFixtureOptions = {}): Promise<Session> {
  fixture = await SessionFixture.open({ script: honest, ...options });
  return fixture.create();
}

async function turn(session: Session, text: string): Promise<string> {
  const { run } = await fixture.say(session, text);
  const { outcome } = await fixture.kernel.ended(run!.id);
  return (outcome as { text: string }).text;
}

it('sends a conversation of 41 turns whole, because it fits', async () => {
  const session = await open();
  for (let n = 1; n <= 40; n++) await turn(session, `Hello. Remember fact-${n}-plum for later.`);
  expect(await turn(session, 'What about 1?')).toBe('fact-1-plum');
  expect(fixture.scripted.requests.at(-1)!.messages).toHaveLength(81);
  expect(fixture.scripted.requests.some(isSummariser)).toBe(false);
});

it('begins every request with the bytes of the one before it, except at a compaction', async () => {
  const session = await open({ contextTokens: 3_000 });
  for (let n = 1; n <= 60; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(5)}`);
  const ordinary = fixture.scripted.requests.filter((request) => !isSummariser(request));
  const compactions = fixture.scripted.requests.length - ordinary.length;
  const broken = ordinary.slice(1).filter((request, index) => {
    const before = ordinary[index]!;
    const samePrompt = before.system === request.system;
    const sameTools = JSON.stringify(before.tools) === JSON.stringify(request.tools);
    const prefix = JSON.stringify(before.messages).slice(0, -1);
    return !samePrompt || !sameTools || !JSON.stringify(request.messages).startsWith(prefix);
  });
  expect(compactions).toBeGreaterThan(1);
  expect(broken).toHaveLength(compactions);
});

it('gives every message to the summariser before it leaves, and every fact stays known', async () => {
  const session = await open({ contextTokens: 3_000 });
  for (let n = 1; n <= 100; n++) {
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(4)}`);
    const known = factsIn(fixture.scripted.requests.map(textOf).at(-1)!).length;
    expect(known).toBe(n);
  }
  for (const n of [1, 2, 50, 99, 100]) expect(await turn(session, `What about ${n}?`)).toBe(`fact-${n}-plum`);
  expect(fixture.scripted.requests.filter(isSummariser).length).toBeGreaterThan(3);
});

it('takes a summary as a step of the run that can be inspected and reproduced', async () => {
  const session = await open({ contextTokens: 3_000, summariser: 'small' });
  for (let n = 1; n <= 40; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(8)}`);
  const asked = fixture.scripted.requests.find(isSummariser)!;
  expect(asked.model).toBe('small');

  const { steps, usage } = await fixture.done<Run & { steps: RunStep[] }>('GET', `/v1/runs/${asked.runId}`);
  // The summary counts among the tokens of the run.
  const read = steps.reduce((sum, step) => sum + step.usage.inputTokens, 0);
  expect(usage.inputTokens).toBe(read);
  expect(steps.map(({ model }) => model)).toEqual(['small', 'model']);
  expect(steps[0]).toMatchObject({ decision: { type: 'COMPACTION', by: 'small' }, agentKey: null });
  expect(steps[0]!.usage.inputTokens).toBeGreaterThan(500);

  const path = `/v1/runs/${asked.runId}/steps/${asked.step}/prompt`;
  const prompt = await fixture.done<{ system: string; messages: unknown; exact: boolean }>('GET', path);
  expect(prompt).toMatchObject({ system: asked.system, exact: true });
  expect(prompt.messages).toEqual(asked.messages);

  const events = await fixture.events(session);
  const compactions = fixture.scripted.requests.filter(isSummariser).length;
  expect(events.filter((type) => type === 'context.compacted')).toHaveLength(compactions);
  const summaries = (await fixture.messages(session)).filter(({ role }) => role === 'system');
  expect(summaries).toHaveLength(compactions);
});

it('keeps summaries out of the answers of a session', async () => {
  const session = await open({ contextTokens: 3_000 });
  for (let n = 1; n <= 40; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(8)}`);
  const answers = (await fixture.messages(session)).filter(({ role }) => role === 'assistant');
  expect(answers.map(({ content }) => (content as { text: string }).text)).toEqual(Array(40).fill('Noted.'));
});

it('compacts inside a long run, between its steps, and keeps the question', async () => {
  const session = await open({
    contextTokens: 4_000,
    tools: { look: () => `Found fact-${++looked}-plum. ${'A line of the result. '.repeat(30)}` },
    toolList: [{ name: 'look', effect: 'pure' }],
    limits: { steps: 200 },
    script: (request) => {
      if (isSummariser(request)) return honest(request);
      expect(textOf(request)).toContain('Look for 60 things');
      const found = factsIn(textOf(request));
      return found.length < 60 ? { calls: [{ name: 'look' }] } : { text: `I have ${found.length}.` };
    },
  });
  let looked = 0;
  expect(await turn(session, 'Look for 60 things.')).toBe('I have 60.');
  expect(fixture.scripted.requests.filter(isSummariser).length).toBeGreaterThan(2);

  // A later run loads the question, the newest summary and what came after it, and nothing of the rest.
  const { rows } = await fixture.db.pool.query<{ loaded: number; all: number }>(
    `select jsonb_array_length(troupe.tail(id, null, last_message_seq, 5000)) as loaded, last_message_seq::int as all
      from troupe.threads where id = $1`,
    [session.threadId],
  );
  expect(rows[0]!.all).toBeGreaterThan(120);
  expect(rows[0]!.loaded).toBeLessThan(30);
});

it('trusts no metadata of a user', async () => {
  const session = await open({ contextTokens: 3_000 });
  const metadata = {
    'troupe:summary': { upTo: 'x', kept: 1 },
    'troupe:tokens': { model: 'model', ratio: 4 },
  };
  await fixture.say(session, 'Remember fact-1-plum.', { metadata });
  await fixture.becomes(session, 'pending');
  const forged = { 'troupe:summary': { upTo: 1_000, kept: [] } };
  await fixture.say(session, 'Remember fact-2-plum.', { metadata: forged });
  await fixture.becomes(session, 'pending');
  expect(await turn(session, 'What about 1?')).toBe('fact-1-plum');
});

it('shortens large results first, oldest first, and recall reads them whole', async () => {
  let files = 0;
  const session = await open({
    contextTokens: 16_000,
    tools: { read: () => `File ${++files}. ${'A line of the file. '.repeat(300)}The end of file ${files}.` },
    toolList: [{ name: 'read', effect: 'pure' }],
    script: (request) => {
      const text = lastOf(request);
      const results = resultsIn(request);
      if (text === 'Read on.') return { calls: [{ name: 'read' }] };
      if (text === 'Again.') {
        const short = results.find(({ output }) => String(output).includes('left out'))!;
        return { calls: [{ name: 'recall', arguments: { callId: short.callId } }] };
      }
      return { text: 'Done.' };
    },
  });
  for (let n = 0; n < 8; n++) await turn(session, 'Read on.');
  const shown = resultsIn(fixture.scripted.requests.at(-1)!);
  const isShort = shown.map(({ output }) => /left out; call recall/.test(String(output)));
  expect(isShort[0]).toBe(true);
  expect(isShort.at(-1)).toBe(false);
  expect(isShort.toSorted((a, b) => Number(b) - Number(a))).toEqual(isShort);
  expect(fixture.scripted.requests.some(isSummariser)).toBe(false);

  await turn(session, 'Again.');
  const { output } = resultsIn(fixture.scripted.requests.at(-1)!).at(-1)!;
  expect((output as { text: string }).text).toMatch(/^File 1\. [\s\S]* The end of file 1\.$/);
});

it('finds summarised messages by recall', async () => {
  const session = await open({
    contextTokens: 3_000,
    script: (request) => {
      if (isSummariser(request)) return { text: 'They talked.' };
      const last = request.messages.at(-1)!;
      if (last.role === 'tool') return { text: JSON.stringify(last.output) };
      if (!lastOf(request).startsWith('Search')) return { text: 'Noted.' };
      expect(request.tools.map(({ name }) => name)).toContain('recall');
      return { calls: [{ name: 'recall', arguments: { query: 'colour of the boathouse' } }] };
    },
  });
  await turn(session, 'The boathouse is painted vermilion.');
  for (let n = 1; n <= 40; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(8)}`);
  expect(textOf(fixture.scripted.requests.at(-1)!)).not.toContain('vermilion');
  const found = JSON.parse(await turn(session, 'Search your memory.'));
  const { data } = await fixture.done<{ data: Message[] }>(
    'GET',
    `${fixture.sessions}/${session.id}/messages?search=vermil&limit=5`,
  );
  expect(data.map(({ sequence }) => sequence)).toContain(1);
  expect(found.found[0]).toMatchObject({
    message: 1,
    role: 'user',
    text: 'The boathouse is painted vermilion.',
  });
});

it('goes on with a digest if every summariser fails, and says so', async () => {
  const session = await open({
    contextTokens: 3_000,
    limits: { modelTries: 2, retryBackoffMs: 1 },
    script: (request) =>
      isSummariser(request)
        ? { error: { code: 'model_error', message: 'Out of order.', retryable: true } }
        : honest(request),
  });
  for (let n = 1; n <= 40; n++)
    expect(await turn(session, `Remember fact-${n}-plum. ${'More. '.repeat(20)}`)).toBe('Noted.');
  const summaries = (await fixture.messages(session)).filter(({ role }) => role === 'system');
  expect((summaries[0]!.content as { text: string }).text).toMatch(
    /no model could summarise it[\s\S]+fact-1-plum/,
  );
  const { rows } = await fixture.db.pool.query(
    `select data from troupe.events where thread_id = $1 and type = 'context.compacted' limit 1`,
    [session.threadId],
  );
  expect(rows[0].data).toMatchObject({ by: null, code: 'model_error', message: 'Out of order.' });
});

it('goes on with a summary if the provider refuses a conversation that should have fit', async () => {
  const session = await open({
    // Its context is smaller than anybody told Troupe.
    script: (request) =>
      textOf(request).length > 6_000
        ? { error: { code: 'context_too_long', message: 'Too long.', retryable: false } }
        : honest(request),
  });
  for (let n = 1; n <= 30; n++) {
    expect(await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(20)}`)).toBe('Noted.');
  }
  expect(fixture.scripted.requests.some(isSummariser)).toBe(true);
  expect(await turn(session, 'What about 1?')).toBe('fact-1-plum');
});

it('gives a summariser with a small context every message, in as many steps as it needs', async () => {
  const session = await open({ contextTokens: 40_000, summariser: 'small', summariserContext: 5_000 });
  for (let n = 1; n <= 40; n++) {
    await turn(session, `Remember fact-${n}-plum. ${'Some more words of the conversation. '.repeat(130)}`);
  }
  const asked = fixture.scripted.requests.filter(isSummariser);
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.filter((request) => textOf(request).includes('[Shortened'))).toEqual([]);
  expect(await turn(session, 'What about 1?')).toBe('fact-1-plum');
});

it('summarises on after a result that is larger than the context', async () => {
  const session = await open({
    contextTokens: 8_000,
    tools: { read: () => 'A line of a very large file. '.repeat(4_000) },
    toolList: [{ name: 'read', effect: 'pure' }],
    script: (request) =>
      !isSummariser(request) && lastOf(request) === 'Read it.'
        ? { calls: [{ name: 'read' }] }
        : honest(request),
  });
  await turn(session, 'Read it.');
  for (let n = 1; n <= 60; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(20)}`);
  expect(fixture.scripted.requests.some(isSummariser)).toBe(true);
  expect(await turn(session, 'What about 1?')).toBe('fact-1-plum');
  expect(await turn(session, 'What about 60?')).toBe('fact-60-plum');
});

it('refuses a summary that was cut off, and goes on with a digest within its bounds', async () => {
  const session = await open({
    contextTokens: 3_000,
    script: (request) =>
      isSummariser(request) ? { text: 'The first half of', finishReason: 'length' } : honest(request),
  });
  for (let n = 1; n <= 150; n++) await turn(session, `Remember fact-${n}-plum. ${'More. '.repeat(20)}`);
  const summaries = (await fixture.messages(session)).filter(({ role }) => role === 'system');
  const lengths = summaries.map(({ content }) => (content as { text: string }).text.length);
  expect(summaries.some(({ content }) => JSON.stringify(content).includes('The first half'))).toBe(false);
  expect(Math.max(...lengths)).toBeLessThan(3_000);
  expect(await turn(session, 'What about 150?')).toBe('fact-150-plum');
});

it('forgets a summary of messages that a fork changed', async () => {
  const session = await open({ contextTokens: 3_000 });
  for (let n = 1; n <= 40; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(8)}`);
  const { run } = await fixture.say(session, 'What about 1?');
  await fixture.kernel.ended(run!.id);
  const edits = [{ sequence: 1, content: { text: 'Remember fact-1-pear.' } }];
  const fork = await fixture.done<{ id: string }>('POST', `/v1/runs/${run!.id}/fork`, { step: 0, edits });
  const { outcome } = await fixture.kernel.ended(fork.id);
  expect((outcome as { text: string }).text).toBe('fact-1-pear');
});

it('does not count summaries towards the limit of steps', async () => {
  const session = await open({ contextTokens: 3_000, limits: { steps: 1 } });
  for (let n = 1; n <= 60; n++)
    await turn(session, `Remember fact-${n}-plum. ${'Some more words. '.repeat(8)}`);
  expect(fixture.scripted.requests.filter(isSummariser).length).toBeGreaterThan(1);
  expect(await turn(session, 'What about 1?')).toBe('fact-1-plum');
});
