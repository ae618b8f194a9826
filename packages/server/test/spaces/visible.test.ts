import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SpaceMessage } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { invalidDocuments } from '../sync/valid.ts';
import { call, calls, end, enter, marksIn, openScriptedSpaces, say, triggerIn } from './scripted-agents.ts';

// What a space sees of the tools that its agents call.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
let weather: Server;
let address: string;
let broken = false;
beforeAll(async () => {
  weather = createServer((request, response) => {
    const city = new URL(request.url!, 'http://x').searchParams.get('city');
    response.writeHead(broken ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ city, degrees: 21 }));
  });
  await new Promise<void>((resolve) => weather.listen(0, '127.0.0.1', resolve));
  const { port } = weather.address() as AddressInfo;
  address = `http://127.0.0.1:${port}/current`;
  ({ fixture, parts } = await openScriptedSpaces({ allow: [`127.0.0.1:${port}`] }));
});
afterAll(async () => {
  expect((await invalidDocuments(fixture.server.db.pool)).invalid).toEqual([]);
  await fixture.close();
  weather.close();
});

/** The source's JSON as it stands, but for the address. */
const source = (name: string, more: object = {}) => ({
  name,
  description: 'Get current weather for a city',
  executionType: 'gateway',
  visibility: 'visible',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execution: { url: `${address}?city={{input.city}}`, method: 'GET', timeout: 10_000 },
  ...more,
});

const tool = (definition: object) => fixture.done<{ name: string }>('POST', '/v1/tools', definition);
const shown = async (space: string): Promise<SpaceMessage[]> =>
  (await fixture.messages(space)).filter(({ role }) => role === 'tool_call');

describe('Test Scenarios', () => {
  test('Agent calls visible tool after `enter_space`', async () => {
    const [ann, ada] = [
      await fixture.person('Ann'),
      await fixture.agent('Weather Ada', { tools: [(await tool(source('fetchWeather'))).name] }),
    ];
    const [space, other] = [await fixture.space([ann, ada]), await fixture.space([ann, ada])];
    parts.set('Weather Ada', () => [
      enter(other),
      calls(call('fetchWeather', { city: 'Oslo' })),
      say('Warm.'),
    ]);
    const run = await fixture.ended((await fixture.say(space, ann, 'How is Oslo?')).runs[0]!.id);
    expect(run.status).toBe('completed');
    expect(await shown(space)).toEqual([]);
    const [message] = await shown(other);
    expect(message).toMatchObject({
      role: 'tool_call',
      senderId: ada.entityId,
      senderName: 'Weather Ada',
      runId: run.id,
      sequence: 1,
      tool: {
        name: 'fetchWeather',
        status: 'complete',
        arguments: { city: 'Oslo' },
      },
    });
    expect(JSON.stringify(message!.tool!.result)).toContain('21');
    expect(message!.content.text).toMatch(/^fetchWeather\(.*Oslo.*\) → .*21/);
    const types = (await fixture.events(other))
      .map(({ type }) => type)
      .filter((type) => type.startsWith('tool.'));
    expect(types).toEqual(['tool.started', 'tool.completed']);
    expect((await fixture.messages(other)).at(-1)!.content.text).toBe('Warm.');
  });
});

test('what a tool shows starts nobody; agents read it in the history, and its result is new to those who saw it begin', async () => {
  const ann = await fixture.person('Ann');
  const ada = await fixture.agent('Showing Ada', {
    tools: [(await tool({ name: 'askCity', kind: 'ui', inputSchema: { type: 'object' } })).name],
  });
  const bea = await fixture.agent('Watching Bea');
  const histories: string[][] = [];
  parts.set('Showing Ada', ({ system }) => (triggerIn(system) === 'Ask' ? [calls(call('askCity'))] : []));
  parts.set('Watching Bea', ({ system }) => {
    histories.push(marksIn(system));
    return [];
  });
  const space = await fixture.space([ann, ada, bea]);
  const { runs } = await fixture.say(space, ann, 'Ask');
  const run = runs.find(({ entityId }) => entityId === ada.entityId)!;
  await until('the run waits', async () => (await fixture.run(run.id)).status === 'waiting_tool');
  await fixture.quiet();
  await fixture.say(space, ann, 'Look');
  await fixture.quiet();
  // Her first run may have seen it wait too.
  expect(histories.at(-1)!.find((mark) => mark.includes('askCity'))).toMatch(
    /^(NEW|SEEN) askCity\(\{\}\) → waits for an answer$/,
  );
  const [asked] = await shown(space);
  const results = [{ callId: asked!.tool!.callId, result: 'Oslo' }];
  await fixture.done('POST', `/v1/runs/${run.id}/tool-results`, { results });
  await fixture.ended(run.id);
  await fixture.say(space, ann, 'Look again');
  await fixture.quiet();
  expect(histories.at(-1)!.slice(1)).toEqual(['NEW askCity({}) → "Oslo"', 'SEEN Look', 'NEW Look again']);
  // Two for each of Ann's messages.
  expect(await fixture.runs(space)).toHaveLength(6);
});

test('hidden, result-only, and what of a call is not shown', async () => {
  const ann = await fixture.person('Ann');
  const names = [
    (await tool(source('hiddenWeather', { visibility: 'hidden' }))).name,
    (await tool(source('resultWeather', { visibility: 'result-only' }))).name,
    (
      await tool(
        source('mutedWeather', { display: { showInput: false, showOutput: false, customUI: 'WeatherCard' } }),
      )
    ).name,
  ];
  const ada = await fixture.agent('Hiding Ada', { tools: names });
  parts.set('Hiding Ada', () => [calls(...names.map((name) => call(name, { city: 'Secretville' })))]);
  const space = await fixture.space([ann, ada]);
  await fixture.ended((await fixture.say(space, ann, 'All of them')).runs[0]!.id);
  const messages = await shown(space);
  expect(messages.map(({ tool: told }) => told!.name).sort()).toEqual(['mutedWeather', 'resultWeather']);
  const result = messages.find(({ tool: told }) => told!.name === 'resultWeather')!;
  expect(result.tool).not.toHaveProperty('arguments');
  expect(JSON.stringify(result.tool!.result)).toContain('21');
  const muted = messages.find(({ tool: told }) => told!.name === 'mutedWeather')!;
  expect(muted.tool).toEqual({
    callId: expect.any(String),
    name: 'mutedWeather',
    status: 'complete',
    customUI: 'WeatherCard',
  });
  expect(JSON.stringify(muted)).not.toContain('Secretville');
  const types = (await fixture.events(space)).filter(({ data }) => data.tool === 'resultWeather');
  expect(types.map(({ type }) => type)).toEqual(['tool.completed']);
});

test('a tool that fails shows that it failed', async () => {
  const ann = await fixture.person('Ann');
  const ada = await fixture.agent('Failing Weather Ada', {
    tools: [(await tool(source('badWeather'))).name],
  });
  parts.set('Failing Weather Ada', () => [
    calls(call('badWeather', { city: 'Oslo' }), call('badWeather', {})),
  ]);
  const space = await fixture.space([ann, ada]);
  broken = true;
  await fixture.ended((await fixture.say(space, ann, 'Oslo?')).runs[0]!.id);
  broken = false;
  const states = (await shown(space)).map(({ tool: told }) => [told!.status, typeof told!.error?.message]);
  expect(states).toEqual([
    ['error', 'string'],
    ['error', 'string'],
  ]);
});

test('a visible tool behind an enter_space of the same answer is not called where its agent is no member', async () => {
  const [ann, ada] = [
    await fixture.person('Ann'),
    await fixture.agent('Intruding Ada', { tools: [(await tool(source('intrudingWeather'))).name] }),
  ];
  const [space, own, foreign] = [
    await fixture.space([ann, ada]),
    await fixture.space([ada]),
    await fixture.space([ann]),
  ];
  const oslo = call('intrudingWeather', { city: 'Oslo' });
  parts.set('Intruding Ada', () => [
    calls(call('enter_space', { spaceId: foreign }), oslo),
    calls(call('enter_space', { spaceId: own }), oslo),
  ]);
  const { id } = await fixture.ended((await fixture.say(space, ann, 'Go')).runs[0]!.id);
  const { calls: made } = await fixture.done<{
    calls: { tool: string; status: string; error: { code: string } | null }[];
  }>('GET', `/v1/runs/${id}`);
  expect(
    made.filter((one) => one.tool === 'intrudingWeather').map(({ status, error }) => [status, error?.code]),
  ).toEqual([
    ['failed', 'not_a_member'],
    ['completed', undefined],
  ]);
  expect(await shown(foreign)).toEqual([]);
  expect(await shown(own)).toHaveLength(1);
});

test('a visible tool needs a space to be seen in', async () => {
  const ada = await fixture.agent('Nowhere Ada', { tools: [(await tool(source('lostWeather'))).name] });
  const outputs: unknown[] = [];
  parts.set('Nowhere Ada', ({ messages, step }) => {
    const last = messages.at(-1)!;
    if (step > 1 && last.role === 'tool') outputs.push(last.output);
    return [calls(call('lostWeather', { city: 'Oslo' }))];
  });
  const { runId } = await fixture.done<{ runId: string }>('POST', `/v1/agents/${ada.id}/trigger`, {
    serviceName: 'cron',
  });
  expect(await fixture.ended(runId)).toMatchObject({
    status: 'completed',
    triggerType: 'service',
    spaceId: null,
  });
  expect(outputs).toMatchObject([{ code: 'no_active_space' }]);
});

test('a visible tool behind an enter_space that goes wrong is seen nowhere, and costs no run', async () => {
  const ann = await fixture.person('Ann');
  const ada = await fixture.agent('Stray Ada', { tools: [(await tool(source('strayWeather'))).name] });
  const outputs: unknown[] = [];
  parts.set('Stray Ada', ({ messages, step, system }) => {
    if (step > 1) outputs.push((messages.at(-1) as unknown as { output: unknown }).output);
    return [
      calls(call('enter_space', { spaceId: triggerIn(system) }), call('strayWeather', { city: 'Oslo' })),
    ];
  });
  const space = await fixture.space([ann, ada]);
  const foreign = await fixture.space([ann]);
  for (const named of ['Launch', newId(), foreign]) {
    const run = await fixture.ended((await fixture.say(space, ann, named)).runs[0]!.id);
    expect(run).toMatchObject({ status: 'completed', error: null });
  }
  expect(outputs[0]).toMatchObject({ code: 'no_active_space' });
  for (const one of [space, foreign]) expect(await shown(one)).toEqual([]);
});

describe('a UI tool', () => {
  const confirm = (name: string) =>
    tool({
      name,
      executionType: 'space',
      description: 'Ask somebody to confirm.',
      inputSchema: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
      outputSchema: {
        type: 'object',
        properties: { confirmed: { type: 'boolean' } },
        required: ['confirmed'],
      },
      display: { customUI: 'ConfirmCard' },
    });

  test('is answered by a member of the space, and by nobody else', async () => {
    const [ann, eve] = [await fixture.token('Ann'), await fixture.token('Eve')];
    const ada = await fixture.agent('Confirm Ada', { tools: [(await confirm('confirmAction')).name] });
    const outputs: unknown[] = [];
    parts.set('Confirm Ada', ({ messages, step }) => {
      const last = messages.at(-1)!;
      if (step === 2 && last.role === 'tool') outputs.push(last.output);
      return [calls(call('confirmAction', { what: 'Launch' })), say('Launched.')];
    });
    const space = await fixture.space([ann.person, ada]);
    const [run] = (await fixture.say(space, ann.person, 'Launch!')).runs;
    await until('the run waits', async () => (await fixture.run(run!.id)).status === 'waiting_tool');
    const [asked] = await shown(space);
    expect(asked!.tool).toMatchObject({
      name: 'confirmAction',
      status: 'requires_action',
      arguments: { what: 'Launch' },
      customUI: 'ConfirmCard',
    });
    const path = `/v1/runs/${run!.id}/tool-results`;
    const results = (result: unknown) => ({ results: [{ callId: asked!.tool!.callId, result }] });
    const as = async (who: { headers: Record<string, string> }, result: unknown) => {
      const { status, body } = await fixture.ask<{ code?: string }>(
        'POST',
        path,
        results(result),
        who.headers,
      );
      return [status, body.code];
    };
    expect((await as(eve, { confirmed: true }))[0]).toBe(404);
    expect(await as(ann, { confirmed: 'maybe' })).toEqual([422, 'result_invalid']);
    const inbox = await fixture.ask<{ data: { spaceId: string }[] }>(
      'GET',
      '/v1/inbox?waitsFor=client',
      undefined,
      ann.headers,
    );
    expect(inbox.body.data).toMatchObject([{ spaceId: space, tool: 'confirmAction' }]);
    const none = await fixture.ask<{ data: unknown[] }>(
      'GET',
      '/v1/inbox?waitsFor=client',
      undefined,
      eve.headers,
    );
    expect(none.body.data).toEqual([]);
    // Twice at once: one of them, or the same one again.
    const both = await Promise.all([as(ann, { confirmed: true }), as(ann, { confirmed: true })]);
    expect(both.map(([status]) => status).sort()[0]).toBe(200);
    expect((await fixture.ended(run!.id)).status).toBe('completed');
    expect(outputs).toEqual([{ confirmed: true }]);
    expect((await shown(space))[0]!.tool).toMatchObject({ status: 'complete', result: { confirmed: true } });
    expect(await fixture.lines(space)).toHaveLength(3);
    // Ann sees that the run is there, and nothing of what it thinks or calls in hiding.
    const seen = await fixture.ask<{ calls: unknown[]; steps: unknown[]; outcome: object }>(
      'GET',
      `/v1/runs/${run!.id}`,
      undefined,
      ann.headers,
    );
    expect(seen.body).toMatchObject({ status: 'completed', calls: [], steps: [] });
    expect(seen.body.outcome).not.toHaveProperty('text');
    expect((await fixture.ask('GET', `/v1/runs/${run!.id}/messages`, undefined, ann.headers)).status).toBe(
      404,
    );
    expect((await fixture.ask('GET', `/v1/runs/${run!.id}`, undefined, eve.headers)).status).toBe(404);
  });

  test('that nobody answers comes to its end', async () => {
    const ann = await fixture.person('Ann');
    const short = await tool({
      name: 'shortConfirm',
      kind: 'ui',
      inputSchema: { type: 'object' },
      deadlineMs: 1_000,
    });
    const ada = await fixture.agent('Patient Ada', { tools: [short.name] });
    parts.set('Patient Ada', () => [calls(call('shortConfirm')), end]);
    const space = await fixture.space([ann, ada]);
    const run = await fixture.ended((await fixture.say(space, ann, 'Well?')).runs[0]!.id);
    expect(run.status).toBe('completed');
    expect((await shown(space))[0]!.tool).toMatchObject({ status: 'error', error: { code: 'expired' } });
  });

  test('of a run that is canceled can no longer be answered', async () => {
    const ann = await fixture.person('Ann');
    const ada = await fixture.agent('Canceled Confirm Ada', { tools: [(await confirm('lateConfirm')).name] });
    parts.set('Canceled Confirm Ada', () => [calls(call('lateConfirm', { what: 'x' }))]);
    const space = await fixture.space([ann, ada]);
    const [run] = (await fixture.say(space, ann, 'Go')).runs;
    await until('the run waits', async () => (await fixture.run(run!.id)).status === 'waiting_tool');
    await fixture.done('POST', `/v1/runs/${run!.id}/cancel`);
    const [asked] = await shown(space);
    expect(asked!.tool).toMatchObject({ status: 'error' });
    const results = [{ callId: asked!.tool!.callId, result: { confirmed: true } }];
    expect(await fixture.refused('POST', `/v1/runs/${run!.id}/tool-results`, { results })).toEqual([
      409,
      'call_not_open',
    ]);
  });
});
