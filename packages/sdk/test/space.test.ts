import type { Agent, Entity } from '@troupe/protocol';
import type { Script } from '@troupe/server/parts';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Space, type StreamItem, TimeoutError, Troupe } from '../src/index.ts';

// One server. An agent does what the part says that has its name; one without a part says nothing.

type Turns = Exclude<Script, (...args: never[]) => unknown>;
type Request = Parameters<Extract<Script, (...args: never[]) => unknown>>[0];

let server: TestServer;
let troupe: Troupe;
let ann: Entity;
const parts = new Map<string, (request: Request) => Turns>();
const say = (text: string) => ({ calls: [{ name: 'send_message', arguments: { text } }] });
const nameIn = (system: string) => /^- name: "(.*)"$/m.exec(system)![1]!;
const triggerIn = (system: string) => /^- message: "(.*)"$/m.exec(system)![1]!;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ ...request }) => {
      const turns = parts.get(nameIn(request.system))?.(request);
      return turns?.[request.step - 1] ?? { text: 'Done.' };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  ann = await troupe.entities.create({ body: { externalId: 'ann', displayName: 'Ann' } });
});
afterAll(() => server.close());

const agentNamed = (name: string): Promise<Agent> => troupe.agents.create({ body: { name } });

async function spaceOf(...agents: Agent[]): Promise<Space> {
  const members = [{ entityId: ann.id }, ...agents.map(({ id }) => ({ agentId: id }))];
  const { id } = await troupe.spaces.create({ body: { name: 'Launch', members } });
  return troupe.space(id).as(ann.id);
}

it('a space in the hand: members, messages, reading, typing', async () => {
  const ada = await agentNamed('Hand Ada');
  const space = await spaceOf();
  expect(await space.addMember({ agentId: ada.id, ordering: 'serial' })).toMatchObject({
    ordering: 'serial',
  });
  expect((await space.members()).map(({ name }) => name)).toEqual(['Ann', 'Hand Ada']);
  await space.removeMember(ada.entityId);
  await expect(troupe.space(space.id).post('Who says this?')).rejects.toMatchObject({
    code: 'sender_missing',
  });
  const first = await space.post('One');
  for (const text of ['Two', 'Three', 'Four']) await space.post({ content: { text } });
  // The same id is the same message.
  const again = await space.post({ id: first.id, content: { text: 'One' } });
  expect([again.duplicate, again.sequence]).toEqual([true, 1]);
  const textsOf = async (query: Parameters<Space['messages']>[0]) => {
    const { data, hasMore } = await space.messages(query);
    return [data.map(({ content }) => content.text).join(), hasMore];
  };
  expect(await textsOf({ after: 1, limit: 2 })).toEqual(['Two,Three', true]);
  expect(await textsOf({ before: 3 })).toEqual(['One,Two', false]);
  expect(await textsOf({ search: 'o' })).toEqual(['One,Two,Four', false]);
  expect(await space.message(first.id)).toMatchObject({ senderName: 'Ann', role: 'user' });

  const bob = await troupe.entities.create({ body: { externalId: 'bob' } });
  await space.addMember({ entityId: bob.id });
  const asBob = space.as(bob.id);
  const { id: newest } = await space.post('Five');
  expect(await asBob.read(newest)).toEqual({ lastSeenMessageId: newest, unread: 0 });
  const heard: StreamItem[] = [];
  for await (const item of space.stream({ types: ['space.typing', 'space.read'] })) {
    heard.push(item);
    if (item.kind === 'connected') await asBob.typing();
    if (item.kind === 'typing') break;
  }
  expect(heard.at(-1)).toEqual({ kind: 'typing', typing: { entityId: bob.id, name: 'bob', typing: true } });
  expect(heard).toContainEqual({ kind: 'event', event: expect.objectContaining({ type: 'space.read' }) });
  expect(await space.update({ name: 'Landing' })).toMatchObject({ name: 'Landing' });
  await space.delete();
  await expect(space.get()).rejects.toMatchObject({ code: 'not_found' });
});

it('sends and waits for what all runs say, those that say nothing and those that fail too', async () => {
  const agents = await Promise.all(['Wait Ada', 'Wait Bo', 'Wait Cy'].map(agentNamed));
  parts.set('Wait Ada', ({ system }) => (triggerIn(system) === 'Who?' ? [say('Me.'), say('And me.')] : []));
  const error = { code: 'model_refused', message: 'The model says no.', retryable: false };
  parts.set('Wait Cy', () => [{ error }]);
  const space = await spaceOf(...agents);
  await space.post({ content: { text: 'Before' }, startsRuns: false });
  const turn = await space.sendAndWait('Who?');
  expect(turn.messages.map(({ content }) => content.text)).toEqual(['Me.', 'And me.']);
  const byEntity = Object.fromEntries(turn.runs.map((run) => [run.entityId, run]));
  const [ada, bo, cy] = agents.map(({ entityId }) => byEntity[entityId]!);
  expect([ada!.status, ada!.silent]).toEqual(['completed', false]);
  expect([bo!.status, bo!.silent]).toEqual(['completed', true]);
  expect(cy).toMatchObject({ status: 'failed', error: { code: 'model_refused' } });
  // What was waited for is waited for again, and is over.
  const { id, content } = turn.posted;
  const again = await space.sendAndWait({ id, content }, { from: [agents[0]!.entityId] });
  expect([again.posted.duplicate, again.runs]).toEqual([true, [ada]]);
  expect(again.messages).toEqual(turn.messages);
  const nobody = await space.sendAndWait({ content: { text: 'Note' }, startsRuns: false });
  expect([nobody.runs, nobody.messages]).toEqual([[], []]);
});

it('waits for the run that took over what it was about', async () => {
  const ada = await agentNamed('Absorbing Ada');
  parts.set('Absorbing Ada', ({ system }) => {
    if (triggerIn(system) === 'First') return [{ stallForever: true }];
    const [, other] = /^- (\S+): running, begun by/m.exec(system)!;
    return [{ calls: [{ name: 'absorb_run', arguments: { runId: other! } }] }, say('For both.')];
  });
  const space = await spaceOf(ada);
  const first = space.sendAndWait('First');
  await until('it thinks', () =>
    server.scripted.requests.some(({ system }) => triggerIn(system) === 'First'),
  );
  const second = await space.sendAndWait('Second');
  const { messages, runs } = await first;
  expect(messages.map(({ content }) => content.text)).toEqual(['For both.']);
  const absorber = second.runs[0]!.id;
  expect(runs).toMatchObject([
    { status: 'canceled', absorbedBy: absorber },
    { id: absorber, silent: false },
  ]);
});

it('who waits no longer leaves the runs alone', async () => {
  const ada = await agentNamed('Slow Ada');
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  parts.set('Slow Ada', () => [{ gate, ...say('At last.') }]);
  const space = await spaceOf(ada);
  await expect(space.sendAndWait('Take your time.', { timeoutMs: 300 })).rejects.toSatisfy(
    (error) => error instanceof TimeoutError && error.message.includes('They go on'),
  );
  go();
  await until('it has said it', async () => (await space.messages()).data.length === 2);
});

it('answers a call that waits for somebody in the space', async () => {
  const body = { name: 'pick', kind: 'client', inputSchema: { type: 'object' } } as const;
  await troupe.tools.create({ body });
  const ada = await troupe.agents.create({ body: { name: 'Asking Ada', tools: ['pick'] } });
  parts.set('Asking Ada', () => [{ calls: [{ name: 'pick', arguments: {} }] }, say('Thank you.')]);
  const space = await spaceOf(ada);
  const followed = space.follow();
  const turn = space.sendAndWait('Ask me.');
  const [run] = await until('it waits', async () => {
    const { data } = await space.runs({ status: 'waiting_tool' });
    return data.length > 0 ? data : null;
  });
  const late = space.follow();
  await late.ready;
  const [call] = late.state.pendingCalls;
  expect(call).toMatchObject({ runId: run!.id, tool: 'pick', waitsFor: 'client' });
  expect(late.state.activeAgents).toMatchObject([{ agentName: 'Asking Ada', runIds: [run!.id] }]);
  await space.answer(call!.runId, call!.id, { file: 'a.txt' });
  expect((await turn).messages.map(({ content }) => content.text)).toEqual(['Thank you.']);
  await until('nothing waits and nobody works', () =>
    [late, followed].every(({ state }) => state.pendingCalls.length + state.activeAgents.length === 0),
  );
  for (const one of [late, followed]) one.close();
});

it('001: spaces of the SDK have no admin agent, and runs have their active space', async () => {
  const ada = await agentNamed('Typed Ada');
  const space = await spaceOf(ada);
  const described = await troupe.spaces.get({ params: { spaceId: space.id } });
  // @ts-expect-error: there is no admin agent
  expect(described.adminAgentEntityId).toBeUndefined();
  const { runs } = await space.post('Hello');
  const run = await troupe.runs.get({ params: { runId: runs[0]!.id } });
  expect(run.activeSpaceId).toBe(space.id);
});
