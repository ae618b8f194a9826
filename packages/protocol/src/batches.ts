import { z } from 'zod';
import { id, listQuery, metadata, name, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { json, jsonObject } from './json.ts';
import { invocation } from './networks.ts';
import { runError, usage } from './runs.ts';

/** How much one batch may be. */
export const BATCH_LIMITS = {
  /** Rows times iterations. */
  items: 100_000,
  /** Of the request, and so of a file. */
  bytes: 16_777_216,
  /** Runs of it at work at the same time. */
  concurrency: 100,
} as const;

export const batchStatus = z.enum(['running', 'completed', 'canceled']);
export type BatchStatus = z.infer<typeof batchStatus>;

export const batchItemStatus = z.enum(['queued', 'running', 'completed', 'failed', 'canceled', 'bad']);
export type BatchItemStatus = z.infer<typeof batchItemStatus>;

export const batchRow = z.strictObject({
  input: invocation.shape.input,
  systemParams: invocation.shape.systemParams.describe('Beside those of the batch; of the same name, these.'),
  metadata: metadata.describe('Of its runs.').default({}),
});
export type BatchRow = z.infer<typeof batchRow>;

const count = z.number().int().nonnegative();

export const batch = z.object({
  id,
  network: z.object({ id, name: z.string(), version: z.number().int() }).describe('As it was then.'),
  agent: z.string().describe('Where its runs begin.'),
  name: name.nullable(),
  status: batchStatus.describe(
    '`completed`: every item has ended, well or not. `canceled`: nothing begins any more.',
  ),
  iterations: count,
  concurrency: count,
  counts: z.object({
    rows: count.describe('Rows that were given.'),
    bad: count.describe('Rows of these that cannot be run.'),
    total: count.describe('Items to run: the other rows times `iterations`.'),
    queued: count,
    running: count.describe('At work, or waiting for somebody outside.'),
    completed: count,
    failed: count,
    canceled: count,
  }),
  usage: usage.describe('Tokens of the runs that have ended, of their last attempts.'),
  cost: z.number().nonnegative(),
  metadata: jsonObject,
  createdAt: timestamp,
  startedAt: timestamp.nullable().describe('When the first of its runs began.'),
  completedAt: timestamp.nullable().describe('When the last of its items ended.'),
  canceledAt: timestamp.nullable(),
});
export type Batch = z.infer<typeof batch>;

export const batchItem = z.object({
  row: z.number().int().positive().describe('From 1 on; the header of a file is no row.'),
  iteration: z.number().int().positive(),
  attempt: z.number().int().positive().describe('From 1 on; the next one begins where the batch is resumed.'),
  status: batchItemStatus.describe(
    '`bad`: the row cannot be run, for the reason in `error`; it has one item whatever the iterations.',
  ),
  input: json.describe('Null where the row is bad.'),
  metadata: jsonObject,
  response: json.describe('What was answered; null before.'),
  error: runError.nullable(),
  runId: id.nullable().describe('The run of this attempt, once it is in the queue.'),
  usage,
  cost: z.number().nonnegative(),
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
});
export type BatchItem = z.infer<typeof batchItem>;

export const newBatch = z
  .strictObject({
    rows: z
      .array(batchRow)
      .min(1)
      .max(BATCH_LIMITS.items)
      .describe('Or a file: `format` and `data`.')
      .optional(),
    format: z
      .enum(['csv', 'jsonl'])
      .describe(
        '`csv`: a header; the column `input`, or else all columns as one object; `system_params.x` and `metadata.x`. `jsonl`: on each line a text, an object with `input`, `systemParams` and `metadata`, or any other object as the input.',
      )
      .optional(),
    data: z.string().min(1).describe('The text of the file.').optional(),
    iterations: z.number().int().min(1).max(1_000).describe('How often each row is run.').default(1),
    concurrency: z
      .number()
      .int()
      .min(1)
      .max(BATCH_LIMITS.concurrency)
      .describe('How many of its runs are at work at the same time, at most.')
      .default(5),
    version: invocation.shape.version,
    agent: invocation.shape.agent,
    systemParams: invocation.shape.systemParams.describe('For every row.'),
    name: name.nullable().default(null),
    metadata: metadata.default({}),
  })
  .superRefine(({ rows, format, data }, context) => {
    const isFile = format !== undefined && data !== undefined;
    const mixed = (format !== undefined || data !== undefined) && (rows !== undefined || !isFile);
    if (rows === undefined && !isFile)
      context.addIssue({ code: 'custom', path: ['rows'], message: 'must be there, or `format` and `data`' });
    else if (mixed)
      context.addIssue({
        code: 'custom',
        path: ['rows'],
        message: 'cannot be there beside `format` and `data`',
      });
  })
  .meta({ examples: [{ rows: [{ input: 'Where is my order?' }] }] });
export type NewBatch = z.infer<typeof newBatch>;

const batchParams = z.object({ batchId: id });
const ofNetwork = '/v1/networks/{network}/batches';
const one = '/v1/batches/{batchId}';

export const batchEndpoints = {
  create: endpoint({
    method: 'POST',
    path: ofNetwork,
    tag: 'batches',
    summary: 'Run a network over many inputs',
    description:
      'All of it with the version that is current now, whatever is published, archived or deleted later. Rows of a file that cannot be run are kept with what is wrong with them, and cost the others nothing.',
    scope: 'networks:run',
    params: z.object({ network: z.string().min(1).max(200) }),
    body: newBatch,
    bodyBytes: BATCH_LIMITS.bytes,
    status: 201,
    response: batch,
    problems: [
      'network_not_published',
      'network_archived',
      'version_not_found',
      'unknown_key',
      'unknown_system_param',
      'batch_too_large',
      'file_invalid',
      'no_good_rows',
      'no_encryption_key',
    ],
  }),
  list: endpoint({
    method: 'GET',
    path: ofNetwork,
    tag: 'batches',
    summary: 'Batches of a network, newest first',
    scope: 'networks:read',
    params: z.object({ network: z.string().min(1).max(200) }),
    query: listQuery,
    status: 200,
    response: page(batch),
  }),
  get: endpoint({
    method: 'GET',
    path: one,
    tag: 'batches',
    summary: 'How far a batch has come',
    scope: 'networks:read',
    params: batchParams,
    status: 200,
    response: batch,
  }),
  items: endpoint({
    method: 'GET',
    path: `${one}/items`,
    tag: 'batches',
    summary: 'Items of a batch, by row and iteration',
    scope: 'networks:read',
    params: batchParams,
    query: listQuery.extend({ status: batchItemStatus.optional() }),
    status: 200,
    response: page(batchItem),
  }),
  results: endpoint({
    method: 'GET',
    path: `${one}/results`,
    tag: 'batches',
    summary: 'The results as a file',
    description:
      "A line for each item: `row`, `iteration`, `attempt`, `status`, `input`, `metadata`, `response`, `error_code`, `error_message`, `run_id`. In `csv`, what is neither a text nor a number is JSON, what is not there and empty `metadata` is an empty cell, and a cell that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a line break) has a ' before it; `jsonl` has everything as it is.",
    scope: 'networks:read',
    params: batchParams,
    query: z.strictObject({ format: z.enum(['csv', 'jsonl']).default('jsonl') }),
    status: 200,
    responseTypes: ['text/csv', 'application/x-ndjson'],
  }),
  cancel: endpoint({
    method: 'POST',
    path: `${one}/cancel`,
    tag: 'batches',
    summary: 'Begin nothing more, and cancel the runs under way',
    description: 'What has ended stays. Canceling it twice is the same as once.',
    scope: 'networks:run',
    params: batchParams,
    status: 200,
    response: batch,
  }),
  resume: endpoint({
    method: 'POST',
    path: `${one}/resume`,
    tag: 'batches',
    summary: 'Go on with what was canceled, or try again what failed',
    description:
      'Items that were canceled begin again, with `failed` those that failed too: each as a new attempt with a run of its own; the run of the attempt before stays as it is. What is completed stays. Where there is nothing to begin, nothing changes.',
    scope: 'networks:run',
    params: batchParams,
    body: z
      .strictObject({ failed: z.boolean().describe('Those that failed too.').default(false) })
      .prefault({}),
    status: 200,
    response: batch,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: one,
    tag: 'batches',
    summary: 'Delete a batch that has ended; its runs stay',
    scope: 'networks:run',
    params: batchParams,
    status: 204,
    problems: ['batch_under_way'],
  }),
} as const;
