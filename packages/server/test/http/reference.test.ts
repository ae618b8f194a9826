import { allEndpoints, messageRole } from '@troupe/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { docsPage } from '../../src/http/docs-page.ts';
import { openApiOf } from '../../src/http/openapi.ts';

interface Body {
  description?: string;
  content?: Record<string, { schema: Schema }>;
}

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  contentSchema?: { oneOf: { properties: { event: { const: string }; data: Schema } }[] };
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  schema: object;
}

interface Operation {
  operationId: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: Body;
  responses: Record<string, Body & { $ref?: string }>;
}

const document = openApiOf(allEndpoints(), { version: '1.2.3' }) as {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Body>;
    securitySchemes: Record<string, object>;
  };
};

/** What a reference leads to, with what stands beside it. */
function resolved<Part extends { $ref?: string }>(part: Part): Part {
  if (part.$ref === undefined) return part;
  const { $ref, ...own } = part;
  const [, , kind, name] = $ref.split('/');
  const components = document.components as unknown as Record<string, Record<string, Part>>;
  return { ...components[kind!]![name!]!, ...own };
}

/** Compiles schemas whose references lead into the document. */
function compiler() {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false });
  // By an id of their own, because ajv compiles a part of a document anew for every reference to it.
  const byId = (schema: object) =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"troupe:'));
  for (const [name, schema] of Object.entries(document.components.schemas))
    ajv.addSchema({ $id: `troupe:${name}`, ...byId(schema) });
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>();
  return (schema: object) => {
    const text = JSON.stringify(schema);
    if (!compiled.has(text)) compiled.set(text, ajv.compile(byId(schema)));
    return compiled.get(text)!;
  };
}

it('every endpoint is in the document, once, with all parameters of its path', () => {
  expect(document.openapi).toBe('3.1.0');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
  expect(operations).toHaveLength(allEndpoints().length);
  expect(new Set(operations.map((operation) => operation.operationId)).size).toBe(operations.length);
  for (const { path, parameters } of operations) {
    const inPath = parameters
      .map(resolved)
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => name);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
  }
});

it('a file that is imported as JSON is the definition of an agent, and text otherwise', () => {
  const { content } = document.paths['/v1/agents/import']!.post!.requestBody!;
  const asJson = content!['application/json']!.schema;
  expect(asJson).toEqual(
    document.paths['/v1/agents']!.post!.requestBody!.content!['application/json']!.schema,
  );
  expect(resolved(asJson)).toMatchObject({ type: 'object', required: ['name'] });
  expect(content!['text/markdown']!.schema).toMatchObject({ type: 'string' });
});

it('everything that the document refers to is in it, and nothing is there for nothing', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
  const { schemas, parameters, responses } = document.components;
  const named = Object.entries({ schemas, parameters, responses }).flatMap(([kind, components]) =>
    Object.keys(components).map((name) => `#/components/${kind}/${name}`),
  );
  expect(new Set(references)).toEqual(new Set(named));
  const frames = ['Connected', 'Event', 'Delta', 'Disconnecting', 'Invoked', 'Typing', 'SyncResync'];
  const more = ['SyncDocuments', 'SyncDisconnecting', 'ChangesResync', 'Changed', 'ChangesDisconnecting'];
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining(['Problem', 'Agent', 'Run', 'Session', 'Space', 'Network', ...frames, ...more]),
  );
});

it('names the schemas of requests and responses apart only if they differ', () => {
  const { schemas } = document.components;
  const compile = compiler();
  const response = compile(schemas.NetworkDefinition!);
  const request = compile(schemas.NetworkDefinitionInput!);
  expect([request({ name: 'x' }), response({ name: 'x' })]).toEqual([true, false]);
  for (const name of Object.keys(schemas).filter((name) => `${name}Input` in schemas))
    expect([name, schemas[`${name}Input`]]).not.toEqual([name, schemas[name]]);
  // A request that no response contains has one form, and what is alike one too.
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['NewSession', 'RunStatus']));
  expect(Object.keys(schemas)).not.toContain('NewSessionInput');
  expect(Object.keys(schemas)).not.toContain('RunStatusInput');
});

it('is at most half as large as with every schema inline', () => {
  const inline = (value: unknown): number => {
    if (value === null || typeof value !== 'object') return JSON.stringify(value).length;
    if (Array.isArray(value)) return value.reduce((sum, item) => sum + inline(item) + 1, 1);
    const { $ref, ...own } = resolved(value as Schema);
    return Object.entries(own).reduce((sum, [key, item]) => sum + key.length + 4 + inline(item), 1);
  };
  expect(JSON.stringify(document).length).toBeLessThan(inline(document.paths) / 2);
});

it('every operation has an answer, security that is defined, a known tag, and schemas that compile', {
  timeout: 60_000,
}, () => {
  const compile = compiler();
  for (const schema of Object.values(document.components.schemas)) compile(schema);
  const tags = new Set(document.tags.map(({ name }) => name));
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const operation of Object.values(methods)) {
      const codes = Object.keys(operation.responses);
      expect(codes, path).toContain('default');
      expect(
        codes.filter((code) => /^2\d\d$/.test(code)),
        path,
      ).toHaveLength(1);
      for (const tag of operation.tags) expect(tags.has(tag), tag).toBe(true);
      for (const named of (operation.security ?? []).flatMap(Object.keys))
        expect(document.components.securitySchemes).toHaveProperty(named);
      for (const { schema } of operation.parameters.map(resolved)) compile(schema);
      const bodies = [operation.requestBody, ...Object.values(operation.responses).map(resolved)];
      for (const body of bodies) {
        if (body?.description !== undefined) expect(body.description).not.toBe('');
        for (const { schema } of Object.values(body?.content ?? {})) compile(schema);
      }
    }
  }
});

it('the content of a message is described by its role', () => {
  const { schema } =
    document.paths['/v1/runs/{runId}/messages']!.get!.responses['200']!.content!['application/json']!;
  const fits = compiler()(schema);
  const message = {
    id: '01a1e2c8-cf7b-7075-9ccb-1486690d1d39',
    sessionId: null,
    sequence: 1,
    toolCallId: null,
    senderId: null,
    runId: null,
    step: null,
    metadata: {},
    createdAt: '2026-01-01T00:00:00.000Z',
  };
  const asked = { modelId: null, reasoningEffort: 'low', policy: null };
  const contents: Record<string, object> = {
    said: { text: 'x', parts: [{ type: 'text', text: 'x' }] },
    tool_call: { id: 'c', name: 'look', arguments: { at: [1] } },
    tool_result: { result: { seen: true }, error: null },
  };
  const kindOf: Record<string, string> = { user: 'said', assistant: 'said', system: 'said' };
  for (const role of messageRole.options) {
    for (const [kind, content] of Object.entries(contents)) {
      const given = {
        data: [{ ...message, ...(role === 'user' ? asked : {}), role, content }],
        lastSequence: 1,
      };
      expect([role, kind, fits(given)]).toEqual([role, kind, kind === (kindOf[role] ?? role)]);
    }
  }
});

it('files and streams say what they come as', () => {
  const exported = document.paths['/v1/agents/{agentId}/export']!.get!.responses['200']!.content!;
  expect(Object.keys(exported)).toEqual(['text/markdown', 'application/yaml', 'application/json']);
  const streams = Object.entries(document.paths).filter(([path]) => path.endsWith('/events'));
  expect(streams).toHaveLength(3);
  for (const [path, { get }] of streams) {
    const content = get!.responses['200']!.content!;
    expect(Object.keys(content)).toEqual(['application/json', 'text/event-stream']);
    const frames = content['text/event-stream']!.schema.contentSchema!.oneOf;
    expect(frames.map(({ properties }) => properties.data.$ref?.split('/').at(-1))).toEqual([
      'Connected',
      'Event',
      'Delta',
      'Disconnecting',
      ...(path.startsWith('/v1/spaces/') ? ['Typing'] : []),
    ]);
    expect(get!.parameters.map(resolved).map(({ name }) => name)).toContain('Last-Event-ID');
  }
});

it('the page names every endpoint and asks nothing of other hosts', () => {
  const page = docsPage(allEndpoints(), { version: '1.2.3' });
  for (const { path, summary } of allEndpoints()) {
    expect(page).toContain(path);
    expect(page).toContain(summary.replaceAll('"', '&quot;'));
  }
  // Shapes as people write them, and what a stream sends.
  expect(page).toContain('arguments: any JSON');
  expect(page).toContain('event: <code>disconnecting</code>');
  expect(page).toContain('<code>application/yaml</code>');
  // Every link to a schema leads to one.
  const links = [...page.matchAll(/href="#(\w+)"/g)].map((match) => match[1]!);
  expect(links.length).toBeGreaterThan(200);
  for (const link of new Set(links)) expect(page).toContain(` id="${link}"`);
  expect(page).toContain('<h3 id="Agent">Agent</h3>');
  expect(page).not.toContain('&amp;amp;');
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(page).not.toMatch(/<script/);
});

it('says of every field that is not plain what it means, in the document and on the page', () => {
  const shown = (path: string, method: string) => document.paths[path]![method]!;
  const answer = (path: string, method = 'get') => {
    const responses = Object.entries(shown(path, method).responses);
    const [, { content }] = responses.find(([code]) => code.startsWith('2'))!;
    return resolved(content!['application/json']!.schema);
  };
  const body = (path: string, method = 'post') =>
    resolved(shown(path, method).requestBody!.content!['application/json']!.schema);
  const session = '/v1/agents/{agentId}/sessions';
  const run = answer('/v1/runs/{runId}').properties!;
  const agent = body('/v1/agents').properties!;
  const described: [Schema, string[]][] = [
    [
      answer('/v1/runs/{runId}'),
      ['step', 'attempt', 'takeovers', 'usage', 'cost', 'cancelReason', 'forkedFrom'],
    ],
    [resolved(run.steps!.items!), ['attempt', 'cost', 'finishReason']],
    [resolved(run.calls!.items!), ['effect', 'status', 'waitsFor', 'attempt', 'deadline']],
    [body('/v1/agents'), ['inDoubt', 'limits', 'defaultModelId', 'fallbackModelIds', 'capabilities']],
    [resolved(agent.limits!), Object.keys(resolved(agent.limits!).properties!)],
    [
      resolved(answer('/v1/agents/{agentId}/preview').properties!.limits!),
      ['steps', 'wallMs', 'historyMessages'],
    ],
    [body(session), ['title', 'modelId', 'policy', 'user']],
    [answer(`${session}/{sessionId}`), ['status', 'policy', 'modelId', 'entityId']],
    [body(`${session}/{sessionId}/messages`), ['id', 'policy', 'modelId', 'reasoningEffort']],
    [body('/v1/providers'), ['baseUrl', 'apiKey']],
    [body('/v1/providers/{providerId}/models'), ['inputPrice', 'outputPrice', 'contextTokens', 'isDefault']],
    [document.components.schemas.Event!, ['sequence', 'type', 'data']],
    [document.components.schemas.Delta!, ['type', 'offset']],
  ];
  for (const [schema, names] of described) {
    expect(names.length).toBeGreaterThan(0);
    for (const name of names)
      expect([name, schema.properties![name]?.description]).toEqual([name, expect.any(String)]);
  }
  const types = shown(`${session}/{sessionId}/events`, 'get').parameters.find(({ name }) => name === 'types');
  expect(types).toHaveProperty('description', expect.stringContaining('run.*'));
  expect(docsPage(allEndpoints(), { version: '1.2.3' })).toContain(
    '// How often another worker had to take it over',
  );
});
