import { networkDefinition, networkSnapshot } from '@troupe/protocol';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/base/index.ts';
import { compileNetwork } from '../../src/definitions/networks/compile.ts';
import type { ToolRow } from '../../src/store/index.ts';

const model = { provider: 'demo', model: 'demo', maxOutputTokens: 4096, inputPrice: 0, outputPrice: 0 };
const agentId = '0190a000-0000-7000-8000-000000000001';

function row(name: string, more: Partial<ToolRow> = {}): ToolRow {
  return {
    agent_id: null,
    id: `id of ${name}`,
    name,
    display_name: null,
    description: `does ${name}`,
    kind: 'static',
    input_schema: { type: 'object' },
    params: null,
    effect: 'pure',
    approval: false,
    visible: false,
    config: {},
    mcp_server: null,
    version: 1,
    created_at: new Date(0),
    updated_at: new Date(0),
    ...more,
  };
}

const schema = {
  type: 'object',
  properties: { city: { $ref: '#/$defs/city' }, days: { type: 'integer' }, token: { type: 'string' } },
  required: ['city'],
  $defs: { city: { type: 'string' } },
};
const found = {
  tools: new Map([
    ['weather', row('Weather', { input_schema: schema })],
    ['look', row('look', { input_schema: schema })],
  ]),
  models: new Map(['writer', 'reader', 'other'].map((key) => [key, [{ ...model, model: key }]])),
  prompts: new Map([[agentId, 'You are borrowed.']]),
};

const document = {
  name: 'news',
  policy: { maxSteps: 7, tokens: 100 },
  tools: [
    { key: 'weather' },
    {
      key: 'look',
      description: 'looks here',
      params: [
        { name: 'city', required: true },
        { name: 'days', default: 3, required: true },
        { name: 'token', source: 'system', required: true },
        { name: 'unit', source: 'default', defaultValue: 'C', schema: { type: 'string' } },
      ],
    },
  ],
  agents: [
    { key: 'writer', isDefault: true, routes: ['READER'], tools: ['WEATHER', 'look'], prompt: 'Write.' },
    { key: 'Reader', agentId, allowRespond: true, routes: ['writer'] },
  ],
};

const compile = (value: unknown) => compileNetwork(networkDefinition.parse(value), found);

describe('compiling a network', () => {
  test('resolves prompts, models, keys and routes', () => {
    const snapshot = compile(document);
    expect(networkSnapshot.parse(snapshot)).toEqual(snapshot);
    const { kind, name, models, limits, network } = snapshot;
    expect({ kind, name, models: models.map(({ model }) => model) }).toEqual({
      kind: 'network',
      name: 'news',
      models: ['writer'],
    });
    expect(limits).toMatchObject({ steps: 7, tokens: 100, wallMs: 86_400_000 });
    expect(network.defaultAgent).toBe('writer');
    expect(network.agents.map(({ key, prompt, models }) => [key, prompt, models[0]?.model])).toEqual([
      ['Reader', 'You are borrowed.', 'reader'],
      ['writer', 'Write.', 'writer'],
    ]);
    expect(network.adjacency).toEqual([
      { from: 'Reader', to: 'writer' },
      { from: 'writer', to: 'Reader' },
    ]);
    expect(network.validation).toEqual({
      allowedTools: { Reader: [], writer: ['look', 'Weather'] },
      allowedRoutes: { Reader: ['writer'], writer: ['Reader'] },
      canRespond: { Reader: true, writer: false },
    });
  });

  test('shows the model only what the agent gives', () => {
    const { tools, network } = compile(document);
    const [look, weather] = tools;
    expect(look).toMatchObject({ name: 'look', description: 'looks here' });
    expect(look?.inputSchema).toEqual({
      type: 'object',
      properties: { city: { $ref: '#/$defs/city' }, days: { type: 'integer', default: 3 } },
      required: ['city'],
      additionalProperties: false,
      $defs: { city: { type: 'string' } },
    });
    const params = network.tools[0]?.params;
    expect(params?.map(({ name, source, schema }) => [name, source, schema])).toEqual([
      ['city', 'agent', { $ref: '#/$defs/city' }],
      ['days', 'agent', { type: 'integer' }],
      ['token', 'system', { type: 'string' }],
      ['unit', 'default', { type: 'string' }],
    ]);
    expect(look?.config.params).toEqual(params);
    // Nobody said who gives what: the agent gives all, by the schema as it is.
    expect(weather?.inputSchema).toEqual(schema);
    expect(network.tools[1]?.params.map(({ name, required }) => [name, required])).toEqual([
      ['city', true],
      ['days', false],
      ['token', false],
    ]);
  });

  test('gives the same text for the same content, in whatever order it was written', () => {
    const text = (value: unknown) => canonicalJson(compile(value) as never);
    const turned = {
      ...document,
      tools: document.tools.toReversed(),
      agents: document.agents
        .map((agent) => ({ ...agent, tools: agent.tools?.toReversed() ?? [] }))
        .toReversed(),
    };
    expect(text(turned)).toBe(text(document));
    expect(text({ ...document, policy: { maxSteps: 8, tokens: 100 } })).not.toBe(text(document));
  });

  test('begins at the only agent where none is marked, and nowhere where there are more', () => {
    const agents = [{ key: 'other' }, { key: 'writer' }];
    expect(compile({ name: 'n', agents: agents.slice(0, 1) }).network.defaultAgent).toBe('other');
    expect(compile({ name: 'n', agents }).network.defaultAgent).toBeNull();
  });
});
