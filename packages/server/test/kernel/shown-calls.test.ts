import { type Door, idFrom, type MeantCall } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { call, clientTool, codeTool, gate, type Scene } from './scene.ts';
import { hall as door, type Hall, SpaceScene } from './space-scene.ts';

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

let spaces: SpaceScene;
let scene: Scene;
let hall: Hall;
beforeAll(async () => {
  spaces = await SpaceScene.open(inject('postgresUrl'), { doors: [showing] });
  scene = spaces.scene;
  hall = await spaces.hall();
});
afterEach(() => scene.sound());
afterAll(() => spaces.close());

const tools = [
  codeTool('work', { effect: 'pure' }),
  clientTool('pick'),
  codeTool('sign', { waitsFor: 'approval' as const }),
];

async function play(...calls: ReturnType<typeof call>[]) {
  const snapshot = await scene.agent([{ calls }, { text: 'done' }], { tools });
  return spaces.ask(hall, snapshot);
}

const toolsOf = async (run: string) => {
  const { rows } = await scene.stage.db.pool.query(
    `select m.id, m.role, m.content, m.sender_id as sender, m.seq from troupe.messages m where m.thread_id = $1 and m.run_id = $2 order by m.seq`,
    [hall.space, run],
  );
  return rows;
};
const eventsOf = async (run: string) => {
  const { rows } = await scene.stage.db.pool.query(
    `select e.type, e.data, e.message_seq as "messageSeq" from troupe.events e where e.thread_id = $1 and e.run_id = $2 and e.type like 'tool.%' order by e.seq`,
    [hall.space, run],
  );
  return rows;
};
const shownTo = async (run: string) => {
  const { rows } = await scene.stage.db.pool.query(
    'select seqs @> $3::bigint as known from troupe.run_shown where run_id = $1 and space_id = $2',
    [run, hall.space, (await toolsOf(run))[0].seq],
  );
  return rows[0]?.known;
};

it('is one message of the space from its beginning to its end, and starts nobody', async () => {
  const finish = gate<string>();
  scene.tools.work = () => finish.promise;
  const { run } = await play(call('work', { space: hall.space }));
  await until('the call is shown', async () => (await toolsOf(run)).length === 1);
  const messageId = idFrom(`${run}:work`);
  expect(await toolsOf(run)).toMatchObject([
    {
      id: messageId,
      role: 'tool_call',
      sender: scene.stage.cast.entity,
      content: {
        tool: { callId: 'work', name: 'work', status: 'running', arguments: { space: hall.space } },
      },
    },
  ]);
  finish.resolve('worked');
  await scene.ended(run);
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
  scene.tools.work = () => 'secret';
  const quiet = await play(
    call('work', { space: hall.space, when: 'result', input: false, output: false, customUI: 'Card' }),
  );
  await scene.ended(quiet.run);
  expect((await toolsOf(quiet.run)).map(({ content }) => content)).toEqual([
    { text: 'work → done', tool: { callId: 'work', name: 'work', status: 'complete', customUI: 'Card' } },
  ]);
  const told = await eventsOf(quiet.run);
  expect(told).toMatchObject([{ type: 'tool.completed', messageSeq: expect.any(Number) }]);

  scene.tools.work = () => {
    throw new Error('It broke.');
  };
  const broken = await play(call('work', { space: hall.space }));
  await scene.ended(broken.run);
  expect((await toolsOf(broken.run))[0].content.tool).toMatchObject({
    status: 'error',
    error: { code: 'tool_error', message: 'It broke.' },
  });
});

it('waits for somebody where all can see it, and shows the arguments that were approved', async () => {
  scene.tools.sign = () => 'signed';
  const { run } = await play(call('pick', { space: hall.space }), call('sign', { space: hall.space }));
  await scene.becomes(run, 'waiting_tool');
  expect((await toolsOf(run)).map(({ content }) => content.tool.status)).toEqual([
    'requires_action',
    'requires_action',
  ]);
  expect(await eventsOf(run)).toMatchObject([
    { type: 'tool.waiting', data: { id: 'pick', waitsFor: 'client' } },
    { type: 'tool.waiting', data: { id: 'sign', waitsFor: 'approval' } },
  ]);
  await scene.kernel.settle(run, 'pick', { status: 'completed', output: 'red' });
  await scene.kernel.settle(run, 'sign', { status: 'proceed', args: { amount: 1 } });
  await scene.ended(run);
  expect((await toolsOf(run)).map(({ content }) => content.tool)).toMatchObject([
    { status: 'complete', result: 'red' },
    { status: 'complete', arguments: { amount: 1 }, result: 'signed' },
  ]);
  expect((await eventsOf(run)).map(({ type }) => type)).toEqual([
    ...['tool.waiting', 'tool.waiting', 'tool.completed', 'tool.started', 'tool.completed'],
  ]);
});

it('ends with its run, and is refused where the door says so', async () => {
  const waiting = await play(call('pick', { space: hall.space }));
  await scene.becomes(waiting.run, 'waiting_tool');
  await scene.kernel.cancel(waiting.run);
  expect((await toolsOf(waiting.run))[0].content.tool).toMatchObject({ status: 'error' });

  const refused = await play(call('work', { refused: true }));
  await scene.ended(refused.run);
  expect(scene.shown(refused.run)).toEqual({ work: { code: 'refused', message: 'Not here.' } });
  expect(await toolsOf(refused.run)).toEqual([]);
});

it('goes on unseen where there is no such space, or none of its agent', async () => {
  scene.tools.work = () => 'worked';
  const foreign = await spaces.hall();
  await scene.stage.db.pool.query('delete from troupe.memberships where space_id = $1 and entity_id = $2', [
    foreign.space,
    scene.stage.cast.entity,
  ]);
  const spying = await play(call('work', { space: foreign.space }));
  await scene.ended(spying.run);
  expect(await scene.stage.messages(foreign.space)).toEqual([]);
  expect(await scene.types(foreign.space)).toEqual([]);
  const { run } = await play(call('work', { space: idFrom('nowhere') }));
  expect(await scene.ended(run)).toMatchObject({ status: 'completed' });
  expect(scene.shown(run)).toEqual({ work: 'worked' });
});
