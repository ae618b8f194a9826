import type { Membership, Run, Space } from '@troupe/protocol';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, calls, end, enter, openScriptedSpaces, say } from '../spaces/scripted-agents.ts';

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces());
});
afterAll(() => fixture.close());

const memberOf = async (space: string, entityId: string) => {
  const { data } = await fixture.done<{ data: Membership[] }>('GET', `/v1/spaces/${space}/members`);
  return data.find((one) => one.entityId === entityId)!;
};

test('000: a space has no admin agent', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Equal Ada')];
  const id = await fixture.space([ann, ada]);
  const space = await fixture.done<Space>('GET', `/v1/spaces/${id}`);
  expect(Object.keys(space).filter((field) => /admin/i.test(field))).toEqual([]);
  const refused = await fixture.ask('PATCH', `/v1/spaces/${id}`, { adminAgentEntityId: ada.entityId });
  expect(refused.status).toBe(422);
  const { rows } = await fixture.server.db.pool.query(
    `select column_name from information_schema.columns where table_schema = 'troupe' and column_name like '%admin%'`,
  );
  expect(rows).toEqual([]);
});

test('000: a run has one of the statuses of the document', async () => {
  const { components } = await fixture.done<{ components: { schemas: { RunStatus: { enum: string[] } } } }>(
    'GET',
    '/openapi.json',
  );
  expect(components.schemas.RunStatus.enum.toSorted()).toEqual(
    ['queued', 'running', 'waiting_tool', 'waiting_reply', 'completed', 'failed', 'canceled'].toSorted(),
  );
});

test('000: a run shows the space that it is in, which is its trigger’s first and changes by enter_space', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Moving Ada')];
  const [home, other] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
  const seen: (string | null)[] = [];
  parts.set('Moving Ada', async ({ runId }) => {
    seen.push((await fixture.run(runId)).activeSpaceId);
    return [enter(other), say('Here I am.')];
  });
  const { runs } = await fixture.say(home, ann, 'Move.');
  const run = await fixture.ended(runs[0]!.id);
  expect(seen.slice(0, 2)).toEqual([home, other]);
  expect(run.activeSpaceId).toBe(other);
  expect(await fixture.lines(other)).toEqual(['Moving Ada: Here I am.']);
});

test('000: the active space of a run is no foreign key', async () => {
  const { rows } = await fixture.server.db.pool.query(
    `select c.conname from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
      where c.contype = 'f' and c.conrelid = 'troupe.runs'::regclass and a.attname = 'active_space_id'`,
  );
  expect(rows).toEqual([]);
});

test('000: the wait of a run is in its metadata while it waits, with the fields of the document', async () => {
  const [ann, ada] = [
    await fixture.person('Ann'),
    await fixture.agent('Waiting Ada', { replyWaiting: true }),
  ];
  const space = await fixture.space([ann, ada]);
  parts.set('Waiting Ada', () => [
    calls(call('send_message', { text: 'Is it good?', wait: { for: [ann.id] } })),
  ]);
  const { runs } = await fixture.say(space, ann, 'Ask me.');
  const waiting = await until('it waits', async () => {
    const run = await fixture.run(runs[0]!.id);
    return run.status === 'waiting_reply' ? run : null;
  });
  const asked = (await fixture.messages(space)).at(-1)!;
  expect(waiting.metadata.waitState).toMatchObject({
    spaceId: space,
    messageId: asked.id,
    toolCallId: expect.any(String),
    waitingFor: [{ entityId: ann.id, entityName: 'Ann', entityType: 'human', responded: false }],
    startedAt: expect.any(String),
    timeout: 300_000,
    replies: [],
  });
  const { id: answer } = await fixture.say(space, ann, 'Looks good.');
  const ended = await fixture.ended(waiting.id);
  expect(ended).toMatchObject({ status: 'completed', metadata: {} });
  expect(ended.metadata.waitState).toBeUndefined();
  const { calls: made } = ended as Run & { calls: { output: unknown }[] };
  expect(made[0]!.output).toMatchObject({
    replies: [{ entityId: ann.id, entityName: 'Ann', text: 'Looks good.', messageId: answer }],
  });
});

test('000: a membership keeps the last message that its agent has processed', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Reading Ada')];
  const space = await fixture.space([ann, ada]);
  expect((await memberOf(space, ada.entityId)).lastProcessedMessageId).toBeNull();
  const { id, runs } = await fixture.say(space, ann, 'Read this.');
  await fixture.ended(runs[0]!.id);
  expect((await memberOf(space, ada.entityId)).lastProcessedMessageId).toBe(id);
});

test('001: a membership keeps the last message that its person has seen', async () => {
  const [ann, ben] = [await fixture.person('Ann'), await fixture.person('Ben')];
  const space = await fixture.space([ann, ben]);
  const { id } = await fixture.say(space, ann, 'Read this.');
  await fixture.done('POST', `/v1/spaces/${space}/read`, { entityId: ben.id, messageId: id });
  expect((await memberOf(space, ben.id)).lastSeenMessageId).toBe(id);
});

test('001: every agent in a space has the built-in tools of the document, and none of the removed ones', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Equipped Ada')];
  const other = await fixture.agent('Equipped Ben');
  const offered: string[][] = [];
  const note = ({ tools }: { tools: { name: string }[] }) => {
    offered.push(tools.map(({ name }) => name));
    return [end];
  };
  parts.set('Equipped Ada', note);
  parts.set('Equipped Ben', note);
  for (const members of [
    [ann, ada],
    [ann, ada, other],
  ])
    await fixture.say(await fixture.space(members), ann, 'Hello');
  await fixture.quiet();
  expect(offered).toHaveLength(3);
  for (const names of offered) {
    expect(names).toEqual(
      expect.arrayContaining([
        ...['enter_space', 'send_message', 'read_messages', 'absorb_run', 'set_memories', 'set_goals'],
      ]),
    );
    const removed = names.filter((name) =>
      /delegate_agent|skip_response|mention_agent|send_reply|continue_waiting|resume_run/.test(name),
    );
    expect(removed).toEqual([]);
  }
});

test('001: send_message takes a text, and the space is the active one', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Plain Ada')];
  const schemas: unknown[] = [];
  parts.set('Plain Ada', ({ tools, step }) => {
    if (step === 1) schemas.push(tools.find(({ name }) => name === 'send_message')!.inputSchema);
    return [say('Hello.')];
  });
  const space = await fixture.space([ann, ada]);
  const { runs } = await fixture.say(space, ann, 'Hello?');
  const run = (await fixture.ended(runs[0]!.id)) as Run & { calls: { output: unknown }[] };
  expect(schemas).toMatchObject([{ properties: { text: { type: 'string' } }, required: ['text'] }]);
  expect(Object.keys((schemas[0] as { properties: object }).properties)).toEqual(['text']);
  const said = (await fixture.messages(space)).at(-1)!;
  expect(run.calls[0]!.output).toMatchObject({ success: true, messageId: said.id, status: 'delivered' });
});

test('001: enter_space gives the name and the last messages of the space, and refuses others', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Entering Ada')];
  const [home, room, closed] = [
    await fixture.space([ann, ada]),
    await fixture.space([ann, ada], { name: 'The room' }),
    await fixture.space([ann]),
  ];
  for (const text of ['one', 'two', 'three']) await fixture.say(room, ann, text);
  await fixture.quiet();
  parts.set('Entering Ada', () => [
    calls(call('enter_space', { spaceId: room, limit: 2 })),
    calls(call('enter_space', { spaceId: closed })),
  ]);
  const { runs } = await fixture.say(home, ann, 'Go there.');
  const run = (await fixture.ended(runs[0]!.id)) as Run & {
    calls: { output: Record<string, unknown>; error: unknown }[];
  };
  const [entered, refused] = run.calls;
  expect(entered!.output).toMatchObject({
    success: true,
    spaceId: room,
    spaceName: 'The room',
    totalMessages: 3,
  });
  expect(entered!.output.history).toHaveLength(2);
  expect(JSON.stringify(refused)).toMatch(/member/);
  expect(run.activeSpaceId).toBe(room);
});

test('001: read_messages reads the active space or another one, page by page', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Paging Ada')];
  const [home, room] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
  for (const text of ['one', 'two', 'three']) await fixture.say(room, ann, text);
  await fixture.quiet();
  parts.set('Paging Ada', () => [
    calls(call('read_messages'), call('read_messages', { spaceId: room, limit: 1, offset: 1 })),
  ]);
  const { runs } = await fixture.say(home, ann, 'Read.');
  const run = (await fixture.ended(runs[0]!.id)) as Run & {
    calls: { output: { messages: { text: string }[] } }[];
  };
  const texts = run.calls.map(({ output }) => JSON.stringify(output));
  expect(texts[0]).toContain('Read.');
  expect(texts[1]).toContain('two');
  expect(texts[1]).not.toContain('three');
  expect(run.activeSpaceId).toBe(home);
});

test('001: the instructions of the prompt say how to speak, to be silent, to keep state and to absorb runs', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Instructed Ada')];
  const prompts: string[] = [];
  parts.set('Instructed Ada', ({ system }) => {
    prompts.push(system);
    return [];
  });
  const { runs } = await fixture.say(await fixture.space([ann, ada]), ann, 'Hello');
  await fixture.ended(runs[0]!.id);
  const [, instructions] = prompts[0]!.split('INSTRUCTIONS:');
  for (const line of [
    /outside of tools is your private reasoning.*short/,
    /send_message is the only way to speak.*enter_space turns to another/,
    /read_messages loads/,
    /end without calling send_message/,
    /remembers nothing.*set_memories and set_goals/,
    /the one with the latest trigger absorbs the older ones with absorb_run/,
  ])
    expect(instructions).toMatch(line);
  for (const removed of [/admin/i, /mention_/, /skip_response/, /waits? for repl/])
    expect(instructions).not.toMatch(removed);
});

test('001: read_messages without an active space and without a space is an error', async () => {
  const ada = await fixture.agent('Homeless Ada');
  parts.set('Homeless Ada', () => [calls(call('read_messages'))]);
  const { runId } = await fixture.done<{ runId: string }>('POST', `/v1/agents/${ada.id}/trigger`, {
    serviceName: 'ci',
    payload: {},
  });
  const run = (await fixture.ended(runId)) as Run & { calls: { output: unknown }[] };
  expect(run).toMatchObject({ activeSpaceId: null });
  expect(run.calls[0]!.output).toMatchObject({ success: false, code: 'no_active_space' });
});
