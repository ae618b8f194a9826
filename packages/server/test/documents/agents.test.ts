import type { Agent, AgentPreview, AgentVersion, Run, Session, Tool, ToolCall } from '@troupe/protocol';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import document from './agents.json' with { type: 'json' };

let server: TestServer;
beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      return last.role === 'user' ? { calls: JSON.parse(last.text) } : { text: 'done' };
    },
  });
});
afterAll(() => server.close());

async function ask<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : null) as Body };
}
async function done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask<Body>(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function outputOf(agent: Agent, tool: string): Promise<unknown> {
  const { id } = await done<Session>('POST', `/v1/agents/${agent.id}/sessions`, {});
  const text = JSON.stringify([{ id: 'c', name: tool, arguments: {} }]);
  const { run } = await done<{ run: Run }>('POST', `/v1/agents/${agent.id}/sessions/${id}/messages`, {
    content: { text },
  });
  const ended = await until('the run has ended', async () => {
    const found = await done<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run.id}`);
    return found.status === 'completed' ? found : null;
  });
  return ended.calls[0]!.output;
}
const says = (name: string, output: string) => ({ name, kind: 'static', output });
const toolsOf = async (agent: Agent) =>
  (await done<{ data: Tool[] }>('GET', `/v1/tools?agentId=${agent.id}`)).data;

test('000: the tools inside the config JSON of an agent become tools of this agent', async () => {
  const agent = await done<Agent>('POST', '/v1/agents', document);
  expect(agent).toMatchObject({
    name: 'Weather desk',
    tools: ['fetchWeather'],
    inlineTools: [
      {
        name: 'fetchWeather',
        kind: 'http',
        visible: true,
        timeoutMs: 10_000,
        request: { url: 'https://weather.example.com/current?city={{input.city}}', method: 'GET' },
      },
    ],
  });
  expect(await toolsOf(agent)).toMatchObject([{ name: 'fetchWeather', agentId: agent.id, version: 1 }]);
  const preview = await done<AgentPreview>('GET', `/v1/agents/${agent.id}/preview`);
  expect(preview.tools).toMatchObject([{ name: 'fetchWeather', inputSchema: { required: ['city'] } }]);
});

test('000: the name of an inline tool is unique within its agent and overrides a tool of the project', async () => {
  await done('POST', '/v1/tools', says('greet', 'of the project'));
  const one = await done<Agent>('POST', '/v1/agents', { name: 'One', tools: [says('greet', 'of one')] });
  const two = await done<Agent>('POST', '/v1/agents', { name: 'Two', tools: [says('greet', 'of two')] });
  const plain = await done<Agent>('POST', '/v1/agents', { name: 'Plain', tools: ['greet'] });
  expect(await outputOf(one, 'greet')).toBe('of one');
  expect(await outputOf(two, 'greet')).toBe('of two');
  expect(await outputOf(plain, 'greet')).toBe('of the project');
  const listed = await done<{ data: Tool[] }>('GET', '/v1/tools?name=greet');
  expect(listed.data).toMatchObject([{ agentId: null, output: 'of the project' }]);
});

test('000: an inline tool changes with the versions of its agent', async () => {
  const agent = await done<Agent>('POST', '/v1/agents', {
    name: 'Versioned',
    tools: [says('first', 'one'), says('second', 'two')],
  });
  const path = `/v1/agents/${agent.id}`;
  const changed = await done<Agent>('PATCH', path, { inlineTools: [says('first', 'changed')] });
  expect(changed).toMatchObject({
    version: 2,
    tools: ['first', 'second'],
    inlineTools: [{ output: 'changed' }, { output: 'two' }],
  });
  expect(await outputOf(agent, 'first')).toBe('changed');
  const fewer = await done<Agent>('PATCH', path, { tools: ['first'] });
  expect(fewer).toMatchObject({ version: 3, inlineTools: [{ name: 'first' }] });
  expect(await toolsOf(agent)).toMatchObject([{ name: 'first', version: 2 }]);

  const back = await done<Agent>('POST', `${path}/rollback`, { version: 1 });
  expect(back).toMatchObject({ version: 4, tools: ['first', 'second'], inlineTools: agent.inlineTools });
  expect(await outputOf(agent, 'first')).toBe('one');
  expect(await outputOf(agent, 'second')).toBe('two');
  const { data } = await done<{ data: AgentVersion[] }>('GET', `${path}/versions`);
  expect(data.map(({ definition }) => definition.inlineTools.map(({ output }) => output))).toEqual([
    ['one', 'two'],
    ['changed'],
    ['changed', 'two'],
    ['one', 'two'],
  ]);
});

test('000: the same agent applied twice makes no new version, and its file has its tools', async () => {
  const body = { name: 'Twice', tools: [says('greet', 'hello'), 'greet2'], systemPrompt: 'Greet.' };
  await done('POST', '/v1/tools', says('greet2', 'hi'));
  const agent = await done<Agent>('POST', '/v1/agents/import', body);
  expect(await done<Agent>('POST', '/v1/agents/import', body)).toMatchObject({ version: 1 });
  const file = await done<object>('GET', `/v1/agents/${agent.id}/export?format=json`);
  expect(await done<Agent>('POST', '/v1/agents/import', file)).toEqual(agent);
  expect(await done<Agent>('PATCH', `/v1/agents/${agent.id}`, { inlineTools: agent.inlineTools })).toEqual(
    agent,
  );
});

test('000: an inline tool can only be changed through its agent', async () => {
  const agent = await done<Agent>('POST', '/v1/agents', { name: 'Owner', tools: [says('owned', 'mine')] });
  const [tool] = await toolsOf(agent);
  const changed = await ask<{ code: string }>('PATCH', `/v1/tools/${tool!.id}`, { output: 'other' });
  expect(changed).toMatchObject({ status: 409, body: { code: 'tool_of_agent' } });
  expect(await ask('DELETE', `/v1/tools/${tool!.id}`)).toMatchObject({ status: 409 });
  expect(await done('POST', `/v1/tools/${tool!.id}/try`, {})).toMatchObject({ ok: true, output: 'mine' });
  const other = await ask<{ code: string }>('POST', '/v1/agents', { name: 'Thief', tools: ['owned'] });
  expect(other).toMatchObject({ status: 422, body: { code: 'tool_not_found' } });
  const network = { name: 'thieves', tools: [{ key: 'owned' }] };
  expect(await ask('POST', '/v1/networks', network)).toMatchObject({ body: { code: 'tool_not_found' } });
});

test('000: an inline tool that cannot be used is refused with the field that is wrong', async () => {
  const wrong = async (...tools: object[]) => {
    const { status, body } = await ask<{ code: string; issues: { path: string }[] }>('POST', '/v1/agents', {
      name: 'Wrong',
      tools,
    });
    return [status, body.code, body.issues.map(({ path }) => path)];
  };
  expect(await wrong({ name: 'far', kind: 'http', request: { url: 'ftp://example.com' } })).toEqual([
    422,
    'tool_invalid',
    ['inlineTools.0.request.url'],
  ]);
  expect(await wrong(says('same', 'a'), says('Same', 'b'))).toEqual([
    422,
    'tool_taken',
    ['inlineTools.1.name'],
  ]);
  expect(await wrong({ name: 'odd', kind: 'echo', displayTool: true })).toEqual([
    422,
    'invalid_request',
    ['inlineTools.0'],
  ]);
  expect(await wrong(says('send_message', 'a'))).toEqual([422, 'tool_taken', ['tools.0']]);
});
