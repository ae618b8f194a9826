import { allEndpoints, messageRole } from '@troupe/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { docsPage } from '../../src/http/docs-page.ts';
import { openApiOf } from '../../src/http/openapi.ts';

interface Body {
  description?: string;
  content?: Record<string, { schema: object; 'x-frames'?: { data: { $ref: string } }[] }>;
}

interface Operation {
  operationId: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters: { name: string; in: string; schema: object }[];
  requestBody?: Body;
  responses: Record<string, Body>;
}

const document = openApiOf(allEndpoints(), { version: '1.2.3' }) as {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
};

it('every endpoint is in the document, once, with all parameters of its path', () => {
  expect(document.openapi).toBe('3.1.0');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
  expect(operations).toHaveLength(allEndpoints().length);
  expect(new Set(operations.map((operation) => operation.operationId)).size).toBe(operations.length);
  for (const { path, parameters } of operations) {
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
  }
});

it('a file that is imported as JSON is the definition of an agent, and text otherwise', () => {
  const { content } = document.paths['/v1/agents/import']!.post!.requestBody!;
  const asJson = content!['application/json']!.schema;
  expect(asJson).toEqual(
    document.paths['/v1/agents']!.post!.requestBody!.content!['application/json']!.schema,
  );
  expect(asJson).toMatchObject({ type: 'object', required: ['name'] });
  expect(content!['text/markdown']!.schema).toMatchObject({ type: 'string' });
});

it('everything that the document refers to is in it, and nothing is there for nothing', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
  const named = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect(new Set(references)).toEqual(new Set(named));
  expect(named).toEqual(
    [
      'Problem',
      'Connected',
      'Event',
      'Delta',
      'Disconnecting',
      'Invoked',
      'Typing',
      'SyncResync',
      'SyncDocuments',
      'SyncDisconnecting',
      'ChangesResync',
      'Changed',
      'ChangesDisconnecting',
    ].map((name) => `#/components/schemas/${name}`),
  );
});

it('every operation has an answer, security that is defined, a known tag, and schemas that compile', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'troupe:document', ...document }, 'troupe:document');
  // References are to the whole document.
  const compile = (schema: object) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"troupe:document#/components/');
    return ajv.compile(JSON.parse(text));
  };
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
      for (const { schema } of operation.parameters) compile(schema);
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
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
  const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
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
    const frames = content['text/event-stream']!['x-frames']!;
    expect(frames.map(({ data }) => data.$ref.split('/').at(-1))).toEqual([
      'Connected',
      'Event',
      'Delta',
      'Disconnecting',
      ...(path.startsWith('/v1/spaces/') ? ['Typing'] : []),
    ]);
    expect(get!.parameters.map(({ name }) => name)).toContain('Last-Event-ID');
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
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(page).not.toMatch(/<script/);
});

it('says of every field that is not plain what it means, in the document and on the page', () => {
  type Schema = { properties?: Record<string, Schema & { description?: string }>; items?: Schema };
  const shown = (path: string, method: string) => document.paths[path]![method]!;
  const answer = (path: string, method = 'get') =>
    Object.entries(shown(path, method).responses).find(([code]) => code.startsWith('2'))![1].content![
      'application/json'
    ]!.schema as Schema;
  const body = (path: string, method = 'post') =>
    shown(path, method).requestBody!.content!['application/json']!.schema as Schema;
  const session = '/v1/agents/{agentId}/sessions';
  const run = answer('/v1/runs/{runId}').properties!;
  const agent = body('/v1/agents').properties!;
  const described: [Schema, string[]][] = [
    [
      answer('/v1/runs/{runId}'),
      ['step', 'attempt', 'takeovers', 'usage', 'cost', 'cancelReason', 'forkedFrom'],
    ],
    [run.steps!.items!, ['attempt', 'cost', 'finishReason']],
    [run.calls!.items!, ['effect', 'status', 'waitsFor', 'attempt', 'deadline']],
    [body('/v1/agents'), ['inDoubt', 'limits', 'defaultModelId', 'fallbackModelIds', 'capabilities']],
    [agent.limits!, Object.keys(agent.limits!.properties!)],
    [answer('/v1/agents/{agentId}/preview').properties!.limits!, ['steps', 'wallMs', 'historyMessages']],
    [body(session), ['title', 'modelId', 'policy', 'user']],
    [answer(`${session}/{sessionId}`), ['status', 'policy', 'modelId', 'entityId']],
    [body(`${session}/{sessionId}/messages`), ['id', 'policy', 'modelId', 'reasoningEffort']],
    [body('/v1/providers'), ['baseUrl', 'apiKey']],
    [body('/v1/providers/{providerId}/models'), ['inputPrice', 'outputPrice', 'contextTokens', 'isDefault']],
    [document.components.schemas.Event as Schema, ['sequence', 'type', 'data']],
    [document.components.schemas.Delta as Schema, ['type', 'offset']],
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
