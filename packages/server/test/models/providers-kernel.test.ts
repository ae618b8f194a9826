import type { JsonObject } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { createProviders } from '@troupe/server/parts';
import { buildStart, codeTools, type KernelFixture, openKernel, until, violations } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ProviderRecord } from '../../src/models/providers/providers.ts';
import { formats, responses } from './wire/formats.ts';
import { hangUp, refuse, stream, WireServer } from './wire/server.ts';

// The kernel and the providers together: what a provider does wrong ends as what the kernel does about it.

let wire: WireServer;
let fixture: KernelFixture;
const rows = new Map(
  formats.map(({ kind }): [string, ProviderRecord] => [
    kind,
    { id: newId(), kind, baseUrl: '', apiKey: 'sk-test', status: 'active' },
  ]),
);
const modelOf = (kind: string, model = `${kind}-model`) => ({ provider: rows.get(kind)!.id, model });

beforeAll(async () => {
  wire = await WireServer.open();
  for (const row of rows.values()) row.baseUrl = wire.url;
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    work: {
      models: createProviders({
        load: async (id) => [...rows.values()].find((row) => row.id === id) ?? null,
      }),
      tools: codeTools({ add: (args) => (args as { a: number; b: number }).a + (args as { b: number }).b }),
    },
  });
});
afterEach(async () => {
  expect(wire.left).toBe(0);
  wire.heard.length = 0;
  expect(await violations(fixture.db.pool)).toEqual([]);
});
afterAll(async () => {
  await fixture.close();
  await wire.close();
});

/** What the user said, as it is sent. */
function saidTo(body: JsonObject): { texts: string[]; pictures: number } {
  const messages = (body.input ?? body.messages) as { role: string; content: string | JsonObject[] }[];
  const { content } = messages.findLast(({ role }) => role === 'user')!;
  const parts: JsonObject[] = typeof content === 'string' ? [{ text: content }] : content;
  return {
    texts: parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])),
    pictures: JSON.stringify(content).split('aGVsbG8=').length - 1,
  };
}

const add = {
  name: 'add',
  provider: 'code',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};
const limits = { modelTries: 3, retryBackoffMs: 10 };
const errors = async (thread: string) =>
  (await fixture.events(thread)).flatMap(({ type, data }) => (type === 'step.error' ? [data!] : []));
const said = async (thread: string) =>
  (await fixture.messages(thread)).flatMap(({ role, content }) =>
    role === 'assistant' ? [content.text] : [],
  );

describe.each(formats.map((format) => ({ name: format.kind, format })))('$name', ({ format }) => {
  it('takes a turn with a tool call', async () => {
    wire.replies(
      stream(
        format.events({
          text: ['I add.'],
          calls: [{ id: 'call_1', name: 'add', pieces: ['{"a":2', ',"b":2}'] }],
          usage: { input: 20, output: 5 },
        }),
        { bytes: 11 },
      ),
      stream(format.events({ text: ['It is ', '4.'], usage: { input: 30, output: 6 } })),
    );
    const snapshot = await fixture.snapshot({ models: [modelOf(format.kind)], tools: [add], limits });
    const { run, thread, ...ended } = await fixture.play(snapshot, { text: 'How much is 2+2?' });
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'It is 4.' } });
    expect(await fixture.calls(run)).toMatchObject([{ status: 'completed', args: { a: 2, b: 2 } }]);
    expect(JSON.stringify(wire.heard[1]!.body)).toMatch(/call_1.*"4"/);
    expect(await fixture.row(run)).toMatchObject({ input_tokens: 50, output_tokens: 11 });
    expect(await said(thread)).toEqual(['I add.', 'It is 4.']);
  });

  it('is told what was called where a person changed the arguments, beside its own call', async () => {
    const call = { id: 'call_9', name: 'add', pieces: ['{"a":2,"b":2}'] };
    wire.replies(stream(format.events({ calls: [call] })), stream(format.events({ text: ['It is 7.'] })));
    const tools = [{ ...add, waitsFor: 'approval' as const }];
    const item = buildStart(
      fixture.ids,
      await fixture.snapshot({ models: [modelOf(format.kind)], tools, limits }),
      'Add.',
    );
    await fixture.kernel.start(item);
    const settle = () =>
      fixture.kernel.settle(item.run.id, 'call_9', { status: 'proceed', args: { a: 3, b: 4 } }, 'ann');
    await until('it is approved', async () => (await settle()).ok);
    expect(await fixture.kernel.ended(item.run.id)).toMatchObject({
      status: 'completed',
    });
    const sent = JSON.stringify(wire.heard[1]!.body).replaceAll('\\', '');
    // The call as the model made it, once; its result, once, with the arguments that were used.
    expect(sent.split('call_9')).toHaveLength(3);
    expect(sent).toMatch(
      /"a":2,"b":2.*A person changed the arguments.*"calledWith":\{"a":3,"b":4\},"result":7/,
    );
  });

  it('reads the text of a message and its parts, and nothing twice', async () => {
    const picture = { type: 'image', base64: 'aGVsbG8=', mediaType: 'image/png' };
    const text = (said: string) => ({ type: 'text', text: said });
    const cases = [
      { content: { text: 'What is in this picture?', parts: [picture] }, read: ['What is in this picture?'] },
      { content: { text: 'x-ray', parts: [text('yes or no')] }, read: ['x-ray', 'yes or no'] },
      // As clients do that join the texts of the parts.
      { content: { text: 'one\ntwo', parts: [text('one'), picture, text('two')] }, read: ['one', 'two'] },
      { content: { text: 'one', parts: [text('one'), text('two')] }, read: ['one', 'one', 'two'] },
      { content: { text: '', parts: [text('only parts')] }, read: ['only parts'] },
      { content: { text: 'no parts', parts: [] }, read: ['no parts'] },
    ];
    const snapshot = await fixture.snapshot({ models: [modelOf(format.kind)], limits });
    for (const { content, read } of cases) {
      wire.replies(stream(format.events({ text: ['Yes.'] })));
      const item = buildStart(fixture.ids, snapshot, content.text);
      item.message!.content = content;
      await fixture.kernel.start(item);
      await fixture.kernel.ended(item.run.id);
      const heard = saidTo(wire.heard.at(-1)!.body);
      expect(heard.texts, JSON.stringify(content)).toEqual(read);
      expect(heard.pictures).toBe(content.parts.filter((part) => part === picture).length);
    }
  });

  it('is asked again after a cut in the middle of the answer, and one answer is stored', async () => {
    const events = format.events({ text: ['It ', 'is ', 'whole.'] });
    const middle = events.findIndex((event) => event.includes('is ')) + 1;
    wire.replies(stream(events.slice(0, middle), { last: 'cut' }), hangUp, stream(events));
    const snapshot = await fixture.snapshot({ models: [modelOf(format.kind)], limits });
    const { thread, ...ended } = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'It is whole.' } });
    expect(await said(thread)).toEqual(['It is whole.']);
    expect(await errors(thread)).toHaveLength(2);
  });
});

it('comes back when the provider said, and not before', async () => {
  wire.replies(
    refuse(429, responses.refusal({ type: 'rate_limit', message: 'Slow down.' }), {
      'retry-after-ms': '400',
    }),
    stream(responses.events({ text: ['there'] })),
  );
  const snapshot = await fixture.snapshot({ models: [modelOf('openai')], limits });
  const { thread, ...ended } = await fixture.play(snapshot);
  expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'there' } });
  expect(await errors(thread)).toMatchObject([{ code: 'rate_limited', retryInMs: 400 }]);
  expect(wire.heard[1]!.at - wire.heard[0]!.at).toBeGreaterThanOrEqual(395);
});

it('goes on with the next model where one refuses, and with the one after where that has no provider', async () => {
  const last = formats.find(({ kind }) => kind === 'anthropic')!;
  wire.replies(
    refuse(400, responses.refusal({ type: 'invalid_request_error', message: 'No such model.' })),
    stream(last.events({ text: ['from the third'] })),
  );
  const snapshot = await fixture.snapshot({
    models: [modelOf('openai'), { provider: newId(), model: 'gone' }, modelOf('anthropic')],
    limits,
  });
  const { run, thread, ...ended } = await fixture.play(snapshot);
  expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'from the third' } });
  expect(await errors(thread)).toMatchObject([{ code: 'model_rejected' }, { code: 'unknown_model' }]);
  expect(wire.heard.map((heard) => heard.body.model)).toEqual(['openai-model', 'anthropic-model']);
  expect((await fixture.row(run)).error).toBeNull();
});

it('gives up a stream that says nothing more, closes it, and asks again', async () => {
  const events = responses.events({ text: ['a', 'b'] });
  const middle = events.findIndex((event) => event.includes('"a"')) + 1;
  wire.replies(stream(events.slice(0, middle), { last: 'silence' }), stream(events));
  const snapshot = await fixture.snapshot({
    models: [modelOf('openai')],
    limits: { ...limits, modelStallMs: 300 },
  });
  const { thread, ...ended } = await fixture.play(snapshot);
  expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'ab' } });
  expect(await errors(thread)).toMatchObject([{ code: 'model_stalled' }]);
  await wire.heard[0]!.closed;
});

it('fails the run with the provider’s words, and without the key', async () => {
  wire.replies(
    refuse(401, responses.refusal({ type: 'x', message: 'Incorrect API key provided: sk-test.' })),
  );
  const snapshot = await fixture.snapshot({ models: [modelOf('openai')], limits });
  const { run, thread, ...ended } = await fixture.play(snapshot);
  expect(ended).toMatchObject({ status: 'failed', error: { code: 'model_auth' } });
  const everything = JSON.stringify([ended, await fixture.row(run), await fixture.events(thread)]);
  expect(everything).toContain('Incorrect API key provided');
  expect(everything).not.toContain('sk-test');
});
