import type { Json, JsonObject, Message, Model, Prompt, Run, ToolCall } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { MAX_MEDIA } from '../../src/base/tool-media.ts';
import { formats, type Said } from './wire/formats.ts';
import { stream, WireServer } from './wire/server.ts';

// Images that tools return, from the tool to the requests that each kind of provider gets.

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SHOT = {
  content: [
    { type: 'text', text: 'The page.' },
    { type: 'image', mimeType: 'image/png', data: PNG },
    { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' },
    { type: 'image', mimeType: 'image/svg+xml', data: Buffer.from('<svg/>').toString('base64') },
  ],
};
const LARGE = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(1_200_000)]).toString('base64');

let wire: WireServer;
let server: TestServer;
beforeAll(async () => {
  wire = await WireServer.open();
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    code: [
      { name: 'shot', execute: () => SHOT },
      {
        name: 'shots',
        execute: () => ({
          content: [LARGE, LARGE, '%%'].map((data) => ({ type: 'image', mimeType: 'image/png', data })),
        }),
      },
    ],
  });
  for (const name of ['shot', 'shots']) await ask('POST', '/tools', { name, kind: 'code', function: name });
});
afterEach(async () => {
  expect(wire.left).toBe(0);
  wire.heard.length = 0;
  expect(await violations(server.db.pool)).toEqual([]);
});
afterAll(async () => {
  await server.close();
  await wire.close();
});

async function ask<Body = { id: string }>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = await response.json();
  expect([path, response.status < 300, answer]).toEqual([path, true, answer]);
  return answer as Body;
}

describe.each(formats.map((format) => ({ kind: format.kind, format })))('$kind', ({ kind, format }) => {
  let model: Model;
  let agentId: string;
  const say = (...answers: Said[]) => wire.replies(...answers.map((said) => stream(format.events(said))));
  const callOf = (name: string, id = 'call_1') => ({ calls: [{ id, name, pieces: ['{}'] }] });

  beforeAll(async () => {
    const provider = { kind, name: kind, baseUrl: wire.url, apiKey: 'sk-test' };
    const { id } = await ask('POST', '/providers', provider);
    model = await ask<Model>('POST', `/providers/${id}/models`, { modelId: 'm', displayName: 'M' });
    const agent = { name: kind, defaultModelId: model.id, tools: ['shot', 'shots'] };
    agentId = (await ask('POST', '/agents', agent)).id;
  });

  async function turn(content: JsonObject = { text: 'Go.' }) {
    const session = await ask('POST', `/agents/${agentId}/sessions`, {});
    const path = `/agents/${agentId}/sessions/${session.id}/messages`;
    const { run } = await ask<{ run: { id: string } }>('POST', path, { content });
    const read = () => ask<Run & { calls: ToolCall[] }>('GET', `/runs/${run.id}`);
    await until('it has ended', async () => (await read()).status === 'completed');
    const { data } = await ask<{ data: Message[] }>('GET', path);
    return { run: await read(), messages: data };
  }
  const setImages = (imageInput: boolean | null) => ask('PATCH', `/models/${model.id}`, { imageInput });
  const sent = (at: number) => JSON.stringify(wire.heard[at]!.body);

  it('stores the media of a tool, and sends models the images that they accept', async () => {
    await setImages(true);
    say(callOf('shot'), { text: ['Seen.'] });
    const { run, messages } = await turn();
    expect(run.calls).toMatchObject([{ status: 'completed', output: SHOT }]);
    expect(messages.find(({ role }) => role === 'tool_result')?.content).toMatchObject({ result: SHOT });
    // Once, as an image; the rest as text.
    expect(sent(1).split(PNG)).toHaveLength(2);
    expect(imagesIn(wire.heard[1]!.body)).toEqual([PNG]);
    expect(sent(1)).toContain('The page.');
    expect(sent(1)).toContain('The content is not shown to models.');
    expect(sent(1)).not.toContain('UklGRg==');
    const { messages: given } = await ask<Prompt>('GET', `/runs/${run.id}/steps/2/prompt`);
    expect(given.at(-1)).toMatchObject({
      role: 'tool',
      parts: [{ type: 'image', base64: PNG, mediaType: 'image/png' }],
    });
  });

  it('gets every result before the images of any', async () => {
    await setImages(true);
    say({ calls: [...callOf('shot', 'a').calls, ...callOf('shot', 'b').calls] }, { text: ['Seen.'] });
    await turn();
    expect(imagesIn(wire.heard[1]!.body)).toEqual([PNG, PNG]);
    if (kind !== 'openai_compatible') return;
    const { messages } = wire.heard[1]!.body as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role).slice(-4)).toEqual(['assistant', 'tool', 'tool', 'user']);
  });

  it('gets a text placeholder for each image that it does not accept, of tools and of people', async () => {
    await setImages(false);
    say(callOf('shot'), { text: ['Not seen.'] });
    await turn({ text: 'What is it?', parts: [{ type: 'image', base64: PNG, mediaType: 'image/png' }] });
    expect(sent(0)).toContain('[image left out: this model does not accept images]');
    expect(sent(1)).toContain('[1 image left out: this model does not accept images]');
    expect(sent(1)).not.toContain(PNG);
  });

  it('accepts images of tools by default, unless the provider is unknown', async () => {
    await setImages(null);
    say(callOf('shot'), { text: ['Seen.'] });
    await turn();
    expect(imagesIn(wire.heard[1]!.body)).toEqual(kind === 'openai_compatible' ? [] : [PNG]);
  });

  it('limits the size of media in a result', async () => {
    await setImages(true);
    say(callOf('shots'), { text: ['Seen.'] });
    const { run } = await turn();
    const { content } = run.calls[0]!.output as { content: { data?: string; note?: string }[] };
    expect(content[0]!.data).toBe(LARGE);
    expect(content[1]).toMatchObject({ bytes: Buffer.byteLength(LARGE, 'base64') });
    expect(content[1]!.note).toContain(String(MAX_MEDIA));
    expect(content[2]!.note).toContain('not valid base64');
    expect(imagesIn(wire.heard[1]!.body)).toEqual([LARGE]);
  });
});

it('keeps and passes on images that a client answers with', async () => {
  const format = formats[0]!;
  await ask('POST', '/tools', { name: 'screenshot', kind: 'client' });
  const provider = { kind: format.kind, name: 'of the client', baseUrl: wire.url, apiKey: 'sk-test' };
  const { id } = await ask('POST', '/providers', provider);
  const model = await ask('POST', `/providers/${id}/models`, { modelId: 'c', displayName: 'C' });
  const agent = await ask('POST', '/agents', {
    name: 'Client',
    defaultModelId: model.id,
    tools: ['screenshot'],
  });
  const session = await ask('POST', `/agents/${agent.id}/sessions`, {});
  const call = { id: 'call_1', name: 'screenshot', pieces: ['{}'] };
  wire.replies(stream(format.events({ calls: [call] })), stream(format.events({ text: ['Seen.'] })));
  const path = `/agents/${agent.id}/sessions/${session.id}`;
  const { run } = await ask<{ run: { id: string } }>('POST', `${path}/messages`, {
    content: { text: 'Look.' },
  });
  const status = async () => (await ask<Run>('GET', `/runs/${run.id}`)).status;
  await until('it waits', async () => (await status()) === 'waiting_tool');
  const result = { content: [LARGE, LARGE].map((data) => ({ type: 'image', mimeType: 'image/png', data })) };
  await ask('POST', `/runs/${run.id}/tool-results`, { results: [{ callId: 'call_1', result }] });
  await until('it has ended', async () => (await status()) === 'completed');
  expect(imagesIn(wire.heard[1]!.body)).toEqual([LARGE]);
  expect(JSON.stringify(wire.heard[1]!.body)).toContain('The content is left out');
});

/** The data of images at any place in the format of the provider. */
function imagesIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(imagesIn);
  if (value === null || typeof value !== 'object') return [];
  const { source, image_url } = value as { source?: { data?: string }; image_url?: string | { url: string } };
  const url = typeof image_url === 'string' ? image_url : image_url?.url;
  const own = source?.data ?? url?.replace(/^data:image\/\w+;base64,/, '');
  return own === undefined ? Object.values(value).flatMap(imagesIn) : [own];
}
