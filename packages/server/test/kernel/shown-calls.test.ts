import type { Door } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { idFrom } from '../../src/base/ids.ts';
import type { MeantCall } from '../../src/kernel/door.ts';
import { call, clientTool, codeTool, gate, type ScriptedFixture } from './fixture.ts';
import { spaceDoor as door, SpaceRunFixture, type TestSpace } from './space-fixture.ts';

/** Calls are shown as their arguments say. */
const showing: Door = {
  ...door,
  settle: async (view, answer) => ({
    ...(await door.settle(view, answer)),
    calls: answer.calls.map((one): MeantCall => {
      const { space, refused, ...how } = (one.arguments ?? {}) as Record<string, never>;
      const messageId = idFrom(`${view.run.id}:${one.id}`);
      return {
        ...one,
        ...(space
          ? { shown: { spaceId: space, messageId, when: 'always', input: true, output: true, ...how } }
          : {}),
        ...(refused ? { refuse: { code: 'refused', message: 'Not here.' } } : {}),
      };
    }),
  }),
};

let spaces: SpaceRunFixture;
let fixture: ScriptedFixture;
let testSpace: TestSpace;
beforeAll(async () => {
  spaces = await SpaceRunFixture.open(inject('postgresUrl'), { doors: [showing] });
  fixture = spaces.fixture;
  testSpace = await spaces.space();
});
afterEach(() => fixture.checkInvariants());
afterAll(() => spaces.close());

const tools = [
  codeTool('work', { effect: 'pure' }),
  clientTool('pick'),
  codeTool('sign', { waitsFor: 'approval' as const }),
];

async function play(...calls: ReturnType<typeof call>[]) {
  const snapshot = await fixture.agent([{ calls }, { text: 'done' }], { tools });
  return spaces.ask(testSpace, snapshot);
}

const toolsOf = async (run: string) => {
  const { rows } = await fixture.db.pool.query(
    `select m.id, m.role, m.content, m.sender_id as sender, m.seq from troupe.messages m where m.thread_id = $1 and m.run_id = $2 order by m.seq`,
    [testSpace.space, run],
  );
  return rows;
};
const eventsOf = async (run: string) => {
  const { rows } = await fixture.db.pool.query(
    `select e.type, e.data, e.message_seq as "messageSeq" from troupe.events e where e.thread_id = $1 and e.run_id = $2 and e.type like 'tool.%' order by e.seq`,
    [testSpace.space, run],
  );
  return rows;
};
const shownTo = async (run: string) => {
  const { rows } = await fixture.db.pool.query(
    'select seqs @> $3::bigint as known from troupe.run_shown where run_id = $1 and space_id = $2',
    [run, testSpace.space, (await toolsOf(run))[0].seq],
  );
  return rows[0]?.known;
};

it('is one message of the space from its beginning to its end, and starts nobody', async () => {
  const finish = gate<string>();
  fixture.tools.work = () => finish.promise;
  const { run } = await play(call('work', { space: testSpace.space }));
  await until('the call is shown', async () => (await toolsOf(run)).length === 1);
  const messageId = idFrom(`${run}:work`);
  expect(await toolsOf(run)).toMatchObject([
    {
      id: messageId,
      role: 'tool_call',
      sender: fixture.ids.entity,
      content: {
        tool: { callId: 'work', name: 'work', status: 'running', arguments: { space: testSpace.space } },
      },
    },
  ]);
  finish.resolve('worked');
  await fixture.ended(run);
  const [shown] = await toolsOf(run);
  expect(shown.content).toMatchObject({
    text: expect.stringMatching(/^work\(.*\) → "worked"$/),
    tool: { status: 'complete', result: 'worked' },
  });
  const { seq } = shown;
  expect(await eventsOf(run)).toMatchObject([
    { type: 'tool.started', data: { id: 'work', tool: 'work' }, messageSeq: seq },
    { type: 'tool.completed', data: { id: 'work', tool: 'work' }, messageSeq: seq },
  ]);
  expect(await shownTo(run)).toBe(true);
});

it('shows its result alone, without what is not to be seen, or that it failed', async () => {
  fixture.tools.work = () => 'secret';
  const quiet = await play(
    call('work', { space: testSpace.space, when: 'result', input: false, output: false, customUI: 'Card' }),
  );
  await fixture.ended(quiet.run);
  expect((await toolsOf(quiet.run)).map(({ content }) => content)).toEqual([
    { text: 'work → done', tool: { callId: 'work', name: 'work', status: 'complete', customUI: 'Card' } },
  ]);
  const told = await eventsOf(quiet.run);
  expect(told).toMatchObject([{ type: 'tool.completed', messageSeq: expect.any(Number) }]);

  fixture.tools.work = () => {
    throw new Error('It broke.');
  };
  const broken = await play(call('work', { space: testSpace.space }));
  await fixture.ended(broken.run);
  expect((await toolsOf(broken.run))[0].content.tool).toMatchObject({
    status: 'error',
    error: { code: 'tool_error', message: 'It broke.' },
  });
});

it('waits for somebody where all can see it, and shows the arguments that were approved', async () => {
  fixture.tools.sign = () => 'signed';
  const { run } = await play(
    call('pick', { space: testSpace.space }),
    call('sign', { space: testSpace.space }),
  );
  await fixture.becomes(run, 'waiting_tool');
  expect((await toolsOf(run)).map(({ content }) => content.tool.status)).toEqual([
    'requires_action',
    'requires_action',
  ]);
  expect(await eventsOf(run)).toMatchObject([
    { type: 'tool.waiting', data: { id: 'pick', waitsFor: 'client' } },
    { type: 'tool.waiting', data: { id: 'sign', waitsFor: 'approval' } },
  ]);
  await fixture.kernel.settle(run, 'pick', { status: 'completed', output: 'red' });
  await fixture.kernel.settle(run, 'sign', { status: 'proceed', args: { amount: 1 } });
  await fixture.ended(run);
  expect((await toolsOf(run)).map(({ content }) => content.tool)).toMatchObject([
    { status: 'complete', result: 'red' },
    { status: 'complete', arguments: { amount: 1 }, result: 'signed' },
  ]);
  expect((await eventsOf(run)).map(({ type }) => type)).toEqual([
    ...['tool.waiting', 'tool.waiting', 'tool.completed', 'tool.started', 'tool.completed'],
  ]);
});

it('ends with its run, and is refused where the door says so', async () => {
  const waiting = await play(call('pick', { space: testSpace.space }));
  await fixture.becomes(waiting.run, 'waiting_tool');
  await fixture.kernel.cancel(waiting.run);
  expect((await toolsOf(waiting.run))[0].content.tool).toMatchObject({ status: 'error' });

  const refused = await play(call('work', { refused: true }));
  await fixture.ended(refused.run);
  expect(fixture.shown(refused.run)).toEqual({ work: { code: 'refused', message: 'Not here.' } });
  expect(await toolsOf(refused.run)).toEqual([]);
});

it('goes on unseen where there is no such space, or none of its agent', async () => {
  fixture.tools.work = () => 'worked';
  const foreign = await spaces.space();
  await fixture.db.pool.query('delete from troupe.memberships where space_id = $1 and entity_id = $2', [
    foreign.space,
    fixture.ids.entity,
  ]);
  const spying = await play(call('work', { space: foreign.space }));
  await fixture.ended(spying.run);
  expect(await fixture.messages(foreign.space)).toEqual([]);
  expect(await fixture.types(foreign.space)).toEqual([]);
  const { run } = await play(call('work', { space: idFrom('nowhere') }));
  expect(await fixture.ended(run)).toMatchObject({ status: 'completed' });
  expect(fixture.shown(run)).toEqual({ work: 'worked' });
});
