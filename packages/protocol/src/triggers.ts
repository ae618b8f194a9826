import { z } from 'zod';
import { secretName } from './access.ts';
import { baseVersion, id, listQuery, oneLine, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { json, jsonObject } from './json.ts';

// Rules that act when a row of a collection changes and a condition holds, and what became of each.

/** How many rules a project may have. */
export const MOST_TRIGGERS = 200;

export const changeEvent = z.enum(['create', 'update', 'delete']);
export type ChangeEvent = z.infer<typeof changeEvent>;

/** Letters, digits, `_` and `-`. What looks like an id is no name: both stand in the same place of an address. */
export const triggerName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -')
  .refine((name) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name), 'must not look like an id');

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be the name of a header');
const template = z.string().min(1).max(20_000);
/** An id, or `{{document.chatId}}`. */
const idOrTemplate = z.union([
  id,
  z
    .string()
    .max(200)
    .regex(/^\{\{.+\}\}$/, 'must be an id or {{document.…}}'),
]);

export const webhookAction = z.strictObject({
  type: z.literal('webhook'),
  url: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .regex(/^(https?:\/\/|\/(?!\/))/i, 'must begin with https://, http:// or /')
    .describe('What begins with `/` is an address of this server.'),
  headers: z
    .record(headerName, z.string().max(2_000))
    .refine((headers) => Object.keys(headers).length <= 30, 'must be 30 at most')
    .default({})
    .describe('Sent along; values may hold `{{secrets.NAME}}`.'),
  secrets: z
    .array(secretName)
    .max(5)
    .default([])
    .describe(
      'Secrets of the project that requests are signed with, newest first; several while one replaces another.',
    ),
});

export const runAction = z.strictObject({
  type: z.literal('run'),
  agent: z.string().trim().min(1).max(200).describe('An agent of the project, by id or name.'),
  instruction: template.describe(
    'What it is told; `{{document.field}}`, `{{before.field}}`, `{{event.type}}` are filled in.',
  ),
});

export const messageAction = z.strictObject({
  type: z.literal('message'),
  session: idOrTemplate.optional().describe('Where it is posted: this, or `space`.'),
  space: idOrTemplate.optional(),
  as: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe('In a space: the person who says it, by the id of the entity or the name in your system.'),
  text: template.describe('As `instruction` of a run.'),
  crossUser: z
    .boolean()
    .default(false)
    .describe(
      'Also where others than the user of the document can read it. Without it, such a delivery is refused.',
    ),
});

export const triggerAction = z.discriminatedUnion('type', [webhookAction, runAction, messageAction]);
export type TriggerAction = z.infer<typeof triggerAction>;

const retry = z.strictObject({
  maxAttempts: z.int().min(1).max(50).default(8),
  initialBackoffMs: z.int().min(10).max(3_600_000).default(1_000),
  maxBackoffMs: z.int().min(10).max(86_400_000).default(300_000),
});

const fields = {
  name: triggerName,
  collection: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .describe(
      'A path in which `*` is any one segment: `users/*/orch-chats/*/tasks`, `spaces`. Users are named by entity id or external id.',
    ),
  events: z.array(changeEvent).min(1).max(3),
  condition: z
    .string()
    .trim()
    .min(1)
    .max(4_000)
    .nullable()
    .describe('CEL over `event.type`, `event.document`, `event.before`; null: always.'),
  action: triggerAction,
  timeoutMs: z
    .int()
    .min(100)
    .max(300_000)
    .describe('How long a receiver has, from the first look-up to the last byte.'),
  retry,
  ratePerMinute: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .describe(
      'At most so many in a minute; what is above waits. Absent: 60 where a run or a message begins, no limit for webhooks.',
    ),
  edge: z
    .boolean()
    .describe(
      'An update counts only where the condition holds now and did not before. False: whenever it holds.',
    ),
  enabled: z.boolean(),
};

export const triggerInput = z
  .strictObject({
    ...fields,
    condition: fields.condition.default(null),
    timeoutMs: fields.timeoutMs.default(30_000),
    retry: fields.retry.prefault({}),
    ratePerMinute: fields.ratePerMinute.optional(),
    edge: fields.edge.default(true),
    enabled: fields.enabled.default(true),
  })
  .meta({
    examples: [
      {
        name: 'on-space',
        collection: 'spaces',
        events: ['create'],
        action: { type: 'webhook', url: 'https://example.com/hook', secrets: ['WEBHOOK'] },
      },
    ],
  });
export type TriggerInput = z.output<typeof triggerInput>;

/** A length of time as the source writes it: `500ms`, `30s`, `2m`. */
const length = z.string().regex(/^\d{1,7}(ms|s|m|h)$/, 'must be a length of time, such as 500ms, 30s or 2m');

/** A rule as files of the source have it. */
export const sourceTrigger = z.strictObject({
  triggerId: triggerName,
  version: z.string().max(50).optional(),
  tenant: z.string().max(100).optional(),
  database: z.string().max(100).optional(),
  collection: fields.collection,
  events: fields.events,
  condition: z.string().trim().max(4_000).optional(),
  url: webhookAction.shape.url,
  headers: webhookAction.shape.headers,
  secretsRef: secretName.optional(),
  timeout: length.optional(),
  retryPolicy: z
    .strictObject({
      maxAttempts: retry.shape.maxAttempts,
      initialBackoff: length.default('1s'),
      maxBackoff: length.default('5m'),
    })
    .optional(),
});

export const triggerFinding = z.object({ path: z.string(), message: z.string() });

export const trigger = z.object({
  id,
  ...fields,
  version: z.int().describe('One more with each change.'),
  disabledReason: z.string().nullable().describe('Why it is not enabled, where Troupe turned it off.'),
  conditionError: z
    .object({ message: z.string(), path: z.string(), at: timestamp })
    .nullable()
    .describe('Where the condition could last not be evaluated, and so did not hold.'),
  findings: z
    .array(triggerFinding)
    .describe('Why it can never match at present: unknown ids in the path, impossible conditions.'),
  open: z.int().describe('Deliveries that have yet to be made.'),
  deadInRow: z.int().describe('Deliveries that were given up since the last one that was made.'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Trigger = z.infer<typeof trigger>;

export const deliveryStatus = z.enum(['pending', 'sending', 'delivered', 'dead']);
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

const failure = z.object({ code: z.string(), message: z.string() });

export const delivery = z.object({
  id: id.describe('Sent as `webhook-id`, the same with every attempt.'),
  triggerId: id,
  trigger: z.string().describe('Its name.'),
  version: z.int().describe('Of the trigger, when the change was made.'),
  event: changeEvent,
  path: z.string().describe('Of the document.'),
  documentId: z.string(),
  userId: id.nullable(),
  depth: z.int().describe('How many triggers led to the change; 0: none.'),
  status: deliveryStatus.describe('`dead`: given up; it can be made again by hand.'),
  attempts: z.int(),
  erased: z
    .boolean()
    .describe(
      'The session, the space or the person that it is of was deleted: the documents are not kept, and it is not delivered again.',
    ),
  nextAttemptAt: timestamp.nullable(),
  error: failure.nullable().describe('Of the last attempt that failed.'),
  result: jsonObject.nullable().describe('What it made: a run, a message; the status of a receiver.'),
  createdAt: timestamp,
  endedAt: timestamp.nullable(),
});
export type Delivery = z.infer<typeof delivery>;

export const deliveryAttempt = z.object({
  attempt: z.int(),
  startedAt: timestamp,
  durationMs: z.int().nullable().describe('Null: under way, or its process died.'),
  request: jsonObject.nullable().describe('What was sent, without what is secret.'),
  response: jsonObject.nullable(),
  error: failure.nullable(),
});
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

export const deliveryDetails = delivery.extend({
  before: jsonObject.nullable(),
  document: jsonObject.nullable(),
  log: z.array(deliveryAttempt),
});
export type DeliveryDetails = z.infer<typeof deliveryDetails>;

export const triggerTest = z.object({
  findings: z
    .array(triggerFinding)
    .describe('What is wrong with the rule. One that cannot be evaluated has no results.'),
  results: z.array(
    z.object({
      path: z.string(),
      documentId: z.string(),
      event: changeEvent,
      matches: z.boolean(),
      reason: z.string().describe('Why it does, or does not.'),
    }),
  ),
});
export type TriggerTest = z.infer<typeof triggerTest>;

export const appliedTrigger = z.object({
  name: z.string(),
  outcome: z.enum(['created', 'updated', 'unchanged', 'deleted']),
  version: z.int().nullable(),
  findings: z.array(triggerFinding).describe('Why it can never match at present.'),
});

const triggerParams = z.object({ trigger: z.string().min(1).max(64).describe('By id or name.') });
const deliveryParams = z.object({ deliveryId: id });
const looseTrigger = z.record(z.string().max(100), json);
const tested = z.strictObject({
  limit: z
    .int()
    .min(1)
    .max(100)
    .default(20)
    .describe('How many of the newest documents of each collection are looked at.'),
});
const problems = ['trigger_invalid', 'condition_invalid'] as const;
const deliveriesAsked = {
  trigger: z.string().min(1).max(64).optional().describe('Those of a trigger, by id or name.'),
  status: deliveryStatus.optional(),
  document: z
    .string()
    .min(1)
    .max(500)
    .regex(oneLine)
    .optional()
    .describe('Those of a document, by id or path.'),
};

export const triggerEndpoints = {
  create: endpoint({
    method: 'POST',
    path: '/v1/triggers',
    tag: 'triggers',
    summary: 'Add a trigger',
    description: 'The condition is compiled and checked against the collection. Changes from then on count.',
    scope: 'triggers:write',
    body: triggerInput,
    status: 201,
    response: trigger,
    problems: ['name_taken', 'too_many_triggers', ...problems],
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/triggers',
    tag: 'triggers',
    summary: 'Triggers, by name',
    scope: 'triggers:read',
    query: listQuery,
    status: 200,
    response: page(trigger),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/triggers/{trigger}',
    tag: 'triggers',
    summary: 'One trigger',
    scope: 'triggers:read',
    params: triggerParams,
    status: 200,
    response: trigger,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/triggers/{trigger}',
    tag: 'triggers',
    summary: 'Change a trigger; earlier changes stay with the version before',
    scope: 'triggers:write',
    params: triggerParams,
    body: z.strictObject({
      name: fields.name.optional(),
      collection: fields.collection.optional(),
      events: fields.events.optional(),
      condition: fields.condition.optional(),
      action: fields.action.optional(),
      timeoutMs: fields.timeoutMs.optional(),
      retry: fields.retry.optional(),
      ratePerMinute: fields.ratePerMinute.optional(),
      edge: fields.edge.optional(),
      enabled: fields.enabled.optional(),
      baseVersion: baseVersion('trigger'),
    }),
    status: 200,
    response: trigger,
    problems: ['name_taken', 'version_conflict', ...problems],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/triggers/{trigger}',
    tag: 'triggers',
    summary: 'Delete a trigger with its deliveries',
    scope: 'triggers:write',
    params: triggerParams,
    status: 204,
  }),
  enable: endpoint({
    method: 'POST',
    path: '/v1/triggers/{trigger}/enable',
    tag: 'triggers',
    summary: 'Enable a trigger; what waited is delivered',
    scope: 'triggers:write',
    params: triggerParams,
    status: 200,
    response: trigger,
    problems,
  }),
  apply: endpoint({
    method: 'POST',
    path: '/v1/triggers/apply',
    tag: 'triggers',
    summary: 'Make triggers what a file says, all or none',
    description:
      'Each as for `POST /v1/triggers`, or as files of the source have it (`triggerId`, `url`, `timeout: "30s"`, `retryPolicy`). One that is what it says already keeps its version.',
    scope: 'triggers:write',
    body: z.strictObject({
      triggers: z.array(looseTrigger).max(MOST_TRIGGERS),
      prune: z.boolean().default(false).describe('Delete those that are not named.'),
    }),
    status: 200,
    response: z.object({ data: z.array(appliedTrigger) }),
    problems: ['name_taken', 'too_many_triggers', ...problems],
  }),
  testUnsaved: endpoint({
    method: 'POST',
    path: '/v1/triggers/test',
    tag: 'triggers',
    summary: 'See what a trigger would match, without saving it',
    scope: 'triggers:read',
    body: tested.extend({ trigger: looseTrigger }),
    status: 200,
    response: triggerTest,
  }),
  test: endpoint({
    method: 'POST',
    path: '/v1/triggers/{trigger}/test',
    tag: 'triggers',
    summary: 'See what a trigger would match among the newest documents; nothing is delivered',
    scope: 'triggers:read',
    params: triggerParams,
    body: tested,
    status: 200,
    response: triggerTest,
  }),
  deliveries: endpoint({
    method: 'GET',
    path: '/v1/deliveries',
    tag: 'triggers',
    summary: 'Deliveries, newest first',
    scope: 'triggers:read',
    query: listQuery.extend(deliveriesAsked),
    status: 200,
    response: page(delivery),
    problems: ['not_found'],
  }),
  delivery: endpoint({
    method: 'GET',
    path: '/v1/deliveries/{deliveryId}',
    tag: 'triggers',
    summary: 'One delivery, with every attempt',
    scope: 'triggers:read',
    params: deliveryParams,
    status: 200,
    response: deliveryDetails,
  }),
  redeliver: endpoint({
    method: 'POST',
    path: '/v1/deliveries/{deliveryId}/redeliver',
    tag: 'triggers',
    summary: 'Deliver again, as the trigger is now and under the same id',
    scope: 'triggers:write',
    params: deliveryParams,
    status: 200,
    response: delivery,
    problems: ['delivery_open', 'delivery_erased'],
  }),
  redeliverMany: endpoint({
    method: 'POST',
    path: '/v1/deliveries/redeliver',
    tag: 'triggers',
    summary: 'Deliver many again: those that were given up, or those asked for',
    scope: 'triggers:write',
    body: z.strictObject({
      ...deliveriesAsked,
      status: z.enum(['dead', 'delivered']).default('dead'),
      limit: z.int().min(1).max(10_000).default(1_000),
    }),
    status: 200,
    response: z.object({ redelivered: z.int() }),
    problems: ['not_found'],
  }),
} as const;
