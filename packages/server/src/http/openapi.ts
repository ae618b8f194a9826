import { type Endpoint, endpointTags, type FrameKind } from '@troupe/protocol';
import type { z } from 'zod';
import { problemResponses, problemsOf } from './problem-responses.ts';
import { mayBeLeftOut } from './request.ts';
import { type JsonSchema, Schemas } from './schemas.ts';

type Document = Record<string, unknown>;

/** OpenAPI 3.1, made from the endpoints that are served. */
export function openApiOf(endpoints: readonly Endpoint[], { version }: { version: string }): Document {
  const schemas = new Schemas(endpoints);
  const paths: Record<string, Document> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] ??= {};
    paths[endpoint.path]![endpoint.method.toLowerCase()] = operationOf(endpoint, schemas);
  }
  const tags = [...new Set(endpoints.map((endpoint) => endpoint.tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Troupe',
      version,
      description:
        'A self-hosted runtime for agents that must not lose their place. Errors are application/problem+json with a code that never changes. Every response has a Troupe-Request-Id header; the log has errors under it. Browsers of other origins can call the API if TROUPE_ORIGINS lists the origin (CORS).',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tags.map((name) => ({ name, description: endpointTags[name] })),
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A secret key of the project.' },
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: "A person's token." },
        publicKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Troupe-Key',
          description: 'A public key of the project.',
        },
      },
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY, LastEventId: LAST_EVENT_ID },
      responses: problemResponses(),
      schemas: schemas.components,
    },
  };
}

function operationOf(endpoint: Endpoint, schemas: Schemas): Document {
  const { method, query, params, body, status, response, responseTypes = [], frames } = endpoint;
  const content = endpoint.bodyTypes ?? ['application/json'];
  return {
    operationId: operationId(endpoint),
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    ...(endpoint.user ? { security: [{ key: [] }, { token: [], publicKey: [] }] } : {}),
    'x-scope': endpoint.scope,
    parameters: [
      ...(params ? parametersOf(schemas.get(params, 'input'), 'path') : []),
      ...(query ? parametersOf(schemas.get(query, 'input'), 'query') : []),
      ...(method === 'POST' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
      ...(frames ? [{ $ref: '#/components/parameters/LastEventId' }] : []),
    ],
    ...(body
      ? {
          requestBody: {
            required: !mayBeLeftOut(body),
            content: Object.fromEntries(
              content.map((type) => [type, { schema: schemas.get(bodyAs(endpoint, type), 'input') }]),
            ),
          },
        }
      : {}),
    responses: {
      [status]: {
        description: endpoint.summary,
        ...(response || responseTypes.length > 0
          ? {
              content: {
                ...(response ? { 'application/json': { schema: schemas.get(response, 'output') } } : {}),
                ...Object.fromEntries(
                  responseTypes.map((type) => [
                    type,
                    { schema: type === 'application/json' ? ANY_JSON : { type: 'string' } },
                  ]),
                ),
                ...(frames ? { 'text/event-stream': { schema: streamOf(frames, schemas) } } : {}),
              },
            }
          : {}),
      },
      ...problemsOf(endpoint),
    },
  };
}

/** A file may come in several notations, and JSON is no text to who writes it. */
function bodyAs({ body, bodyAsJson }: Endpoint, type: string): z.ZodType {
  return type === 'application/json' && bodyAsJson ? bodyAsJson : body!;
}

const ANY_JSON = { description: 'Any JSON.' };

/** OpenAPI 3.1 has no field for the frames of a stream: `contentSchema` of JSON Schema says what the text contains. */
function streamOf(frames: readonly FrameKind[], schemas: Schemas): JsonSchema {
  return {
    type: 'string',
    description:
      'Server-sent events in UTF-8. The data of every frame is one line of JSON. Lines that start with a colon keep the connection alive.',
    contentMediaType: 'text/event-stream',
    contentSchema: {
      oneOf: frames.map(({ event, description, schema }) => ({
        type: 'object',
        description,
        properties: { event: { const: event }, data: schemas.get(schema, 'output') },
        required: ['event', 'data'],
      })),
    },
  };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Sent again with the same key, the request is done once and answered alike.',
  schema: { type: 'string', maxLength: 200 },
};

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event that was seen: the stream goes on after it. Goes before `after`.',
  schema: { type: 'string', pattern: '^\\d{1,15}$' },
};

/** `postV1AgentsAgentIdRollback`: long, and never the same for two. */
function operationId({ method, path }: Endpoint): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

function parametersOf(schema: JsonSchema, where: 'path' | 'query'): Document[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    ...(description ? { description } : {}),
    schema: property,
  }));
}
