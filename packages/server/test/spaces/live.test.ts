import { delta } from '@troupe/protocol';
import { Database, Kernel, silentLogger } from '@troupe/server';
import { Stream } from '@troupe/server/parts';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findSpaceLog } from '../../src/store/queries/events.ts';
import { Client, written } from '../stream/client.ts';
import { end, openScriptedSpaces } from './scripted-agents.ts';

// What an agent is about to say is read in the space while it is written, and the message takes its place.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces());
});
afterAll(() => fixture.close());

const clients: Client[] = [];
const read = async (space: string) => {
  const client = new Client(`${fixture.server.url}/v1/spaces/${space}`);
  clients.push(client);
  await until('connected', () => client.frames.length > 0);
  return client;
};
afterAll(() => {
  for (const client of clients) client.close();
});

const WORDS = Array.from({ length: 30 }, (_, n) => `word${n} 😀 "quoted" \\ `);
const TEXT = WORDS.join('');
/** A call of send_message whose arguments come in small pieces. */
function saying(text: string, size = 7) {
  const json = JSON.stringify({ text });
  const chunks = Array.from({ length: Math.ceil(json.length / size) }, (_, n) =>
    json.slice(n * size, (n + 1) * size),
  );
  return { id: 'say', name: 'send_message', arguments: { text }, chunks };
}

test('text is live in the space, whole for who comes late, and replaced by the message of the same id', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Live Ada')];
  parts.set('Live Ada', () => [{ calls: [saying(TEXT)], delayBetweenChunksMs: 4 }, end]);
  const space = await fixture.space([ann, ada]);
  const client = await read(space);
  const posted = await fixture.say(space, ann, 'Tell me.');
  await until('half is read', () => written(client.deltas).length > TEXT.length / 2);
  expect(client.events.map(({ data }) => data.streamId)).not.toContain(client.deltas[0]!.streamId);
  const late = await read(space);
  await until('the late one has as much', () => written(late.deltas).length > TEXT.length / 2);
  expect(late.deltas[0]).toMatchObject({ offset: 0 });

  await client.sees('run.completed');
  for (const one of client.deltas) delta.parse(one);
  expect(written(client.deltas)).toBe(TEXT.slice(0, written(client.deltas).length));
  const { streamId } = client.deltas[0]!;
  expect(client.deltas.every((one) => one.streamId === streamId && one.entityId === ada.entityId)).toBe(true);
  expect(client.deltas[0]).toMatchObject({ type: 'message.delta', runId: posted.runs[0]!.id, callId: 'say' });
  const stored = client.events.filter(({ type, data }) => type === 'message.created' && data.streamId);
  expect(stored.map(({ data }) => [data.messageId, data.streamId])).toEqual([[streamId, streamId]]);
  // Nothing is live once it is stored: who comes now finds the message only.
  const after = client.frames.findIndex(
    ({ event, data }) =>
      event === 'message.created' && (data as { data: { streamId?: string } }).data.streamId,
  );
  expect(client.frames.slice(after).some(({ event }) => event === 'message.delta')).toBe(false);
  const last = await read(space);
  await last.sees('run.completed');
  expect(last.deltas).toEqual([]);
  // The run's own thread has its arguments as ever.
  expect((await fixture.messages(space)).at(-1)).toMatchObject({ id: streamId, content: { text: TEXT } });
});

test('calls of one answer speak each in its own space, and a model that is asked again begins again', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Two Places')];
  const [here, there] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
  parts.set('Two Places', () => [
    {
      calls: [
        { ...saying('Said here.', 3), id: 'here' },
        { id: 'enter', name: 'enter_space', arguments: { spaceId: there } },
        { ...saying('Said there.', 3), id: 'there' },
      ],
      delayBetweenChunksMs: 20,
      failAfterChunks: 6,
      faultTimes: 1,
    },
    end,
  ]);
  const readers = [await read(here), await read(there)] as const;
  await fixture.say(here, ann, 'Go.');
  await Promise.all(readers.map((reader) => reader.sees('message.created', reader === readers[0] ? 2 : 1)));
  expect('Said here.'.startsWith(written(readers[0].deltas))).toBe(true);
  expect(readers[0].deltas.filter(({ offset }) => offset === 0)).toHaveLength(2);
  expect(new Set(readers[0].deltas.map(({ callId }) => callId))).toEqual(new Set(['here']));
  expect(new Set(readers[1].deltas.map(({ callId }) => callId))).toEqual(new Set(['there']));
  expect('Said there.'.startsWith(written(readers[1].deltas))).toBe(true);
});

test('what is not said after all is taken back, and readers are told why', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Unsaid Ada')];
  const wrong = JSON.stringify({ text: TEXT, wait: {} });
  const chunks = Array.from({ length: Math.ceil(wrong.length / 7) }, (_, n) =>
    wrong.slice(n * 7, (n + 1) * 7),
  );
  const sending = { id: 'say', name: 'send_message', arguments: { text: TEXT, wait: {} }, chunks };
  let goes: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => {
    goes = resolve;
  });
  parts.set('Unsaid Ada', () => [
    { calls: [sending], delayBetweenChunksMs: 2 },
    { ...end, gate },
  ]);
  const space = await fixture.space([ann, ada]);
  const client = await read(space);
  await fixture.say(space, ann, 'Tell me.');
  await client.sees('message.failed');
  const failed = client.events.find(({ type }) => type === 'message.failed')!;
  expect(written(client.deltas).length).toBeGreaterThan(0);
  expect(failed.data).toMatchObject({
    streamId: client.deltas[0]!.streamId,
    entityId: ada.entityId,
    code: 'invalid_arguments',
  });
  // While the run goes on: nobody who comes now reads what will not come.
  const late = await read(space);
  await late.sees('message.failed');
  goes!();
  await late.sees('run.completed');
  expect(late.deltas).toEqual([]);
});

test('a reader of another process reads it too', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Far Ada')];
  parts.set('Far Ada', () => [{ calls: [saying(TEXT)], delayBetweenChunksMs: 8 }, end]);
  const space = await fixture.space([ann, ada]);
  const db = new Database({ url: fixture.server.databaseUrl, applicationName: 'far', logger: silentLogger });
  const kernel = new Kernel({ db, logger: silentLogger });
  await kernel.listen();
  const stream = new Stream({ db, logger: silentLogger, line: kernel });
  try {
    const log = (await findSpaceLog(db, fixture.project, { space, entity: null }))!;
    const reader = stream.open(log, { after: log.lastSequence }).getReader();
    let text = '';
    const reading = (async () => {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        text += Buffer.from(value).toString();
      }
    })();
    await fixture.say(space, ann, 'Tell me.');
    await until('it is read there', () => text.includes('event: message.delta'));
    expect(text.match(/event: message\.created/g)).toHaveLength(1);
    await until('it has ended', () => text.includes('event: run.completed'));
    expect(text.indexOf('event: message.delta')).toBeLessThan(text.lastIndexOf('event: message.created'));
    await stream.close();
    await reading;
  } finally {
    await stream.close();
    await kernel.close();
    await db.close();
  }
});

test('a visible tool is seen from its first argument to its answer, where its agent is; one of the space answers it', async () => {
  const ann = await fixture.person('Ann');
  await fixture.done('POST', '/v1/tools', {
    name: 'pickColour',
    executionType: 'space',
    visibility: 'visible',
    display: { customUI: 'Picker' },
  });
  await fixture.done('POST', '/v1/tools', {
    name: 'lookUp',
    executionType: 'internal',
    visibility: 'result-only',
    execution: { output: { found: 3 } },
  });
  const ada = await fixture.agent('Shown Ada', { tools: ['pickColour', 'lookUp'] });
  const [here, there] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
  parts.set('Shown Ada', () => [
    {
      calls: [
        { id: 'look', name: 'lookUp', arguments: { q: 'secret' } },
        { id: 'enter', name: 'enter_space', arguments: { spaceId: there } },
        { id: 'pick', name: 'pickColour', arguments: { of: 'the door' }, chunks: ['{"of":', '"the door"}'] },
      ],
      delayBetweenChunksMs: 30,
    },
    end,
  ]);
  const [reader, other] = [await read(there), await read(here)];
  const { runs } = await fixture.say(here, ann, 'Which?');
  await reader.sees('tool.waiting');
  const pieces = reader.deltas.filter(({ type }) => type === 'tool.delta');
  expect(pieces.map(({ callId, name }) => [callId, name])).toContainEqual(['pick', 'pickColour']);
  expect('{"of":"the door"}'.startsWith(written(pieces, 'tool.delta'))).toBe(true);
  const [waiting] = await fixture.messages(there);
  expect(waiting).toMatchObject({
    id: pieces[0]!.streamId,
    role: 'tool_call',
    senderId: ada.entityId,
    tool: { status: 'requires_action', arguments: { of: 'the door' }, customUI: 'Picker' },
  });
  await other.sees('tool.completed');
  const looked = (await fixture.messages(here)).find(({ role }) => role === 'tool_call')!;
  expect(looked.tool).toEqual({ callId: 'look', name: 'lookUp', status: 'complete', result: { found: 3 } });
  expect(other.deltas).toEqual([]);

  await fixture.server.kernel.settle(runs[0]!.id, 'pick', { status: 'completed', output: 'red' }, 'ann');
  await reader.sees('tool.completed');
  expect((await fixture.messages(there))[0]).toMatchObject({ tool: { status: 'complete', result: 'red' } });
  await fixture.ended(runs[0]!.id);
  // They start nobody.
  expect(await fixture.runs(there)).toEqual([]);
});
