import { z } from 'zod';
import {
  id,
  inAddress,
  isFree,
  listQuery,
  metadata,
  oneLine,
  page,
  timestamp,
  wholeNumber,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { entityType } from './entities.ts';
import { event, eventQuery, spaceEventFrames } from './events.ts';
import { json } from './json.ts';
import { messageQuery, saidContent, textContent } from './messages.ts';
import { run, runStatus } from './runs.ts';

export const spacePolicy = z.enum(['all', 'mentions', 'humans']);
export type SpacePolicy = z.infer<typeof spacePolicy>;
export const memberRole = z.enum(['admin', 'member']);
export type MemberRole = z.infer<typeof memberRole>;
export const ordering = z.enum(['parallel', 'serial']);
export type Ordering = z.infer<typeof ordering>;

const spaceName = z.string().trim().min(1).max(200).regex(oneLine);
const policyMeaning =
  'Which agents a message starts: `all` others, those that it `mentions` as @name (in a space of two: the other), or all, but started by `humans` only.';
const user = z.string().min(1).max(500).regex(oneLine).refine(isFree, 'is reserved');

const limits = {
  chainDepth: z
    .number()
    .int()
    .min(1)
    .max(100)
    .describe('How many agents may start one another in a row after what a person said.'),
  agentRuns: z
    .number()
    .int()
    .min(0)
    .max(1000)
    .describe('How many runs agents may start in all after one message of a person.'),
};

export const space = z.object({
  id,
  name: spaceName.nullable(),
  description: z.string().nullable(),
  policy: spacePolicy.describe(policyMeaning),
  limits: z.object(limits),
  metadata,
  memberCount: z.number().int(),
  lastSequence: z.number().int().describe('Of its last message.'),
  lastActivityAt: timestamp,
  membership: z
    .object({ role: memberRole, lastSeenMessageId: id.nullable(), unread: z.number().int() })
    .nullable()
    .describe('Of the person who asks; null where a key does.'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Space = z.infer<typeof space>;

export const membership = z.object({
  spaceId: id,
  entityId: id,
  type: entityType,
  name: z.string().nullable(),
  agentId: id.nullable(),
  role: memberRole.describe('An `admin` may change the space and its members.'),
  ordering: ordering.describe(
    'Of an agent. `parallel`: every message starts a run at once. `serial`: one run at a time, and what is said meanwhile is for the next one.',
  ),
  lastSeenMessageId: id.nullable().describe('Of a person: how far they have read.'),
  lastProcessedMessageId: id
    .nullable()
    .describe('Of an agent: up to where its completed runs were shown everything since it joined.'),
  joinedAt: timestamp,
});
export type Membership = z.infer<typeof membership>;

/** One of the three says who. */
const memberFields = {
  entityId: id.optional(),
  agentId: id.optional(),
  user: user
    .describe('A person, by their name in the system of the caller; registered where unknown.')
    .optional(),
  role: memberRole.default('member'),
  ordering: ordering.default('parallel'),
};
const namesOne = (given: { entityId?: unknown; agentId?: unknown; user?: unknown }) =>
  [given.entityId, given.agentId, given.user].filter((one) => one !== undefined).length === 1;
export const newMember = z
  .strictObject(memberFields)
  .refine(namesOne, 'names one of entityId, agentId and user')
  .meta({ examples: [{ user: 'ada', role: 'admin' }] });
export type NewMember = z.infer<typeof newMember>;

export const newSpace = z.strictObject({
  name: spaceName.nullable().default(null),
  description: z.string().max(10_000).nullable().default(null),
  policy: spacePolicy.describe(policyMeaning).default('all'),
  limits: z
    .strictObject({ chainDepth: limits.chainDepth.default(8), agentRuns: limits.agentRuns.default(50) })
    .prefault({}),
  members: z.array(newMember).max(1000).default([]),
  metadata: metadata.default({}),
});
export type NewSpace = z.infer<typeof newSpace>;

export const spacePatch = z.strictObject({
  name: spaceName.nullable().optional(),
  description: z.string().max(10_000).nullable().optional(),
  policy: spacePolicy.optional(),
  limits: z
    .strictObject({ chainDepth: limits.chainDepth.optional(), agentRuns: limits.agentRuns.optional() })
    .optional(),
  metadata: metadata.nullable().optional(),
});
export type SpacePatch = z.infer<typeof spacePatch>;

/** A call of a visible tool, as the space sees it. */
export const shownTool = z.object({
  callId: z.string(),
  name: z.string(),
  status: z.enum(['running', 'requires_action', 'complete', 'error']),
  arguments: json.describe('Absent where the tool does not show them.').optional(),
  result: json.describe('Absent where there is none yet, or the tool does not show it.').optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  customUI: z.string().describe('Which component shows it.').optional(),
});
export type ShownTool = z.infer<typeof shownTool>;

export const spaceMessage = z.object({
  id,
  spaceId: id,
  sequence: z.number().int().positive().describe('Its number in the space, without gaps.'),
  role: z
    .enum(['user', 'assistant', 'tool_call', 'system'])
    .describe(
      '`user`: a person. `assistant`: an agent. `tool_call`: a visible tool of an agent, which changes as it goes on.',
    ),
  senderId: id.nullable(),
  senderName: z.string().nullable(),
  senderType: entityType.nullable(),
  content: textContent,
  tool: shownTool.nullable().describe('For the role `tool_call`.'),
  runId: id.nullable().describe('The run that said it; null for a person.'),
  metadata: metadata.describe(
    'Of an agent: `runContext` tells why it was said; to a person only what this space knows of that.',
  ),
  createdAt: timestamp,
});
export type SpaceMessage = z.infer<typeof spaceMessage>;

export const newSpaceMessage = z.strictObject({
  id: id.describe('Chosen by the caller, so that sending it again stores it once.').optional(),
  content: saidContent,
  senderId: id
    .describe('Who says it; only a key may say so, and must, unless it names the `user`.')
    .optional(),
  user: user.describe('Who says it, by their name in the system of the caller.').optional(),
  mentions: z.array(id).max(100).describe('Entities that it names, beside those named as @name.').default([]),
  startsRuns: z.boolean().describe('False: it is stored, and starts nobody.').default(true),
  metadata: metadata.default({}),
});

export const postedSpaceMessage = spaceMessage.extend({
  runs: z
    .array(z.object({ id, entityId: id, outcome: z.enum(['started', 'folded', 'replied']) }))
    .describe(
      '`started`: a run of its own. `folded`: for a run that has yet to begin. `replied`: the run waited for it and goes on.',
    ),
  duplicate: z.boolean().describe('It was there already, and nothing was done.'),
});
export type PostedSpaceMessage = z.infer<typeof postedSpaceMessage>;

const spaceParams = z.object({ spaceId: id });
const memberParams = z.object({ spaceId: id, entityId: id });
const base = '/v1/spaces';

export const spaceEndpoints = {
  create: endpoint({
    method: 'POST',
    path: base,
    tag: 'spaces',
    summary: 'Make a space',
    scope: 'spaces:write',
    body: newSpace,
    status: 201,
    response: space,
    problems: ['entity_not_found', 'agent_not_found'],
  }),
  list: endpoint({
    method: 'GET',
    path: base,
    tag: 'spaces',
    summary: 'Spaces, newest first; a person sees those they are in',
    scope: 'spaces:read',
    user: true,
    query: listQuery.extend({ entityId: id.describe('Those that it is a member of.').optional() }),
    status: 200,
    response: page(space),
  }),
  get: endpoint({
    method: 'GET',
    path: `${base}/{spaceId}`,
    tag: 'spaces',
    summary: 'One space',
    scope: 'spaces:read',
    user: true,
    params: spaceParams,
    status: 200,
    response: space,
  }),
  update: endpoint({
    method: 'PATCH',
    path: `${base}/{spaceId}`,
    tag: 'spaces',
    summary: 'Change a space; fields that are left out stay, null clears',
    scope: 'spaces:write',
    user: true,
    params: spaceParams,
    body: spacePatch,
    status: 200,
    response: space,
    problems: ['not_an_admin'],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: `${base}/{spaceId}`,
    tag: 'spaces',
    summary: 'Delete a space with all that was said in it',
    description:
      'Runs that began or speak there and have not ended are canceled; what they did stays with them.',
    scope: 'spaces:write',
    params: spaceParams,
    status: 204,
    problems: ['space_busy'],
  }),
  members: endpoint({
    method: 'GET',
    path: `${base}/{spaceId}/members`,
    tag: 'spaces',
    summary: 'Members, in the order in which they joined',
    scope: 'spaces:read',
    user: true,
    params: spaceParams,
    query: listQuery.extend({ type: entityType.optional() }),
    status: 200,
    response: page(membership),
  }),
  addMember: endpoint({
    method: 'POST',
    path: `${base}/{spaceId}/members`,
    tag: 'spaces',
    summary: 'Add a member, or change the role and the ordering of one',
    scope: 'spaces:write',
    user: true,
    params: spaceParams,
    body: newMember,
    status: 200,
    response: membership,
    problems: ['entity_not_found', 'agent_not_found', 'not_an_admin'],
  }),
  removeMember: endpoint({
    method: 'DELETE',
    path: `${base}/{spaceId}/members/{entityId}`,
    tag: 'spaces',
    summary: 'Remove a member; a person may leave by themselves',
    description: 'What it said stays. Runs of an agent that speak there can do so no longer.',
    scope: 'spaces:write',
    user: true,
    params: memberParams,
    status: 204,
    problems: ['not_an_admin'],
  }),
  messages: endpoint({
    method: 'GET',
    path: `${base}/{spaceId}/messages`,
    tag: 'spaces',
    summary: 'What was said, in its order',
    description:
      'With `after` the next ones, with `before` the last ones before it, without either the last ones.',
    scope: 'spaces:read',
    user: true,
    params: spaceParams,
    query: messageQuery.extend({
      search: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .describe('Only those whose text contains this, whatever the case.')
        .optional(),
      limit: inAddress(wholeNumber.min(1).max(1000)).prefault(50),
    }),
    status: 200,
    response: z.object({
      data: z.array(spaceMessage),
      lastSequence: z.number().int().nonnegative(),
      hasMore: z.boolean().describe('Whether there are more in the direction that was asked for.'),
    }),
  }),
  message: endpoint({
    method: 'GET',
    path: `${base}/{spaceId}/messages/{messageId}`,
    tag: 'spaces',
    summary: 'One message',
    scope: 'spaces:read',
    user: true,
    params: z.object({ spaceId: id, messageId: id }),
    status: 200,
    response: spaceMessage,
  }),
  post: endpoint({
    method: 'POST',
    path: `${base}/{spaceId}/messages`,
    tag: 'spaces',
    summary: 'Say something in a space',
    description:
      'The message and the runs that it starts are stored as one; the answer does not wait for them.',
    scope: 'spaces:write',
    user: true,
    params: spaceParams,
    body: newSpaceMessage,
    status: 201,
    response: postedSpaceMessage,
    problems: ['not_a_member', 'sender_missing', 'message_id_taken', 'entity_not_found'],
  }),
  read: endpoint({
    method: 'POST',
    path: `${base}/{spaceId}/read`,
    tag: 'spaces',
    summary: 'Say how far a person has read; it never goes back',
    scope: 'spaces:write',
    user: true,
    params: spaceParams,
    body: z.strictObject({
      messageId: id,
      entityId: id.describe('Who has read; only a key may say so, and must.').optional(),
    }),
    status: 200,
    response: z.object({ lastSeenMessageId: id, unread: z.number().int() }),
    problems: ['not_a_member', 'not_a_person', 'message_not_found', 'sender_missing'],
  }),
  typing: endpoint({
    method: 'POST',
    path: `${base}/{spaceId}/typing`,
    tag: 'spaces',
    summary: 'Say that a person is typing, or has stopped; not stored',
    scope: 'spaces:write',
    user: true,
    params: spaceParams,
    body: z.strictObject({
      typing: z.boolean().default(true),
      entityId: id.describe('Who; only a key may say so, and must.').optional(),
    }),
    status: 204,
    problems: ['not_a_member', 'not_a_person', 'sender_missing'],
  }),
  runs: endpoint({
    method: 'GET',
    path: `${base}/{spaceId}/runs`,
    tag: 'spaces',
    summary: 'Runs that messages of the space started, newest first',
    scope: 'spaces:read',
    user: true,
    params: spaceParams,
    query: listQuery.extend({ status: runStatus.optional(), entityId: id.optional() }),
    status: 200,
    response: page(run),
  }),
  events: endpoint({
    method: 'GET',
    path: `${base}/{spaceId}/events`,
    tag: 'spaces',
    summary: 'What happens in a space: as a list, or live with Accept: text/event-stream',
    description:
      'Messages, visible tools, what becomes of runs, who is active, joins, read markers. Live, also what agents are about to say (`message.delta` with `streamId`, which is the id that the message will have) and who is typing. `connected` tells who is active and what waits for an answer.',
    scope: 'spaces:read',
    user: true,
    params: spaceParams,
    query: eventQuery,
    status: 200,
    response: z.object({ data: z.array(event), lastSequence: z.number().int().nonnegative() }),
    frames: spaceEventFrames,
  }),
} as const;
