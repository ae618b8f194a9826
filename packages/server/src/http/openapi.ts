import { commonProblems, type Endpoint, type FrameKind, problem } from '@troupe/protocol';
import type { z } from 'zod';
import { mayBeLeftOut } from './request.ts';
import { schemaOf } from './schema-of.ts';

type Document = Record<string, unknown>;

/** OpenAPI 3.1, made from the endpoints that are served. */
export function openApiOf(endpoints: readonly Endpoint[], { version }: { version: string }): Document {
  const paths: Record<string, Document> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] ??= {};
    paths[endpoint.path]![endpoint.method.toLowerCase()] = operationOf(endpoint);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Troupe',
      version,
      description:
        'A self-hosted runtime for agents that must not lose their place. Refusals are application/problem+json with a code that never changes. Every answer has a number, troupe-request-id, that the log has its errors under. Pages of other origins are answered where TROUPE_ORIGINS names theirs (CORS).',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(endpoints.map((endpoint) => endpoint.tag))].map((name) => ({ name })),
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
      schemas: {
        Problem: schemaOf(problem, 'output'),
        ...Object.fromEntries(
          framesOf(endpoints).map(({ name, schema }) => [name, schemaOf(schema, 'output')]),
        ),
      },
    },
  };
}

function operationOf(endpoint: Endpoint): Document {
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
      ...(params ? parametersOf(params, 'path') : []),
      ...(query ? parametersOf(query, 'query') : []),
      ...(method === 'POST' ? [IDEMPOTENCY_KEY] : []),
      ...(frames ? [LAST_EVENT_ID] : []),
    ],
    ...(body
      ? {
          requestBody: {
            required: !mayBeLeftOut(body),
            content: Object.fromEntries(
              content.map((type) => [type, { schema: schemaOf(bodyAs(endpoint, type), 'input') }]),
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
                ...(response ? { 'application/json': { schema: schemaOf(response, 'output') } } : {}),
                ...Object.fromEntries(
                  responseTypes.map((type) => [
                    type,
                    { schema: type === 'application/json' ? ANY_JSON : { type: 'string' } },
                  ]),
                ),
                ...(frames ? { 'text/event-stream': streamOf(frames) } : {}),
              },
            }
          : {}),
      },
      default: {
        description: `A problem. Codes: ${[...Object.keys(commonProblems), ...(endpoint.problems ?? [])].join(', ')}.`,
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

/** A file may come in several notations, and JSON is no text to who writes it. */
function bodyAs({ body, bodyAsJson }: Endpoint, type: string): z.ZodType {
  return type === 'application/json' && bodyAsJson ? bodyAsJson : body!;
}

const ANY_JSON = { description: 'Any JSON.' };

/** OpenAPI 3.1 has no words for what is in a stream: the text says it for people, `x-frames` for programs. */
function streamOf(frames: readonly FrameKind[]): Document {
  const lines = frames.map(({ event, name, description }) => `- \`${event}\` (${name}): ${description}`);
  return {
    schema: {
      type: 'string',
      description: `Server-sent events, UTF-8. The data of every frame is one line of JSON; lines that begin with a colon are signs of life.\n\n${lines.join('\n')}`,
    },
    'x-frames': frames.map(({ event, name, description }) => ({
      event,
      description,
      data: { $ref: `#/components/schemas/${name}` },
    })),
  };
}

function framesOf(endpoints: readonly Endpoint[]): FrameKind[] {
  return [...new Set(endpoints.flatMap(({ frames }) => frames ?? []))];
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

function parametersOf(schema: z.ZodObject, where: 'path' | 'query'): Document[] {
  const described = schemaOf(schema, 'input') as {
    properties?: Record<string, Document>;
    required?: string[];
  };
  return Object.entries(described.properties ?? {}).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || (described.required?.includes(name) ?? false),
    ...(property.description ? { description: property.description } : {}),
    schema: property,
  }));
}
