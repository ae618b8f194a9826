import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, NetworkFile } from '@troupe/protocol';
import { violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, NetworkFixture, respond, route, turns } from './fixture.ts';
import { compiled, publish } from './published-network.ts';

// What went wrong in the system that networks are taken from, one test for each, and those that other tests show as well.

let fixture: NetworkFixture;
beforeAll(async () => {
  fixture = await NetworkFixture.open();
  await fixture.done('POST', '/v1/tools', {
    name: 'lookup',
    kind: 'echo',
    params: [
      { name: 'q', source: 'agent', required: true, schema: { type: 'string' } },
      { name: 'tenant', source: 'system', required: true },
    ],
  });
  await fixture.network({
    name: 'Desk',
    description: 'For whoever asks.',
    policy: { maxSteps: 5, retries: 4, tokens: 9_999 },
    response: {
      schema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
      guidance: 'Be short.',
      example: { answer: 'Yes.' },
    },
    logPolicy: { tools: { lookup: { response: [{ path: 'echo.q' }] } } },
    metadata: { team: 'blue' },
    tools: [{ key: 'lookup', description: 'Looks here.' }],
    agents: [
      {
        key: 'front',
        displayName: 'Front',
        isDefault: true,
        prompt: 'I am front.',
        tools: ['lookup'],
        routes: ['writer'],
        metadata: { floor: 1 },
      },
      { key: 'writer', prompt: 'I am writer.', allowRespond: true, routes: ['vault'] },
      { key: 'vault', prompt: 'I am vault.', allowRespond: true },
    ],
  });
});
afterAll(async () => {
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const systemParams = { tenant: 'tenant-77aa88bb' };
const agents = (steps: { agentKey: string | null }[]) => steps.map(({ agentKey }) => agentKey);

test('1. that a forbidden route is told as refused and taken all the same is not so here', async () => {
  const script = turns(route('vault'), route('writer'), respond({ answer: 'done' }));
  const { invoked, run, events, shown } = await fixture.play('desk', script);
  expect(invoked).toMatchObject({ status: 'completed', agent: 'writer' });
  expect(agents(run.steps)).toEqual(['front', 'front', 'writer']);
  expect(shown[1]!.system).toBe(shown[0]!.system);
  const taken = events.filter(({ type }) => type === 'route.taken').map(({ data }) => data);
  expect(taken).toEqual([{ from: 'front', to: 'writer' }]);
});

test('2. that a forbidden answer ends the run is not so here', async () => {
  const script = turns(respond({ answer: 'mine' }), route('writer'), respond({ answer: 'done' }));
  const { invoked, run } = await fixture.play('desk', script);
  expect(invoked).toMatchObject({ status: 'completed', agent: 'writer', response: { answer: 'done' } });
  expect(agents(run.steps)).toEqual(['front', 'front', 'writer']);
});

test('3. that what the system gives is in the next prompt and in the answer is not so here', async () => {
  const script = turns(call('lookup', { q: 'x' }), route('writer'), respond({ answer: 'done' }));
  const played = await fixture.play('desk', script, { systemParams });
  expect(played.run.calls[0]!.output).toEqual({ echo: { q: 'x', tenant: '[secret tenant]' } });
  expect(played.run.calls[0]!.arguments).toEqual({ q: 'x' });
  expect(JSON.stringify(played)).not.toContain(systemParams.tenant);
});

test('4. that a network loses contract, policy and metadata on its way through a file is not so here', async () => {
  const file = await fixture.done<NetworkFile>('GET', '/v1/networks/desk/versions/1/export');
  const { id } = await fixture.done<{ id: string }>('POST', '/v1/networks/import', {
    ...file,
    name: 'Other',
  });
  await fixture.done('POST', `/v1/networks/${id}/publish`, {});
  const again = await fixture.done<NetworkFile>('GET', `/v1/networks/${id}/versions/1/export`);
  expect({ ...again.snapshot, name: 'Desk' }).toEqual(file.snapshot);
  expect({ ...again.definition, name: 'Desk' }).toEqual(file.definition);
  expect(file.definition).toMatchObject({
    description: 'For whoever asks.',
    policy: { maxSteps: 5, retries: 4, tokens: 9_999 },
    response: { guidance: 'Be short.', example: { answer: 'Yes.' } },
    metadata: { team: 'blue' },
  });
});

test('5. that the contract of an answer is only a text in the prompt is not so here', async () => {
  const script = turns(route('writer'), respond({ answer: 5 }), respond({}), respond({ answer: 'done' }));
  const { invoked, events } = await fixture.play('desk', script);
  expect(invoked).toMatchObject({ status: 'completed', response: { answer: 'done' } });
  const codes = events.filter(({ type }) => type === 'decision.refused').map(({ data }) => data!.code);
  expect(codes).toEqual(['response_invalid', 'response_invalid']);
});

test('6. that what should happen at the last step never does is not so here: the run ends, with its code and without an answer', async () => {
  const ever = call('lookup', { q: 'again' });
  const given = { ...systemParams, network: { force_respond: true } };
  expect(await fixture.refused('POST', '/v1/networks/desk/invoke', { input: 'x', systemParams: given })).toBe(
    'unknown_system_param',
  );
  const { invoked, run, shown } = await fixture.play('desk', turns(ever), { systemParams });
  expect(invoked).toMatchObject({ status: 'failed', response: null, error: { code: 'step_limit' } });
  expect([shown.length, run.calls.length]).toEqual([5, 5]);
});

test('7. that a broken JSON Schema turns checks off is not so here: it is refused, and where it got in the run fails', async () => {
  const broken = { type: 'object', properties: { q: { type: 'nonsense' } } };
  const tool = { name: 'broken', kind: 'echo' };
  expect(await fixture.refused('POST', '/v1/tools', { ...tool, inputSchema: broken })).toBe(
    'tool_schema_invalid',
  );
  const params = [{ name: 'q', source: 'agent', schema: { type: 'nonsense' } }];
  expect(await fixture.refused('POST', '/v1/tools', { ...tool, params })).toBe('tool_invalid');
  const tools = [{ key: 'lookup', params }];
  expect(await fixture.refused('PUT', '/v1/networks/desk/tools', { tools })).toBe('tool_schema_invalid');

  const { rows } = await fixture.server.db.pool.query('select id from troupe.projects');
  const agent = { key: 'front', prompt: 'I am front.', allowRespond: true, tools: ['broken'] };
  const sneaked = (response: JsonObject) =>
    compiled(
      { name: `Sneaked ${Object.keys(response)}`, response, tools: [{ key: 'broken' }], agents: [agent] },
      {
        broken: { inputSchema: broken },
      },
    );
  const within = await publish(fixture.server.db, rows[0].id, sneaked({}));
  const called = await fixture.play(within.id, turns(call('broken', { q: 1 })));
  expect(called.run).toMatchObject({ status: 'failed', error: { code: 'broken_schema' }, calls: [] });
  const contract = await publish(fixture.server.db, rows[0].id, sneaked({ schema: broken }));
  const answered = await fixture.play(contract.id, turns(respond({ q: 1 })));
  expect(answered.invoked).toMatchObject({
    status: 'failed',
    response: null,
    error: { code: 'contract_broken' },
  });
});

test('9. that an http tool reaches what is inside, and that the name of a secret is a path, is not so here', async () => {
  const inside = ['http://169.254.169.254/latest/meta-data', 'http://127.0.0.1:1/', 'http://[::1]:1/'];
  const keys = ['metadata', 'loopback', 'loopback6'];
  for (const [n, url] of inside.entries()) {
    const { status } = await fixture.ask('POST', '/v1/tools', {
      name: keys[n],
      kind: 'http',
      request: { url },
    });
    expect([url, status]).toEqual([url, 201]);
  }
  const id = await fixture.network({
    name: 'Inside',
    tools: keys.map((key) => ({ key })),
    agents: [{ key: 'front', prompt: 'I am front.', allowRespond: true, tools: keys }],
  });
  const { run } = await fixture.play(
    id,
    turns({ calls: keys.map((name) => ({ name, arguments: {} })) }, respond('tried')),
  );
  expect(run.calls.map(({ status, error }) => [status, error?.code])).toEqual(
    keys.map(() => ['failed', 'address_forbidden']),
  );
  for (const name of ['../../etc/passwd', '..%2F..%2Fetc%2Fpasswd', 'a/b', '/etc/passwd']) {
    const url = `https://example.com/{{secrets.${name}}}`;
    const request = { name: 'traversing', kind: 'http', request: { url } };
    expect((await fixture.ask('POST', '/v1/tools', request)).status, name).toBe(422);
    const put = await fixture.ask('PUT', `/v1/secrets/${encodeURIComponent(name)}`, { value: 'x' });
    expect([404, 422], name).toContain(put.status);
  }
});

const ELSEWHERE: [defect: string, file: string, title: string][] = [
  ['3. in rows, logs and exports too', 'networks/hidden.test.ts', 'in no answer, prompt, log, metric or row'],
  [
    '8. there is no policy of retries',
    'networks/policy.test.ts',
    'retries: as many refusals in a row as it says',
  ],
  [
    '8. there is no backoff',
    'networks/policy.test.ts',
    'modelTries and retryBackoffMs: how often a model is asked',
  ],
  [
    '8. there are no events of steps',
    'networks/run.test.ts',
    'to hand over for ever: the steps come to an end',
  ],
  [
    '9. everything is open to everybody',
    'access/every-endpoint.test.ts',
    'without a key, with a wrong one or with a token nobody signed: 401 everywhere, and nothing is stored',
  ],
  [
    '9. a tool is led inside by a redirect',
    'outgoing/bypass.test.ts',
    'whoever redirects to any of these is not followed there',
  ],
];

test.each(ELSEWHERE)('%s: not so here, as another test shows', (_defect, file, title) => {
  const source = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  const before = source.split(title)[0]!;
  expect(before.length, `${file} has no test “${title}”`).toBeLessThan(source.length);
  expect(before).toMatch(/(?:test|it)\(\s*['"`]$/);
});
