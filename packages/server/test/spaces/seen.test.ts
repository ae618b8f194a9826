import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  call,
  calls,
  end,
  enter,
  gate,
  marksIn,
  openScriptedSpaces,
  type Request,
  say,
  triggerIn,
} from './scripted-agents.ts';

// SEEN is what was shown to a run that was completed, or said by it, and nothing else.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces());
});
afterAll(() => fixture.close());

const last = ({ messages }: Request) => messages.at(-1) as unknown as { output: Record<string, unknown> };

async function processed(space: string, entity: string): Promise<string | null> {
  const { data } = await fixture.done<{
    data: { entityId: string; lastProcessedMessageId: string | null }[];
  }>('GET', `/v1/spaces/${space}/members`);
  return data.find(({ entityId }) => entityId === entity)!.lastProcessedMessageId;
}

test('what comes while a run works is new to the next one', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('During Ada')];
  const shown: string[][] = [];
  const { closed, open } = gate();
  parts.set('During Ada', ({ system, step }) => {
    if (step === 1) shown.push(marksIn(system));
    return triggerIn(system) === 'one' ? [{ ...end, gate: closed }] : [];
  });
  const space = await fixture.space([ann, ada]);
  const one = await fixture.say(space, ann, 'one');
  await until('the run thinks', () => shown.length === 1);
  await fixture.say(space, ann, 'two', { startsRuns: false });
  open();
  await fixture.ended(one.runs[0]!.id);
  expect(await processed(space, ada.entityId)).toBe(one.id);
  const three = await fixture.say(space, ann, 'three');
  await fixture.ended(three.runs[0]!.id);
  expect(shown[1]).toEqual(['SEEN one', 'NEW two', 'NEW three']);
  expect(await processed(space, ada.entityId)).toBe(three.id);
});

test('a run that failed or was canceled has seen nothing', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Failing Ada')];
  const shown: string[][] = [];
  const { closed, open } = gate();
  parts.set('Failing Ada', ({ system, step }) => {
    if (step === 1) shown.push(marksIn(system));
    const text = triggerIn(system);
    if (text === 'fail') return [{ error: { code: 'broken', message: 'Broken.', retryable: false } }];
    return text === 'cancel' ? [{ ...end, gate: closed }] : [];
  });
  const space = await fixture.space([ann, ada]);
  const failed = await fixture.say(space, ann, 'fail');
  expect((await fixture.ended(failed.runs[0]!.id)).status).toBe('failed');
  const canceled = await fixture.say(space, ann, 'cancel');
  await until('the second run thinks', () => shown.length === 2);
  await fixture.done('POST', `/v1/runs/${canceled.runs[0]!.id}/cancel`);
  open();
  expect(await processed(space, ada.entityId)).toBeNull();
  const third = await fixture.say(space, ann, 'third');
  await fixture.ended(third.runs[0]!.id);
  expect(shown[2]).toEqual(['NEW fail', 'NEW cancel', 'NEW third']);
  expect(await processed(space, ada.entityId)).toBe(third.id);
});

test('a run that turns to another space has seen what it was shown in both, and its own trigger', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Cross Ada')];
  const shown = new Map<string, string[]>();
  let other = '';
  const histories: { content: string; seen: boolean }[][] = [];
  parts.set('Cross Ada', (request) => {
    const { system, step } = request;
    if (step === 1) shown.set(triggerIn(system), marksIn(system));
    if (triggerIn(system) !== 'Go there') return [];
    if (step === 2) histories.push(last(request).output.history as never);
    return [calls(call('enter_space', { spaceId: other, limit: 2 })), say('I am here.')];
  });
  const space = await fixture.space([ann, ada]);
  other = await fixture.space([ann, ada]);
  const posts = [];
  for (const text of ['a', 'b', 'c', 'd'])
    posts.push(await fixture.say(other, ann, text, { startsRuns: false }));
  const go = await fixture.say(space, ann, 'Go there');
  await fixture.ended(go.runs[0]!.id);
  expect(histories[0]!.map(({ content, seen }) => [content, seen])).toEqual([
    ['c', false],
    ['d', false],
  ]);
  // Its own space is done with; in the other one, two were never shown.
  expect(await processed(space, ada.entityId)).toBe(go.id);
  expect(await processed(other, ada.entityId)).toBeNull();
  await fixture.ended((await fixture.say(other, ann, 'e')).runs[0]!.id);
  expect(shown.get('e')).toEqual(['NEW a', 'NEW b', 'SEEN c', 'SEEN d', 'SEEN I am here.', 'NEW e']);
  // Now it was shown everything.
  expect(await processed(other, ada.entityId)).toBe((await fixture.messages(other)).at(-1)!.id);
});

test('read_messages counts as shown; what an agent said itself never comes as new', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Reading Ada')];
  const shown: string[][] = [];
  const outputs: Record<string, unknown>[] = [];
  parts.set('Reading Ada', (request) => {
    const { system, step } = request;
    if (step === 1) shown.push(marksIn(system));
    if (step > 1) outputs.push(last(request).output);
    return triggerIn(system) === 'Read'
      ? [
          calls(call('read_messages', { limit: 2, offset: 60 })),
          calls(call('read_messages', { search: 'NUMBER 3', limit: 3 })),
        ]
      : [];
  });
  const space = await fixture.space([ann, ada]);
  for (let n = 1; n <= 70; n++) await fixture.say(space, ann, `number ${n}`, { startsRuns: false });
  await fixture.ended((await fixture.say(space, ann, 'Read')).runs[0]!.id);
  expect(shown[0]).toHaveLength(50);
  expect((outputs[0]!.messages as { content: string }[]).map(({ content }) => content)).toEqual([
    'number 10',
    'number 11',
  ]);
  expect(outputs[0]!.total).toBe(71);
  expect((outputs[1]!.messages as { content: string }[]).map(({ content }) => content)).toEqual([
    'number 37',
    'number 38',
    'number 39',
  ]);
  expect(await processed(space, ada.entityId)).toBeNull();
  const { rows } = await fixture.server.db.pool.query(
    'select seen::text from troupe.memberships where space_id = $1 and entity_id = $2',
    [space, ada.entityId],
  );
  expect(rows[0].seen).toBe('{[10,12),[22,72)}');
});

test('an agent that joins later has not seen what was said before, and its place begins where it joined', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Late Ada')];
  const shown: string[][] = [];
  parts.set('Late Ada', ({ system, step }) => {
    if (step === 1) shown.push(marksIn(system));
    return [];
  });
  const space = await fixture.space([ann]);
  for (let n = 1; n <= 60; n++) await fixture.say(space, ann, `before ${n}`);
  await fixture.done('POST', `/v1/spaces/${space}/members`, { agentId: ada.id });
  const hello = await fixture.say(space, ann, 'hello');
  await fixture.ended(hello.runs[0]!.id);
  expect(shown[0]!.slice(0, 1)).toEqual(['NEW before 12']);
  expect(await processed(space, ada.entityId)).toBe(hello.id);
});

test('a run can turn only to spaces that its agent is in, and says nothing elsewhere', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Stranger Ada')];
  const foreign = await fixture.space([ann]);
  const outputs: Record<string, unknown>[] = [];
  parts.set('Stranger Ada', (request) => {
    if (request.step > 1) outputs.push(last(request).output);
    return [
      enter(foreign),
      calls(call('read_messages', { spaceId: foreign })),
      calls(call('read_messages', { spaceId: newId() })),
      calls(call('enter_space', { spaceId: 'nowhere' })),
      // In one answer: what was meant for a space that cannot be entered is said nowhere.
      calls(call('enter_space', { spaceId: foreign }), call('send_message', { text: 'Secret.' })),
      say('Here.'),
    ];
  });
  const space = await fixture.space([ann, ada]);
  await fixture.ended((await fixture.say(space, ann, 'Look around')).runs[0]!.id);
  expect(outputs.map(({ code }) => code)).toEqual([
    'not_a_member',
    'not_a_member',
    'not_a_member',
    'not_a_member',
    'not_a_member',
    undefined,
  ]);
  expect(outputs[0]).toMatchObject({ success: false, yourSpaces: [{ spaceId: space }] });
  expect(await fixture.lines(space)).toEqual(['Ann: Look around', 'Stranger Ada: Here.']);
  expect(await fixture.messages(foreign)).toEqual([]);
});

test('several calls of one answer speak in the order in which they stand, each in its own space', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Many Ada')];
  const [space, b] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
  parts.set('Many Ada', () => [
    calls(
      call('send_message', { text: 'to the first' }),
      call('enter_space', { spaceId: b }),
      call('send_message', { text: 'to the second' }),
    ),
  ]);
  await fixture.ended((await fixture.say(space, ann, 'Both')).runs[0]!.id);
  expect(await fixture.lines(space)).toEqual(['Ann: Both', 'Many Ada: to the first']);
  expect(await fixture.lines(b)).toEqual(['Many Ada: to the second']);
});

test('what one answer says several times in the same space is said in its order', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Wordy Ada')];
  const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
  parts.set('Wordy Ada', () => [calls(...words.map((text) => call('send_message', { text })))]);
  const space = await fixture.space([ann, ada]);
  for (let time = 0; time < 2; time++) {
    const run = await fixture.ended((await fixture.say(space, ann, 'Count')).runs[0]!.id);
    expect(run.outcome).toMatchObject({ silent: false });
  }
  const said = (await fixture.messages(space)).map(({ content }) => content.text);
  expect(said).toEqual(['Count', ...words, 'Count', ...words]);
});

test('whatever names no space or nobody is told back as it was written', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Lost Ada', { replyWaiting: true })];
  let outputs: unknown[] = [];
  parts.set('Lost Ada', ({ step, messages }) => {
    if (step === 2) outputs = messages.flatMap((one) => (one.role === 'tool' ? [one.output] : []));
    return [
      calls(
        call('send_message', { text: 'Well?', wait: { for: ['Ben'] } }),
        call('enter_space', { spaceId: 'Launch' }),
        call('send_message', { text: 'Hello, Launch' }),
      ),
    ];
  });
  const space = await fixture.space([ann, ada]);
  await fixture.ended((await fixture.say(space, ann, 'Go')).runs[0]!.id);
  expect(outputs).toMatchObject([
    { code: 'not_members', error: expect.stringContaining('entity id Ben.'), entityIds: ['Ben'] },
    { code: 'not_a_member', error: expect.stringContaining('a space Launch.') },
    {
      code: 'not_a_member',
      error: expect.stringMatching(/^The enter_space before this call named no space/),
    },
  ]);
  expect(await fixture.lines(space)).toEqual(['Ann: Go']);
});

test('what an agent said carries why, and its next run reads that', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Why Ada')];
  const [space, other] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
  const prompts = new Map<string, string>();
  parts.set('Why Ada', ({ system, step }) => {
    if (step === 1) prompts.set(triggerIn(system), system);
    return triggerIn(system) === 'Tell them'
      ? [calls(call('get_goals')), enter(other), say('Ann wants you to know.')]
      : [];
  });
  await fixture.ended((await fixture.say(space, ann, 'Tell them')).runs[0]!.id);
  const [said] = await fixture.messages(other);
  expect(said!.metadata).toMatchObject({
    runContext: {
      trigger: { type: 'space_message', senderName: 'Ann', messageContent: 'Tell them', spaceId: space },
      actionsBefore: { toolsCalled: [{ name: 'get_goals' }], messagesSent: [], spacesEntered: [other] },
      isCrossSpace: true,
    },
  });
  await fixture.ended((await fixture.say(other, ann, 'Why?')).runs[0]!.id);
  expect(prompts.get('Why?')).toMatch(
    /You \(agent\): "Ann wants you to know\."\n {4}\(said because of "Ann" saying "Tell them" in ".*" \(.*\); after get_goals\)/,
  );
});

test('an agent looks at the pictures of the message that started it, and is told of others', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Looking Ada')];
  const requests: Request[] = [];
  parts.set('Looking Ada', (request) => {
    requests.push(request);
    return [];
  });
  const space = await fixture.space([ann, ada]);
  const picture = { type: 'image', base64: 'aGVsbG8=', mediaType: 'image/png' };
  const content = { text: 'What is this?', parts: [picture] };
  await fixture.ended((await fixture.say(space, ann, '', { content })).runs[0]!.id);
  await fixture.ended((await fixture.say(space, ann, 'And now?')).runs[0]!.id);
  const [first, second] = requests.map(({ messages }) => messages[0] as { parts?: { type: string }[] });
  expect(first!.parts).toMatchObject([{ type: 'text' }, picture]);
  expect(second!.parts).toBeUndefined();
  for (const { system } of requests) expect(system).toContain('"What is this?" [with 1 picture(s)]');
  expect(requests[1]!.system).not.toContain('aGVsbG8=');
});
