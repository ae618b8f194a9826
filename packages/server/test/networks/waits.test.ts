import type { Invoked, JsonObject, WaitingCall } from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, NetworkFixture, respond, route, type Say, turns } from './fixture.ts';

// Runs of networks that wait for somebody, fail and are taken up again.

let fixture: NetworkFixture;
beforeAll(async () => {
  fixture = await NetworkFixture.open();
  const params = [
    { name: 'amount', source: 'agent', required: true, schema: { type: 'integer', maximum: 100 } },
    { name: 'tenant', source: 'system', required: true },
  ];
  await fixture.done('POST', '/v1/tools', { name: 'pay', kind: 'echo', approval: true, params });
  await fixture.done('POST', '/v1/tools', { name: 'at_home', kind: 'client' });
  await fixture.network({
    name: 'Cashier',
    tools: [{ key: 'pay' }, { key: 'at_home' }],
    agents: [
      { key: 'front', isDefault: true, prompt: 'I am front.', routes: ['cashier'] },
      {
        key: 'cashier',
        prompt: 'I am cashier.',
        allowRespond: true,
        tools: ['pay', 'at_home'],
        routes: ['front'],
      },
    ],
  });
});
afterAll(async () => {
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const systemParams = { tenant: 'tenant-0001' };

/** Started, and what of it waits once it does. */
async function waiting(say: Say, waitsFor: string) {
  const run = await fixture.invoke('cashier', say, { mode: 'background', systemParams });
  const at = `/v1/inbox?runId=${run.id}&waitsFor=${waitsFor}`;
  const [open] = await until('a call waits', async () => {
    const { data } = await fixture.done<{ data: WaitingCall[] }>('GET', at);
    return data.length > 0 ? data : null;
  });
  const path = `/v1/runs/${run.id}/calls/${open!.callId}/decision`;
  const { argumentsHash } = open!;
  const approve = (args?: JsonObject) => ({
    decision: 'approve',
    argumentsHash,
    ...(args ? { arguments: args } : {}),
  });
  const ended = async () => {
    await fixture.server.kernel.ended(run.id);
    return { ...(await fixture.seen(run.id)), shown: fixture.shownTo(run.id) };
  };
  return { run, open: open!, path, approve, ended };
}
const paying = turns(route('cashier'), call('pay', { amount: 5 }), respond({ paid: true }));

test('a call that needs approval: approved, denied, and with other arguments, which are judged as the model’s are', async () => {
  const approved = await waiting(paying, 'approval');
  expect(approved.open).toMatchObject({
    tool: 'pay',
    arguments: { amount: 5 },
    agentId: null,
    network: { id: expect.any(String), name: 'Cashier', version: 1 },
    agentKey: 'cashier',
    rootRunId: null,
  });
  await fixture.done('POST', approved.path, approved.approve());
  const { run } = await approved.ended();
  expect(run).toMatchObject({ status: 'completed', calls: [{ status: 'completed' }] });
  expect(run.calls[0]!.output).toEqual({ echo: { amount: 5, tenant: '[secret tenant]' } });
  expect(run.steps.map(({ agentKey }) => agentKey)).toEqual(['front', 'cashier', 'cashier']);

  const denied = await waiting(paying, 'approval');
  await fixture.done('POST', denied.path, { decision: 'reject', reason: 'Not today.' });
  const after = await denied.ended();
  expect(after.run).toMatchObject({ status: 'completed', calls: [{ status: 'failed', output: null }] });
  // The same agent reads it, once.
  const heard = after.shown.at(-1)!;
  expect(heard.system).toContain('I am cashier.');
  expect(heard.messages.filter((message) => JSON.stringify(message).includes('Not today.'))).toHaveLength(1);

  const edited = await waiting(paying, 'approval');
  const refuse = (args: JsonObject) => fixture.refused('POST', edited.path, edited.approve(args));
  expect(await refuse({ amount: 5, tenant: 'another' })).toBe('arguments_invalid');
  expect(await refuse({ amount: 500 })).toBe('arguments_invalid');
  expect(await refuse({})).toBe('arguments_invalid');
  await fixture.done('POST', edited.path, edited.approve({ amount: 7 }));
  const changed = await edited.ended();
  expect(changed.run.calls[0]!.output).toEqual({ echo: { amount: 7, tenant: '[secret tenant]' } });
});

test('what waits in a task, in a network that is a tool, says who asks and which run it all began with', async () => {
  const tool = { name: 'ask_cashier', kind: 'network', network: { network: 'Cashier' } };
  await fixture.done('POST', '/v1/tools', {
    ...tool,
    params: [
      { name: 'input', required: true, schema: { type: 'string' } },
      { name: 'tenant', source: 'system', required: true },
    ],
  });
  await fixture.network({
    name: 'Shop',
    tools: [{ key: 'ask_cashier' }],
    agents: [
      {
        key: 'head',
        isDefault: true,
        prompt: 'I am head.',
        allowTaskGroup: true,
        allowRespond: true,
        routes: ['clerk'],
      },
      { key: 'clerk', prompt: 'I am clerk.', tools: ['ask_cashier'], routes: ['head'] },
    ],
  });
  const input = (request: { messages: readonly object[] }) =>
    /ask-[0-9a-f-]{36}/.exec(JSON.stringify(request.messages))![0];
  const root = await fixture.invoke(
    'shop',
    (request, agent) => {
      const first = request.step === 1;
      if (agent === 'head')
        return first
          ? call('delegate_to_agent', { agent: 'clerk', assignment: input(request) })
          : respond({ ok: true });
      if (agent === 'clerk')
        return first ? call('ask_cashier', { input: input(request) }) : respond({ ok: true });
      return paying(request, agent);
    },
    { mode: 'background', systemParams },
  );
  const [open] = await until('the task of the task waits', async () => {
    const { data } = await fixture.done<{ data: WaitingCall[] }>('GET', '/v1/inbox');
    const below = data.filter(({ rootRunId }) => rootRunId === root.id);
    return below.length > 0 ? below : null;
  });
  expect(open).toMatchObject({ tool: 'pay', network: { name: 'Cashier', version: 1 }, agentKey: 'cashier' });
  expect(open!.runId).not.toBe(root.id);
  await fixture.done('POST', `/v1/runs/${open!.runId}/calls/${open!.callId}/decision`, {
    decision: 'reject',
  });
  await fixture.server.kernel.ended(root.id);
});

test('a call that a client answers: the same agent goes on with the result, and never with what the system gives', async () => {
  const asked = await waiting(
    turns(route('cashier'), call('at_home', { q: 1 }), respond({ got: true })),
    'client',
  );
  expect(JSON.stringify(asked.open)).not.toContain(systemParams.tenant);
  const results = [{ callId: asked.open.callId, result: { from: 'home' } }];
  await fixture.done('POST', `/v1/runs/${asked.run.id}/tool-results`, { results });
  const { run, shown } = await asked.ended();
  expect(run.status).toBe('completed');
  expect(shown.at(-1)!.messages.at(-1)).toMatchObject({ role: 'tool', output: { from: 'home' } });
});

test('a run that failed is retried at its agent, in its version, with its system parameters', async () => {
  let broken = true;
  const { invoked, run } = await fixture.play(
    'cashier',
    (request) => {
      if (request.step === 2 && broken)
        return { error: { code: 'down', message: 'Gone.', retryable: false } };
      return turns(
        route('cashier', { why: 'money' }),
        call('pay', { amount: 1 }),
        respond({ paid: true }),
      )(request, '');
    },
    { systemParams },
  );
  expect(invoked).toMatchObject({ status: 'failed', agent: 'cashier', network: { version: 1 } });
  expect(run.error).toMatchObject({ code: 'down' });
  await fixture.done('PATCH', '/v1/networks/cashier/agents/cashier', { prompt: 'I am cashier. Otherwise.' });
  await fixture.done('POST', '/v1/networks/cashier/publish', {});
  broken = false;
  const before = fixture.shownTo(run.id).at(-1)!;
  await fixture.done('POST', `/v1/runs/${run.id}/retry`, {});
  const path = `/v1/inbox?runId=${run.id}`;
  const [open] = await until('it waits', async () => {
    const { data } = await fixture.done<{ data: WaitingCall[] }>('GET', path);
    return data.length > 0 ? data : null;
  });
  await fixture.done('POST', `/v1/runs/${run.id}/calls/${open!.callId}/decision`, {
    decision: 'approve',
    argumentsHash: open!.argumentsHash,
  });
  await fixture.server.kernel.ended(run.id);
  const { data } = await fixture.done<{ data: Invoked[] }>('GET', '/v1/networks/cashier/runs?limit=1');
  expect(data[0]).toMatchObject({
    id: run.id,
    status: 'completed',
    network: { version: 1 },
    agent: 'cashier',
  });
  const again = fixture.shownTo(run.id).find((one) => one.step === 2 && one !== before)!;
  expect({ system: again.system, messages: again.messages, tools: again.tools }).toEqual({
    system: before.system,
    messages: before.messages,
    tools: before.tools,
  });
  expect((await fixture.seen(run.id)).run.calls[0]!.output).toMatchObject({
    echo: { tenant: '[secret tenant]' },
  });
});

test('what makes no sense of a run of a network is refused with a sentence', async () => {
  const { run } = await fixture.play('cashier', turns(route('cashier'), respond({ ok: true })), {
    systemParams,
  });
  expect(await fixture.refused('POST', `/v1/runs/${run.id}/fork`, { step: 1 })).toBe('run_of_network');
  expect(await fixture.refused('POST', `/v1/runs/${run.id}/continue`, {})).toBe('run_of_network');
  expect(await fixture.refused('POST', `/v1/runs/${run.id}/retry`, {})).toBe('not_failed');
  expect(
    await fixture.refused('POST', `/v1/runs/${run.id}/tool-results`, {
      results: [{ callId: 'x', result: 1 }],
    }),
  ).toBe('call_not_found');
});
