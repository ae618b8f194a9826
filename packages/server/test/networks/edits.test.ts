import type { JsonObject } from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, NetworkFixture, respond, route, turns } from './fixture.ts';

// Whatever is edited, deleted or archived, a run that has begun goes on as it would have, and one that has ended reads as it did.

let fixture: NetworkFixture;
beforeAll(async () => {
  fixture = await NetworkFixture.open();
});
afterAll(async () => {
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const script = turns(
  call('lookup', { q: 'before' }),
  call('wait_here'),
  call('lookup', { q: 'after' }),
  route('writer', { found: 'it' }),
  call('lookup', { q: 'as writer' }),
  respond({ answer: 5 }),
  route('front'),
  call('pay'),
  route('writer'),
  respond({ answer: 'done' }),
);
const systemParams = { tenant: 'tenant-0001' };

async function made(name: string): Promise<{ id: string; helper: string; model: string }> {
  const { id: helper } = await fixture.done<{ id: string }>('POST', '/v1/agents', {
    name: `Helper of ${name}`,
    systemPrompt: 'I am front. I borrow this prompt.',
  });
  const provider = await fixture.done<{ id: string }>('POST', '/v1/providers', { kind: 'demo', name });
  const { id: model } = await fixture.done<{ id: string }>('POST', `/v1/providers/${provider.id}/models`, {
    modelId: 'own-model',
  });
  const id = await fixture.network({
    name,
    policy: { maxSteps: 12, retries: 3 },
    response: {
      schema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
      guidance: 'Be short.',
    },
    logPolicy: { tools: { lookup: { response: [{ path: 'echo.q', label: 'asked' }] } } },
    tools: [{ key: 'lookup' }, { key: 'wait_here' }],
    agents: [
      {
        key: 'front',
        agentId: helper,
        isDefault: true,
        tools: ['lookup', 'wait_here'],
        routes: ['writer'],
      },
      {
        key: 'writer',
        description: 'Writes answers.',
        prompt: 'I am writer.',
        modelId: model,
        allowRespond: true,
        tools: ['lookup'],
        routes: ['front'],
      },
    ],
  });
  return { id, helper, model };
}

/** As far as the call that a client answers. */
async function toTheMiddle(network: string) {
  const run = await fixture.invoke(network, script, { mode: 'background', systemParams });
  await until('it waits', async () => (await fixture.seen(run.id)).run.status === 'waiting_tool');
  const { body } = await fixture.ask<{ data: { callId: string }[] }>(
    'GET',
    `/v1/inbox?runId=${run.id}&waitsFor=client`,
  );
  expect(body.data).toHaveLength(1);
  return { run: run.id, callId: body.data[0]!.callId };
}

async function goOn({ run, callId }: { run: string; callId: string }) {
  await fixture.done('POST', `/v1/runs/${run}/tool-results`, {
    results: [{ callId, result: { here: true } }],
  });
  await fixture.server.kernel.ended(run);
  const seen = await fixture.seen(run);
  // Whatever has another name in every run.
  const plain = (value: unknown) =>
    JSON.parse(
      JSON.stringify(value)
        .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'id')
        .replaceAll(/call_\w+/g, 'call'),
    );
  return { seen, prompts: plain(fixture.shownTo(run)), messages: plain(seen.messages.map(told)) };
}
const told = ({ role, content }: { role: string; content: unknown }) => ({ role, content });

test('every edit there is, while a run is in the middle and after another has ended', async () => {
  const lookup = {
    name: 'lookup',
    kind: 'echo',
    description: 'Looks things up.',
    params: [
      { name: 'q', source: 'agent', required: true, schema: { type: 'string' } },
      { name: 'tenant', source: 'system', required: true },
      { name: 'format', source: 'default', defaultValue: 'json' },
    ],
  };
  const { id: lookupId } = await fixture.done<{ id: string }>('POST', '/v1/tools', lookup);
  const { id: waitId } = await fixture.done<{ id: string }>('POST', '/v1/tools', {
    name: 'wait_here',
    kind: 'client',
  });
  const twin = await made('Twin');
  const edited = await made('Edited');
  // What the twin would have, its input set aside.
  const expected = await goOn(await toTheMiddle(twin.id));
  expect(expected.seen.run).toMatchObject({ status: 'completed', step: 10 });

  const past = await goOn(await toTheMiddle(edited.id));
  const list = await fixture.done('GET', `/v1/networks/${edited.id}/runs`);
  const middle = await toTheMiddle(edited.id);
  const last = await toTheMiddle(edited.id);

  const at = `/v1/networks/${edited.id}`;
  const edit = (method: string, path: string, body?: JsonObject) => fixture.done(method, path, body);
  await edit('PATCH', at, {
    name: 'Edited otherwise',
    policy: { maxSteps: 2, retries: 0, toolCalls: 0 },
    response: { schema: { type: 'string' }, guidance: 'Be long.', example: 'x' },
    logPolicy: { defaults: { requestMaxChars: 1, responseMaxChars: 1 } },
  });
  await edit('PATCH', `${at}/agents/front`, { prompt: 'I am other.', allowRespond: true, agentId: null });
  await edit('PATCH', `${at}/agents/writer`, {
    key: 'author',
    description: 'Another.',
    prompt: 'I am author.',
    modelId: null,
  });
  await edit('PUT', `${at}/agents/front/tools`, { tools: [] });
  await edit('PUT', `${at}/agents/author/tools`, { tools: [] });
  await edit('PUT', `${at}/tools`, { tools: [{ key: 'lookup', description: 'Otherwise.', params: [] }] });
  await edit('PUT', `${at}/agents/front/routes`, { routes: [] });
  await edit('PUT', `${at}/agents/author/routes`, { routes: [] });
  await edit('DELETE', `${at}/agents/author`);
  await edit('POST', `${at}/publish`, { notes: 'all is other' });
  await edit('PATCH', `/v1/tools/${lookupId}`, {
    description: 'Says something else.',
    params: [{ name: 'other', source: 'agent', required: true }],
  });
  await edit('PATCH', `/v1/agents/${edited.helper}`, { systemPrompt: 'I am somebody else.' });
  await edit('POST', `${at}/publish`, {});
  await edit('POST', `${at}/rollback`, { version: 2 });
  await edit('POST', `${at}/archive`, {});
  // Read before it is gone: its runs are as they were.
  const listed = await fixture.done<{ data: { id: string }[] }>('GET', `${at}/runs`);
  const kept = { ...listed, data: listed.data.filter(({ id }) => id === past.seen.run.id) };
  expect(kept).toEqual(list);
  // What is under way is bound to its snapshot, so it does not hold the network.
  await edit('DELETE', at);
  await edit('DELETE', `/v1/agents/${edited.helper}`);
  await edit('DELETE', `/v1/models/${edited.model}`);

  const after = await goOn(middle);
  expect(after.seen.run.status).toBe('completed');
  expect(after.prompts).toEqual(expected.prompts);
  expect(after.messages).toEqual(expected.messages);

  // The tools of the project too, once nothing names them.
  await edit('DELETE', `/v1/networks/${twin.id}`);
  await edit('DELETE', `/v1/tools/${lookupId}`);
  await edit('DELETE', `/v1/tools/${waitId}`);
  const without = await goOn(last);
  expect(without.prompts).toEqual(expected.prompts);
  expect(without.messages).toEqual(expected.messages);
  expect(await fixture.seen(past.seen.run.id)).toEqual(past.seen);
  expect(await fixture.seen(expected.seen.run.id)).toEqual(expected.seen);
  expect(await fixture.refused('GET', `${at}/runs`)).toBe('not_found');
});
