import { z } from 'zod';
import { id, inAddress, isFree, oneLine, wholeNumber } from './common.ts';
import { endpoint, type FrameKind, type Scope } from './endpoint.ts';
import { jsonObject } from './json.ts';
import { busyPolicy, messageRole } from './messages.ts';
import { cancelReason, runStatus } from './runs.ts';
import { memberRole, ordering, spacePolicy } from './spaces.ts';
import { openAiCalls, subAgentStatus, taskStatus } from './tasks.ts';

// What a program copies of a Troupe and keeps up to date, also while it is offline: collections of documents. Documents are flat, times are in
// milliseconds, and what is not there is left out. The database makes them (packages/server/src/store/functions/sync); here is what they are.

export const collection = z.enum([
  'tasks',
  'sub_agents',
  'sub_agent_messages',
  'sub_agent_tool_calls',
  'sessions',
  'messages',
  'spaces',
  'memberships',
  'runs',
]);
export type Collection = z.infer<typeof collection>;

const key = z.string();
const milliseconds = z.number();
const anything = z.any();
const object = z.record(z.string(), z.any());

const documents = {
  tasks: z.object({
    id: key,
    userId: key,
    chatId: key,
    type: z.enum(['agent', 'tool']),
    name: z.string(),
    instruction: z.string(),
    args: anything.optional(),
    subAgentId: key.optional(),
    triggerMessageId: key,
    status: taskStatus,
    result: z.string().optional(),
    error: z.string().optional(),
    code: z.string().optional(),
    question: z.string().optional(),
    background: z.boolean().optional(),
    depth: z.number().optional(),
    parentTaskId: key.optional(),
    parentRunId: key.optional(),
    runId: key.optional(),
    createdAt: milliseconds,
    updatedAt: milliseconds,
  }),
  sub_agents: z.object({
    id: key,
    userId: key,
    chatId: key,
    taskId: key,
    agentId: key.optional(),
    role: z.string(),
    status: subAgentStatus,
    iterationCount: z.number(),
    summary: z.string().optional(),
    createdAt: milliseconds,
    updatedAt: milliseconds,
  }),
  sub_agent_messages: z.object({
    id: key,
    userId: key,
    chatId: key,
    subAgentId: key,
    sequence: z.number(),
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: z.string(),
    toolCallId: z.string().optional(),
    toolCalls: openAiCalls.optional(),
    name: z.string().optional(),
    createdAt: milliseconds,
  }),
  sub_agent_tool_calls: z.object({
    id: key,
    userId: key,
    chatId: key,
    subAgentId: key,
    runId: key.optional(),
    callId: z.string().optional(),
    step: z.number().optional(),
    toolName: z.string(),
    args: anything,
    status: z.enum(['pending', 'success', 'failed']),
    result: z.string().optional(),
    error: z.string().optional(),
    createdAt: milliseconds,
  }),
  sessions: z.object({
    id: key,
    userId: key.optional(),
    agentId: key,
    title: z.string().optional(),
    tags: z.array(z.string()).optional(),
    modelId: key.optional(),
    policy: busyPolicy.optional(),
    metadata: object.optional(),
    createdAt: milliseconds,
    updatedAt: milliseconds.optional(),
  }),
  messages: z.object({
    id: key,
    userId: key.optional(),
    chatId: key,
    sequence: z.number().optional(),
    role: messageRole,
    content: z.string(),
    parts: z.array(anything).optional(),
    toolCallId: z.string().optional(),
    name: z.string().optional(),
    arguments: anything.optional(),
    tool: object.optional(),
    error: object.optional(),
    senderId: key.optional(),
    runId: key.optional(),
    step: z.number().optional(),
    metadata: object.optional(),
    createdAt: milliseconds,
  }),
  spaces: z.object({
    id: key,
    name: z.string().optional(),
    description: z.string().optional(),
    policy: spacePolicy,
    chainDepth: z.number(),
    agentRuns: z.number(),
    metadata: object,
    createdAt: milliseconds,
    updatedAt: milliseconds,
  }),
  memberships: z.object({
    id: key,
    spaceId: key,
    entityId: key,
    type: z.enum(['human', 'agent']).optional(),
    name: z.string().optional(),
    agentId: key.optional(),
    role: memberRole,
    ordering,
    lastSeenMessageId: key.optional(),
    lastProcessedMessageId: key.optional(),
    joinedAt: milliseconds,
  }),
  runs: z.object({
    id: key,
    door: z.string(),
    agentId: key.optional(),
    entityId: key.optional(),
    sessionId: key.optional(),
    spaceId: key.optional(),
    activeSpaceId: key.optional(),
    networkId: key.optional(),
    taskId: key.optional(),
    status: runStatus,
    step: z.number(),
    triggerType: z.string(),
    triggerMessageId: key.optional(),
    chainDepth: z.number(),
    parentRunId: key.optional(),
    absorbedBy: key.optional(),
    cancelReason: cancelReason.optional(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    cost: z.number(),
    outcome: anything.optional(),
    error: z.string().optional(),
    code: z.string().optional(),
    createdAt: milliseconds,
    startedAt: milliseconds.optional(),
    completedAt: milliseconds.optional(),
    canceledAt: milliseconds.optional(),
  }),
} as const satisfies Record<Collection, z.ZodObject>;

export const syncDocuments = documents;
export type SyncDocument<Of extends Collection = Collection> = z.infer<(typeof documents)[Of]>;
export type WithDeleted<Document> = Document & { _deleted: boolean };

/** What clients look for, and in which order. RxDB has no index on a field that a document may lack: these are empty then. */
const indexes: Record<Collection, (string | string[])[]> = {
  tasks: ['chatId', 'userId', 'triggerMessageId', 'createdAt'],
  sub_agents: ['userId', 'taskId', 'chatId'],
  sub_agent_messages: ['userId', 'subAgentId', 'createdAt', ['subAgentId', 'sequence']],
  sub_agent_tool_calls: ['userId', 'subAgentId'],
  sessions: ['createdAt'],
  messages: ['chatId', 'createdAt', ['chatId', 'createdAt']],
  spaces: ['createdAt'],
  memberships: ['spaceId', 'entityId'],
  runs: ['status', 'createdAt'],
};

/** A JSON Schema as RxDB takes it. */
export interface SyncSchema {
  title: Collection;
  version: number;
  primaryKey: 'id';
  type: 'object';
  properties: Record<string, Record<string, unknown>>;
  required: string[];
  indexes: (string | string[])[];
}

/** Two ids, as the key of a membership has. */
const LONGEST_KEY = 80;
/** Times in milliseconds until the year 2286, and anything that is counted. */
const LARGEST = 9_999_999_999_999;

const made = new Map<Collection, SyncSchema>();
function schemaOf(name: Collection): SyncSchema {
  const known = made.get(name);
  if (known) return known;
  const schema = makeSchema(name);
  made.set(name, schema);
  return schema;
}

function makeSchema(name: Collection): SyncSchema {
  const shape = documents[name].shape as Record<string, z.ZodType>;
  const indexed = new Set(indexes[name].flat());
  const properties: SyncSchema['properties'] = {};
  const required: string[] = [];
  for (const [field, type] of Object.entries(shape)) {
    const optional = type instanceof z.ZodOptional;
    const {
      $schema: _,
      propertyNames: __,
      ...described
    } = z.toJSONSchema(optional ? (type.unwrap() as z.ZodType) : type, {
      target: 'draft-7',
      io: 'input',
    }) as Record<string, unknown>;
    const limits =
      field === 'id' || (indexed.has(field) && described.type === 'string')
        ? { maxLength: LONGEST_KEY }
        : indexed.has(field)
          ? { minimum: 0, maximum: LARGEST, multipleOf: 1 }
          : {};
    properties[field] = { ...described, ...limits };
    if (!optional) required.push(field);
  }
  return {
    title: name,
    version: 0,
    primaryKey: 'id',
    type: 'object',
    properties,
    required,
    indexes: indexes[name],
  };
}

/** As it is served at `/v1/sync/schema`. */
export function syncSchemas(): Record<Collection, SyncSchema> {
  return Object.fromEntries(
    collection.options.map((name) => [name, structuredClone(schemaOf(name))]),
  ) as Record<Collection, SyncSchema>;
}

const EMPTY: Record<string, unknown> = { string: '', number: 0, boolean: false, array: [], object: {} };

/**
 * One that is gone: its id, and nothing of what it was. Stores that check documents check these too, so what must be there is there, empty.
 */
export function tombstoneOf(
  name: Collection,
  id: string,
): { id: string; _deleted: true } & Record<string, unknown> {
  const { properties, required } = schemaOf(name);
  const fields = required.map((field) => {
    const { type, enum: words } = properties[field]! as { type?: string; enum?: unknown[] };
    return [field, words?.[0] ?? EMPTY[type ?? 'object']];
  });
  return { ...Object.fromEntries(fields), id, _deleted: true };
}

/** What a key needs beside the scope of the endpoint, so that nothing is copied that it could not read elsewhere. */
export const scopesOfCollection: Record<Collection, { read: Scope; write: Scope | null }> = {
  tasks: { read: 'runs:read', write: 'runs:write' },
  sub_agents: { read: 'runs:read', write: null },
  sub_agent_messages: { read: 'runs:read', write: null },
  sub_agent_tool_calls: { read: 'runs:read', write: null },
  sessions: { read: 'sessions:read', write: 'sessions:write' },
  messages: { read: 'sessions:read', write: 'sessions:write' },
  spaces: { read: 'spaces:read', write: null },
  memberships: { read: 'spaces:read', write: 'spaces:write' },
  runs: { read: 'runs:read', write: null },
};

// Any id: one that cannot be is refused by itself, and not with all that was sent beside it.
const document = z.looseObject({ id: z.string(), _deleted: z.boolean() });
const checkpoint = z.string().max(500).describe('Opaque. Where the reader is, for the next pull.');
const params = z.object({ collection });
const whose = {
  user: z
    .string()
    .min(1)
    .max(500)
    .regex(oneLine)
    .refine(isFree, 'is reserved')
    .describe(
      'As this person would see it, by their name in the system of the caller; only a secret key may say so.',
    )
    .optional(),
  chat: id.describe('Only what is of this session or space.').optional(),
};
const page = z.object({ documents: z.array(document), checkpoint });
const namesOfCollections = z
  .string()
  .max(500)
  .refine((given) => given.split(',').every((name) => collection.safeParse(name).success), {
    error: `must be collections, separated by commas: ${collection.options.join(', ')}`,
  })
  .describe('Collections, separated by commas.');

const frames: readonly FrameKind[] = [
  {
    name: 'SyncResync',
    event: 'resync',
    description:
      'First of all, and whenever something may have been missed: pull every collection of the stream from its last checkpoint on. What follows was changed after.',
    schema: z.object({}),
  },
  {
    name: 'SyncDocuments',
    event: 'documents',
    description: 'What has changed, as a pull would have brought it.',
    schema: page.extend({ collection }),
  },
  {
    name: 'SyncDisconnecting',
    event: 'disconnecting',
    description: 'The server stops: come back after `retryMs`.',
    schema: z.object({ retryMs: z.number() }),
  },
];

export const syncEndpoints = {
  schema: endpoint({
    method: 'GET',
    path: '/v1/sync/schema',
    tag: 'sync',
    summary: 'The collections, each with the JSON Schema that RxDB takes',
    scope: 'sessions:read',
    user: true,
    status: 200,
    response: z.object({ collections: jsonObject, writable: z.array(collection) }),
  }),
  pull: endpoint({
    method: 'GET',
    path: '/v1/sync/{collection}/pull',
    tag: 'sync',
    summary: 'Documents that changed after a checkpoint, in the order in which they did',
    description:
      'Fewer than `limit`: there are no more for now. What is gone comes with `_deleted` and its id; all else of it is empty. A checkpoint of another database, such as one from before a restore, or of another copy begins at the beginning: `restarted` says so.',
    scope: 'sessions:read',
    user: true,
    params,
    query: z.strictObject({
      checkpoint: z.string().max(500).optional(),
      limit: inAddress(wholeNumber.min(1).max(1000)).prefault(100),
      ...whose,
    }),
    status: 200,
    response: page.extend({ restarted: z.boolean() }),
    problems: ['entity_not_found', 'bad_checkpoint'],
  }),
  push: endpoint({
    method: 'POST',
    path: '/v1/sync/{collection}/push',
    tag: 'sync',
    summary:
      'Write what a client changed; answers with the documents that it conflicts with, as they are here',
    description:
      '`messages`: new ones of the role `user`, which start what they would start if they were posted. `sessions`: open, change `title`, `tags`, `modelId`, `policy` and `metadata`, delete. `memberships`: `lastSeenMessageId` of oneself. Everything else is read only. Sent twice, it is done once.',
    scope: 'sessions:write',
    user: true,
    params,
    query: z.strictObject({ user: whose.user }),
    body: z.strictObject({
      rows: z
        .array(
          z.strictObject({
            newDocumentState: document,
            assumedMasterState: z.looseObject({}).nullable().optional(),
          }),
        )
        .min(1)
        .max(200),
    }),
    bodyBytes: 10_000_000,
    status: 200,
    response: z.object({
      conflicts: z
        .array(document)
        .describe(
          'What the client has to take instead of what it sent: also what was stored, where more is known of it here. One that was refused comes back as deleted.',
        ),
      refused: z.array(z.object({ id: z.string(), code: z.string(), message: z.string() })),
    }),
    problems: ['collection_read_only', 'entity_not_found'],
  }),
  streams: endpoint({
    method: 'GET',
    path: '/v1/sync/stream',
    tag: 'sync',
    summary: 'Documents of several collections as they change, in one stream of server-sent events',
    description: 'Browsers open six connections to a server; who follows many collections needs one of them.',
    scope: 'sessions:read',
    user: true,
    query: z.strictObject({ collections: namesOfCollections, ...whose }),
    status: 200,
    responseTypes: ['text/event-stream'],
    frames,
    problems: ['entity_not_found'],
  }),
  stream: endpoint({
    method: 'GET',
    path: '/v1/sync/{collection}/stream',
    tag: 'sync',
    summary: 'Documents as they change, as server-sent events',
    scope: 'sessions:read',
    user: true,
    params,
    query: z.strictObject(whose),
    status: 200,
    responseTypes: ['text/event-stream'],
    frames,
    problems: ['entity_not_found'],
  }),
} as const;
