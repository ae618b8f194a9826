import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Person } from './fixture.ts';
import { call, calls, openScriptedSpaces, type Request, triggerIn } from './scripted-agents.ts';

// Waiting for replies, for agents that may: a reply resumes the run that waits for it or starts a new one, never both.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces());
});
afterAll(() => fixture.close());

const outputOf = ({ messages }: Request) => {
  const last = messages.at(-1)!;
  return last.role === 'tool' ? (last.output as Record<string, unknown>) : null;
};

/** An agent that asks when it is told to "Ask", and keeps what it was answered. */
async function asker(name: string, wait: (people: Person[]) => object, people = ['Ann', 'Ben']) {
  const members = await Promise.all(people.map((one) => fixture.person(one)));
  const agent = await fixture.agent(name, { replyWaiting: true });
  const answers: Record<string, unknown>[] = [];
  const started: string[] = [];
  parts.set(name, (request) => {
    const text = triggerIn(request.system);
    if (request.step === 1) started.push(text);
    if (text !== 'Ask') return [];
    if (request.step > 1) answers.push(outputOf(request)!);
    return [calls(call('send_message', { text: 'Well?', wait: wait(members) }))];
  });
  const space = await fixture.space([...members, agent]);
  const [run] = (await fixture.say(space, members[0]!, 'Ask')).runs;
  const waiting = () =>
    until('the run waits', async () => {
      const now = await fixture.run(run!.id);
      return now.status === 'waiting_reply' ? now : null;
    });
  return { members, agent, answers, started, space, run: run!, waiting };
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

test('000: times of waitState are ISO with Z; the first reply by anyone resumes the run, and starts no other', async () => {
  const { members, answers, started, space, run, waiting } = await asker('Any Ada', () => ({}));
  const now = await waiting();
  const question = (await fixture.messages(space)).at(-1)!;
  expect(now.metadata.waitState).toMatchObject({
    spaceId: space,
    messageId: question.id,
    toolCallId: expect.any(String),
    waitingFor: [],
    timeout: 300_000,
    replies: [],
  });
  expect(now.metadata.waitState).toMatchObject({ startedAt: expect.stringMatching(ISO) });
  const reply = await fixture.say(space, members[1]!, 'Blue.');
  expect(reply.runs).toEqual([{ id: run.id, entityId: now.entityId, outcome: 'replied' }]);
  expect((await fixture.ended(run.id)).status).toBe('completed');
  expect(answers).toMatchObject([
    {
      success: true,
      messageId: question.id,
      status: 'resolved',
      replies: [{ entityId: members[1]!.id, entityName: 'Ben', text: 'Blue.', messageId: reply.id }],
    },
  ]);
  expect(started).toEqual(['Ask']);
  // It has seen the reply, and the next message starts a run as always.
  const next = await fixture.say(space, members[1]!, 'Thanks');
  expect(next.runs).toMatchObject([{ outcome: 'started' }]);
  await fixture.quiet();
  const types = (await fixture.events(space)).filter(({ runId }) => runId === run.id).map(({ type }) => type);
  expect(types).toEqual([
    ...['run.queued', 'run.started', 'agent.active', 'message.created', 'run.waiting_reply'],
    ...['run.resumed', 'run.completed', 'agent.inactive'],
  ]);
});

test('where several are named, all of them have to reply', async () => {
  const { members, answers, started, space, run, waiting } = await asker('All Ada', (people) => ({
    for: people.map(({ id }) => id),
  }));
  await waiting();
  const [ann, ben] = members;
  expect((await fixture.say(space, ben!, 'First.')).runs).toMatchObject([{ id: run.id, outcome: 'replied' }]);
  expect((await fixture.run(run.id)).metadata.waitState).toMatchObject({
    waitingFor: expect.arrayContaining([
      { entityId: ann!.id, entityName: 'Ann', entityType: 'human', responded: false },
      { entityId: ben!.id, entityName: 'Ben', entityType: 'human', responded: true },
    ]),
    startedAt: expect.stringMatching(ISO),
    replies: [{ entityId: ben!.id, text: 'First.', timestamp: expect.stringMatching(ISO) }],
  });
  // Ben has replied: what else he says is no reply.
  expect((await fixture.say(space, ben!, 'And another thing.')).runs).toMatchObject([{ outcome: 'started' }]);
  expect((await fixture.run(run.id)).status).toBe('waiting_reply');
  await fixture.say(space, ann!, 'Second.');
  await fixture.ended(run.id);
  await fixture.quiet();
  expect(answers).toMatchObject([{ status: 'resolved', replies: [{ text: 'First.' }, { text: 'Second.' }] }]);
  expect(started).toEqual(['Ask', 'And another thing.']);
});

test('a run that asks twice in one answer asks in order, and what answers both is told of it once', async () => {
  const ann = await fixture.person('Ann');
  const ada = await fixture.agent('Twofold Ada', { replyWaiting: true });
  const ask = (text: string) => call('send_message', { text, wait: { for: [ann.id] } });
  parts.set('Twofold Ada', ({ system }) =>
    triggerIn(system) === 'Ask' ? [calls(ask('First?'), ask('Second?'))] : [],
  );
  const space = await fixture.space([ann, ada]);
  const [run] = (await fixture.say(space, ann, 'Ask')).runs;
  await until('the run waits', async () => (await fixture.run(run!.id)).status === 'waiting_reply');
  const texts = (await fixture.messages(space)).map(({ content }) => content.text);
  expect(texts).toEqual(['Ask', 'First?', 'Second?']);
  const { runs } = await fixture.say(space, ann, 'Yes, both.');
  expect(runs).toEqual([{ id: run!.id, entityId: ada.entityId, outcome: 'replied' }]);
  expect((await fixture.ended(run!.id)).status).toBe('completed');
});

test('when the time is over the run goes on with what came', async () => {
  const partial = await asker('Partial Ada', (people) => ({
    for: people.map(({ id }) => id),
    timeoutMs: 1_000,
  }));
  const none = await asker('Alone Ada', () => ({ timeoutMs: 1_000 }));
  await partial.waiting();
  await fixture.say(partial.space, partial.members[0]!, 'Only me.');
  for (const { run } of [partial, none]) expect((await fixture.ended(run.id)).status).toBe('completed');
  expect(partial.answers).toMatchObject([
    { success: true, status: 'partial_timeout', replies: [{ text: 'Only me.' }] },
  ]);
  expect(none.answers).toMatchObject([{ success: true, status: 'timeout', replies: [] }]);
  // Nobody is waited for any more.
  expect((await fixture.say(none.space, none.members[0]!, 'Too late.')).runs).toMatchObject([
    { outcome: 'started' },
  ]);
  await fixture.quiet();
});

test('of many messages at once one is the reply, and each of the others starts a run', async () => {
  const { members, answers, space, run, waiting } = await asker('Racing Ada', () => ({}));
  await waiting();
  const posts = await Promise.all(
    Array.from({ length: 12 }, (_, n) => fixture.say(space, members[n % 2]!, `Reply ${n}`)),
  );
  await fixture.quiet();
  const outcomes = posts.map(({ runs }) => runs.map(({ outcome }) => outcome).join());
  expect(outcomes.filter((outcome) => outcome === 'replied')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(11);
  expect(answers).toHaveLength(1);
  expect((await fixture.run(run.id)).status).toBe('completed');
  expect(await fixture.runs(space)).toHaveLength(12);
});

test('an agent that waits for another one is answered by what that one says', async () => {
  const bea = await fixture.agent('Answering Bea');
  parts.set('Answering Bea', ({ system }) =>
    triggerIn(system) === 'Well?' ? [calls(call('send_message', { text: 'Quite well.' }))] : [],
  );
  const ann = await fixture.person('Ann');
  const ada = await fixture.agent('Waiting Ada', { replyWaiting: true });
  const answers: unknown[] = [];
  parts.set('Waiting Ada', (request) => {
    if (triggerIn(request.system) !== 'Ask Bea') return [];
    if (request.step > 1) answers.push(outputOf(request));
    return [calls(call('send_message', { text: 'Well?', wait: { for: [bea.entityId] } }))];
  });
  // Only who is named is started here: whoever is waited for is.
  const space = await fixture.space([ann, ada, bea], { policy: 'mentions' });
  await fixture.say(space, ann, 'Ask Bea', { mentions: [ada.entityId] });
  await until('Ada was answered', () => answers.length === 1);
  await fixture.quiet();
  expect(answers).toMatchObject([
    { status: 'resolved', replies: [{ entityName: 'Answering Bea', text: 'Quite well.' }] },
  ]);
  expect((await fixture.runs(space)).filter(({ entityId }) => entityId === ada.entityId)).toHaveLength(1);
});

test('a run that is canceled while it waits is waited for by nobody; its replies start runs again', async () => {
  const { members, started, space, run, waiting } = await asker('Canceled Ada', () => ({}));
  await waiting();
  await fixture.done('POST', `/v1/runs/${run.id}/cancel`);
  expect((await fixture.say(space, members[0]!, 'Hello?')).runs).toMatchObject([{ outcome: 'started' }]);
  await fixture.quiet();
  expect(started).toEqual(['Ask', 'Hello?']);
  expect((await fixture.run(run.id)).metadata).toEqual({});
});

test('an agent that is removed while it waits goes on, and hears of nothing that is said there since', async () => {
  const { members, agent, answers, space, run, waiting } = await asker('Removed Ada', () => ({}));
  await waiting();
  await fixture.done('DELETE', `/v1/spaces/${space}/members/${agent.entityId}`);
  expect((await fixture.say(space, members[0]!, 'She is gone.')).runs).toEqual([]);
  expect((await fixture.ended(run.id)).status).toBe('completed');
  expect(answers).toMatchObject([{ success: true, status: 'left', replies: [] }]);
});

test('nobody waits for one who was removed: the others are enough, and with nobody left the run goes on', async () => {
  const both = (people: Person[]) => ({ for: people.map(({ id }) => id) });
  const [two, one] = [
    await asker('Both Ada', both),
    await asker('One Ada', (people) => ({ for: [people[1]!.id] })),
  ];
  for (const { space, members, waiting } of [two, one]) {
    await waiting();
    await fixture.done('DELETE', `/v1/spaces/${space}/members/${members[1]!.id}`);
  }
  expect((await fixture.ended(one.run.id)).status).toBe('completed');
  expect(one.answers).toMatchObject([{ status: 'left', replies: [], waitingFor: [] }]);
  expect((await fixture.run(two.run.id)).status).toBe('waiting_reply');
  await fixture.say(two.space, two.members[0]!, 'Here.');
  expect((await fixture.ended(two.run.id)).status).toBe('completed');
  expect(two.answers).toMatchObject([{ status: 'resolved', replies: [{ text: 'Here.' }] }]);
});

test('who is not there cannot be waited for, and then nothing is said', async () => {
  const stranger = newId();
  const { answers, space, run } = await asker('Wrong Ada', () => ({ for: [stranger] }));
  expect((await fixture.ended(run.id)).status).toBe('completed');
  expect(answers).toMatchObject([{ success: false, code: 'not_members', entityIds: [stranger] }]);
  expect(await fixture.lines(space)).toEqual(['Ann: Ask']);
});

test('an agent that may not wait is told so', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Eager Ada')];
  const answers: unknown[] = [];
  parts.set('Eager Ada', (request) => {
    if (request.step > 1) answers.push(outputOf(request));
    return [calls(call('send_message', { text: 'Well?', wait: {} }))];
  });
  const space = await fixture.space([ann, ada]);
  await fixture.ended((await fixture.say(space, ann, 'Ask')).runs[0]!.id);
  expect(JSON.stringify(answers[0])).toContain('must not have `wait`');
  expect(await fixture.lines(space)).toEqual(['Ann: Ask']);
});
