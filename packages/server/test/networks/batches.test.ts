import { randomBytes } from 'node:crypto';
import type { Batch, BatchItem, Invoked, Problem } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { cancelBatch, lockBatch, rearmBatches } from '../../src/store/queries/batches.ts';
import { changeEnvelopes } from '../../src/store/queries/envelopes.ts';
import { inTransaction } from '../../src/store/transaction.ts';
import { compiled, publish } from './published-network.ts';

// One server with jobs, and one network that answers with its input: "fail" fails, "hold" waits until the test lets it go, "look" calls a tool.
// Long because a server with jobs costs more than a test.

const planted = (what: string) => `${what}-${randomBytes(8).toString('hex')}`;
const SHARED = planted('shared');
const OWN = planted('own');
const held = new Set<() => void>();
let holds = false;
let working = 0;
let most = 0;
const answered: string[] = [];
const logged: string[] = [];

let server: TestServer;
let project: string;
let network: string;

const call = (name: string, args: object): Turn => ({ calls: [{ name, arguments: args as never }] });

async function script({ messages, system }: ModelRequest): Promise<Turn> {
  const { text } = messages[0] as { text: string };
  working++;
  most = Math.max(most, working);
  try {
    if (holds && text.includes('hold')) await new Promise<void>((resolve) => held.add(resolve));
    if (text.includes('look') && !messages.some(({ role }) => role === 'tool'))
      return call('lookup', { q: 'x' });
    if (text.includes('give') && !messages.some(({ role }) => role === 'tool'))
      return call('delegate_to_agent', { agent: 'hand', assignment: `hold ${text.slice(5)}` });
    if (text.includes('fail')) return call('unknown', {});
    const answer = text.startsWith('say ') ? text.slice(4) : text;
    return call('respond', {
      payload: text.startsWith('say ') ? answer : { answer, told: system.slice(0, 6) },
    });
  } finally {
    working--;
  }
}

function release(): void {
  for (const go of held) go();
  held.clear();
}

const snapshot = (name: string, prompt = 'I am front.') =>
  compiled(
    {
      name,
      policy: { retries: 0 },
      tools: [{ key: 'lookup' }],
      // A text stays one.
      response: { schema: { not: { type: 'object', required: ['message'] } } },
      agents: [
        { key: 'front', isDefault: true, prompt, tools: ['lookup'], allowRespond: true },
        { key: 'strict', prompt: 'I am strict.' },
      ],
    },
    {
      lookup: {
        params: [
          { name: 'q', source: 'agent', required: true, schema: {} },
          { name: 'tenant', source: 'system', required: true, schema: {} },
          { name: 'region', source: 'system', required: false, schema: {} },
        ],
      },
    },
  );

beforeAll(async () => {
  const write = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script,
    jobs: true,
    logger: { debug: write, info: write, warn: write, error: write } as never,
  });
  await fetch(`${server.url}/v1/agents`);
  project = (await server.db.pool.query('select id from troupe.projects')).rows[0].id;
  ({ id: network } = await publish(server.db, project, snapshot('Desk')));
});
afterEach(() => {
  holds = false;
  release();
});
afterAll(() => server.close());

async function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  answered.push(text);
  return { status: response.status, headers: response.headers, text };
}
async function ask<Body>(method: string, path: string, body?: object, headers?: Record<string, string>) {
  const { status, text } = await send(method, path, body, headers);
  if (status >= 400) throw new Error(`${method} ${path}: ${text}`);
  return (text ? JSON.parse(text) : undefined) as Body;
}
const create = (body: object) => ask<Batch>('POST', '/v1/networks/desk/batches', body);
const get = (id: string) => ask<Batch>('GET', `/v1/batches/${id}`);
async function ended(id: string): Promise<Batch> {
  await until('the batch has ended', async () => (await get(id)).status !== 'running');
  return get(id);
}
async function items(id: string, query = ''): Promise<BatchItem[]> {
  const all: BatchItem[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { data: BatchItem[]; nextCursor: string | null } = await ask(
      'GET',
      `/v1/batches/${id}/items?limit=3${query}${cursor ? `&cursor=${cursor}` : ''}`,
    );
    all.push(...page.data);
    cursor = page.nextCursor;
  }
  return all;
}
const refused = async (body: object, path = '/v1/networks/desk/batches') => {
  const { status, text } = await send('POST', path, body);
  return { ...(JSON.parse(text) as Problem), status };
};
const textRows = (...inputs: string[]) => ({ rows: inputs.map((input) => ({ input })) });

test('every row as often as asked for, each with its result; nothing of it is lost or counted twice', async () => {
  const made = await create({
    ...textRows('one', 'two', 'fail here', 'say =1+1'),
    rows: [
      ...textRows('one', 'two', 'fail here', 'say =1+1').rows,
      { input: { q: 'five' }, metadata: { a: 1 } },
    ],
    iterations: 2,
    concurrency: 2,
    name: 'first',
    metadata: { of: 'me' },
  });
  expect(made).toMatchObject({
    ...{
      status: 'running',
      name: 'first',
      metadata: { of: 'me' },
      iterations: 2,
      concurrency: 2,
      agent: 'front',
    },
    network: { id: network, name: 'Desk', version: 1 },
    counts: { rows: 5, bad: 0, total: 10, queued: 10, running: 0 },
    ...{ startedAt: null, completedAt: null },
  });
  most = 0;
  const done = await ended(made.id);
  expect(most).toBeLessThanOrEqual(2);
  expect(done).toMatchObject({
    status: 'completed',
    counts: { rows: 5, total: 10, queued: 0, running: 0, completed: 8, failed: 2, canceled: 0 },
  });
  expect(Date.parse(done.completedAt!)).toBeGreaterThanOrEqual(Date.parse(done.startedAt!));
  const all = await items(made.id);
  expect(all.map(({ row, iteration }) => [row, iteration])).toEqual(
    [1, 2, 3, 4, 5].flatMap((row) => [1, 2].map((iteration) => [row, iteration])),
  );
  expect(new Set(all.map(({ runId }) => runId)).size).toBe(10);
  expect(all[0]).toMatchObject({
    status: 'completed',
    input: 'one',
    response: { answer: 'one' },
    attempt: 1,
  });
  expect(all[4]).toMatchObject({ status: 'failed', response: null, error: { code: 'too_many_refusals' } });
  expect(all[9]).toMatchObject({
    input: { q: 'five' },
    metadata: { a: 1 },
    response: { answer: '{"q":"five"}' },
  });
  const run = await ask<Invoked>('GET', `/v1/runs/${all[9]!.runId}`);
  expect(run).toMatchObject({
    metadata: { a: 1 },
    trigger: { batch: { id: made.id, row: 5, iteration: 2, attempt: 1 } },
    usage: all[9]!.usage,
  });
  const sum = (of: 'inputTokens' | 'outputTokens') => all.reduce((total, { usage }) => total + usage[of], 0);
  expect(sum('inputTokens')).toBeGreaterThan(0);
  expect(done.usage).toEqual({ inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') });
  expect((await items(made.id, '&status=failed')).map(({ row }) => row)).toEqual([3, 3]);

  const csv = await send('GET', `/v1/batches/${made.id}/results?format=csv`);
  expect(csv.headers.get('content-type')).toContain('text/csv');
  expect(csv.headers.get('content-disposition')).toContain('attachment');
  const lines = csv.text.split('\r\n');
  expect(lines[0]).toBe(
    'row,iteration,attempt,status,input,metadata,response,error_code,error_message,run_id',
  );
  expect(lines[1]).toBe(`1,1,1,completed,one,,"{""told"":""I am f"",""answer"":""one""}",,,${all[0]!.runId}`);
  expect(lines[5]).toMatch(/^3,1,1,failed,[^,]+,,,too_many_refusals,/);
  expect(lines[7]).toMatch(/^4,1,1,completed,[^,]+,,'=1\+1,,,/);
  expect(lines[9]).toContain('5,1,1,completed,"{""q"":""five""}","{""a"":1}",');
  expect(lines).toHaveLength(12);
  const jsonl = (await send('GET', `/v1/batches/${made.id}/results`)).text.trim().split('\n');
  expect(jsonl.map((line) => JSON.parse(line).response)[6]).toBe('=1+1');
  expect(jsonl).toHaveLength(10);
  expect(JSON.parse(jsonl[9]!)).toMatchObject({
    row: 5,
    iteration: 2,
    input: { q: 'five' },
    metadata: { a: 1 },
  });
  expect((await ask<{ data: Batch[] }>('GET', '/v1/networks/Desk/batches')).data[0]).toEqual(done);
  // Its runs stand among the others by when it was made: what is newer comes first.
  const newer = await ask<Invoked>('POST', '/v1/networks/Desk/invoke', { input: 'newer' });
  for (const path of ['/v1/networks/Desk/runs', '/v1/runs'])
    expect((await ask<{ data: Invoked[] }>('GET', path)).data[0]!.id).toBe(newer.id);
  await server.kernel.ended(newer.id);
  expect(await send('POST', `/v1/batches/${made.id}/cancel`)).toMatchObject({ status: 200 });
  expect(await get(made.id)).toEqual(done);
});

describe('files', () => {
  test('CSV of a spreadsheet: bad rows are kept with what is wrong, system parameters are sealed and a row’s win', async () => {
    const data =
      '\uFEFFinput;system_params.tenant;metadata.case\r\n' +
      `"look; ""quoted""\nover lines";${OWN};A\r\n` +
      ';;B\r\n' +
      'two;cells\r\n' +
      'stray "quote";;\r\n' +
      '\r\n' +
      'look again;;\r\n';
    const { id } = await create({
      ...{ format: 'csv', data, iterations: 2 },
      systemParams: { tenant: SHARED, region: SHARED },
    });
    const done = await ended(id);
    expect(done.counts).toMatchObject({ rows: 5, bad: 3, total: 4, completed: 4 });
    const all = await items(id);
    expect(all.map(({ row, iteration, status }) => `${row}.${iteration} ${status}`)).toEqual([
      '1.1 completed',
      '1.2 completed',
      '2.1 bad',
      '3.1 bad',
      '4.1 bad',
      '5.1 completed',
      '5.2 completed',
    ]);
    expect(all[0]).toMatchObject({ input: 'look; "quoted"\nover lines', metadata: { case: 'A' } });
    expect(all.filter(({ status }) => status === 'bad').map(({ error }) => error!.message)).toEqual([
      'Line 4: "input" is empty.',
      'Line 5 has 2 cells where the header has 3.',
      'Line 6 has a quote in a cell that does not begin with one.',
    ]);
    expect(all[2]).toMatchObject({ input: null, runId: null, error: { code: 'bad_row' } });
    const given = async (run: string) => {
      const { rows } = await server.db.pool.query('select sealed from troupe.runs where id = $1', [run]);
      return JSON.parse(server.access.encryption.open(project, `run ${run}`, rows[0].sealed));
    };
    expect(await given(all[0]!.runId!)).toEqual({ tenant: OWN, region: SHARED });
    expect(await given(all[6]!.runId!)).toEqual({ tenant: SHARED, region: SHARED });
    expect((await send('GET', `/v1/batches/${id}/results?format=csv`)).text).toContain(
      '3,1,1,bad,,,,bad_row,',
    );
  });

  test('a CSV without a column "input": the other columns are the input', async () => {
    const { id } = await create({ format: 'csv', data: 'question,metadata.n\nwho?,\n"a, b",2\n' });
    await ended(id);
    expect((await items(id)).map(({ input, metadata }) => [input, metadata])).toEqual([
      [{ question: 'who?' }, {}],
      [{ question: 'a, b' }, { n: '2' }],
    ]);
  });

  test('a system parameter that no tool takes makes a bad row, and the others run', async () => {
    const csv = `input,system_params.tenant,system_params.tenent\none,t,\ntwo,,${OWN}\n`;
    const rows = [{ input: 'one' }, { input: 'two', systemParams: { tenent: OWN } }];
    for (const [body, where] of [
      [{ format: 'csv', data: csv }, 'Line 3'],
      [{ rows }, 'Row 2'],
    ] as const) {
      const { id } = await create(body);
      expect((await ended(id)).counts).toMatchObject({ rows: 2, bad: 1, completed: 1 });
      expect((await items(id))[1]).toMatchObject({
        status: 'bad',
        error: {
          code: 'bad_row',
          message: `${where}: No tool of version 1 takes the system parameter "tenent". System parameters that its tools take: "region", "tenant".`,
        },
      });
    }
  });

  test('JSONL', async () => {
    const good = [
      '"text"',
      '{"q": 1}',
      '{"input": {"q": 2}, "metadata": {"n": 3}, "systemParams": {"tenant": "t"}}',
    ];
    const bad = [
      '7',
      'no json',
      '{"input": "x", "expected": "y"}',
      '{"input": 5}',
      '"\\u0000"',
      '{"__proto__": 1}',
      '{"input": "x", "system_params": {"tenant": "t"}}',
      '{"q": 1, "systemParams": {"tenant": "t"}}',
    ];
    const { id } = await create({ format: 'jsonl', data: `${[...good, '', ...bad].join('\n')}\n` });
    expect((await ended(id)).counts).toMatchObject({ rows: 11, bad: 8, total: 3, completed: 3 });
    const all = await items(id);
    expect(all.slice(0, 3).map(({ input }) => input)).toEqual(['text', { q: 1 }, { q: 2 }]);
    expect(all.slice(3).map(({ error }) => error!.message)).toEqual([
      'Line 5 is neither a text nor an object.',
      'Line 6 is no JSON.',
      'Line 7 has "expected" beside "input": put it into "metadata".',
      expect.stringContaining('Line 8: "input"'),
      expect.stringContaining('cannot be stored'),
      expect.stringContaining('__proto__'),
      'Line 11 has "system_params": system parameters are an object called "systemParams".',
      'Line 12 has "systemParams" without "input": put what is asked into "input".',
    ]);
  });

  test('what cannot be is refused, and nothing is stored', async () => {
    const count = async () =>
      (await server.db.pool.query('select count(*) from troupe.network_batches')).rows[0].count;
    const before = await count();
    const csv = (data: string) => refused({ format: 'csv', data });
    expect(await csv('input,expected\na,b\n')).toMatchObject({ status: 422, code: 'file_invalid' });
    expect((await csv('input,expected\na,b\n')).detail).toContain('"metadata.expected"');
    expect((await csv('question,systemParams.tenant\na,b\n')).detail).toContain('"system_params."');
    expect(await csv('input,input\na,b\n')).toMatchObject({ code: 'file_invalid' });
    expect(await csv('metadata.a\na\n')).toMatchObject({ code: 'file_invalid' });
    expect(await csv('input,\na,b\n')).toMatchObject({ code: 'file_invalid' });
    expect(await csv('input\n"a"b\nc\n')).toMatchObject({ code: 'file_invalid' });
    expect(await csv('input\nok\n"never closed\nc\n')).toMatchObject({ code: 'file_invalid' });
    expect(await csv(`question,System_Params.tenant\na,${OWN}\n`)).toMatchObject({ code: 'file_invalid' });
    expect(await csv('input\n')).toMatchObject({ code: 'no_good_rows' });
    expect(await refused({ format: 'jsonl', data: '1\n2' })).toMatchObject({
      code: 'no_good_rows',
      issues: [{ path: 'data.1' }, { path: 'data.2' }],
    });
    for (const body of [{}, { format: 'csv' }, { ...textRows('x'), format: 'csv', data: 'input\nx' }])
      expect(await refused(body)).toMatchObject({ status: 422, code: 'invalid_request' });
    expect(await refused({ rows: [{ input: 'x' }, { input: '' }] })).toMatchObject({
      code: 'invalid_request',
      issues: [{ path: expect.stringContaining('rows.1.input') }],
    });
    const many = { format: 'jsonl', data: '"x"\n'.repeat(101), iterations: 1_000 };
    expect(await refused(many)).toMatchObject({ status: 422, code: 'batch_too_large' });
    expect(await refused(textRows('x'), '/v1/networks/nobody/batches')).toMatchObject({ status: 404 });
    expect(await refused({ ...textRows('x'), version: 9 })).toMatchObject({ code: 'version_not_found' });
    expect(await refused({ ...textRows('x'), agent: 'nobody' })).toMatchObject({ code: 'unknown_key' });
    expect(await refused({ ...textRows('x'), systemParams: { tenant: 'x', tenent: OWN } })).toMatchObject({
      ...{ status: 422, code: 'unknown_system_param', issues: [{ path: 'systemParams.tenent' }] },
    });
    const typo = await csv(`input,system_params.tenent\na,${OWN}\n`);
    expect(typo).toMatchObject({ code: 'no_good_rows', issues: [{ path: 'data.1' }] });
    expect(JSON.stringify(typo)).toContain('takes the system parameter');
    expect(await count()).toBe(before);
  });
});

test('canceled in the middle: nothing more begins, what is under way is canceled; resumed, it goes on with new attempts', async () => {
  holds = true;
  const { id } = await create({
    ...textRows('done', 'fail', 'hold 1', 'hold 2', 'hold 3', 'last'),
    concurrency: 2,
  });
  await until('two are held', () => held.size === 2);
  const canceled = await ask<Batch>('POST', `/v1/batches/${id}/cancel`);
  expect(canceled).toMatchObject({
    status: 'canceled',
    counts: { queued: 0, running: 0, completed: 1, failed: 1, canceled: 4 },
  });
  expect(canceled.canceledAt).not.toBeNull();
  expect(await ask<Batch>('POST', `/v1/batches/${id}/cancel`)).toEqual(canceled);
  holds = false;
  release();
  const before = await items(id);
  // One that somebody takes up again by itself is left to them.
  await ask('POST', `/v1/runs/${before[1]!.runId}/retry`, {});
  expect(await rearmBatches(server.db)).toBe(0);
  await ask('POST', `/v1/batches/${id}/cancel`);
  await until('it failed again', async () => {
    const { status, endedAt } = (await items(id))[1]!;
    return status === 'failed' && endedAt !== before[1]!.endedAt;
  });
  const failedAgain = (await items(id))[1]!;
  expect(failedAgain).toMatchObject({ status: 'failed', runId: before[1]!.runId, attempt: 1 });

  const resumed = await ask<Batch>('POST', `/v1/batches/${id}/resume`);
  expect(resumed).toMatchObject({ status: 'running', canceledAt: null, counts: { failed: 1, completed: 1 } });
  expect((await ended(id)).counts).toMatchObject({ completed: 5, failed: 1, canceled: 0 });
  const after = await items(id);
  // What had ended stays; what was under way has a new run, and the run before is as it was.
  expect(after.slice(0, 2)).toEqual([before[0], failedAgain]);
  for (const at of [2, 3]) {
    expect(after[at]).toMatchObject({ attempt: 2, status: 'completed' });
    expect(after[at]!.runId).not.toBe(before[at]!.runId);
    expect(await ask('GET', `/v1/runs/${before[at]!.runId}`)).toMatchObject({ status: 'canceled' });
  }

  await ask('POST', `/v1/batches/${id}/resume`, { failed: true });
  expect((await ended(id)).counts).toMatchObject({ completed: 5, failed: 1 });
  expect((await items(id))[1]).toMatchObject({ attempt: 2, status: 'failed' });
  const untouched = await get(id);
  expect(await ask<Batch>('POST', `/v1/batches/${id}/resume`)).toEqual(untouched);
  // A run that is taken up again by itself is the item's too.
  const [, failed] = await items(id);
  await ask('POST', `/v1/runs/${failed!.runId}/retry`, {});
  await until('it failed again', async () => {
    const { status, endedAt } = (await items(id))[1]!;
    return status === 'failed' && endedAt !== failed!.endedAt;
  });
  expect((await items(id))[1]).toMatchObject({ attempt: 2, status: 'failed', runId: failed!.runId });
});

test('results of long and of many rows: each item once, in its place', async () => {
  const inputs = ['short', 'x'.repeat(200_000), 'short again'];
  const { id } = await create({ ...textRows(...inputs), iterations: 70, concurrency: 1 });
  await ask('POST', `/v1/batches/${id}/cancel`);
  const { text } = await send('GET', `/v1/batches/${id}/results`);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ row, iteration }) => `${row}.${iteration}`)).toEqual(
    inputs.flatMap((_, at) => Array.from({ length: 70 }, (_, before) => `${at + 1}.${before + 1}`)),
  );
  expect(lines.every(({ row, input }) => input === inputs[row - 1])).toBe(true);
  await ended(id);
});

test('where whoever cancels dies after saying so, the job cancels what is under way', async () => {
  holds = true;
  const { id } = await create({ ...textRows('hold 1', 'hold 2'), concurrency: 1 });
  await until('one is held', () => held.size === 1);
  await inTransaction(server.db, async (transaction) => {
    await lockBatch(transaction, id);
    await cancelBatch(transaction, id);
  });
  expect((await get(id)).counts).toMatchObject({ running: 1, queued: 1 });
  expect(await rearmBatches(server.db)).toBe(1);
  await until('both are canceled', async () => (await get(id)).counts.canceled === 2);
});

test('canceled while a commit tells of several of its runs in another order, neither gives way', async () => {
  holds = true;
  const { id } = await create({ ...textRows('hold 1', 'hold 2', 'hold 3'), concurrency: 1 });
  const runs = async () => (await items(id)).map(({ runId }) => runId!);
  await until('all have begun', async () => (await runs()).every(Boolean));
  await until('the first works', async () => (await get(id)).counts.running === 1);
  const [, second, third] = await runs();
  const commit = await server.db.pool.connect();
  const wait = (run: string) =>
    commit.query(
      `update troupe.runs set status = 'waiting_tool', wait_deadline = now() + interval '1 hour' where id = $1`,
      [run],
    );
  try {
    await commit.query('begin');
    await commit.query('select from troupe.runs where id = any($1) order by id for no key update', [
      [second, third],
    ]);
    await wait(third!);
    const canceled = send('POST', `/v1/batches/${id}/cancel`);
    await until('it waits for the commit', async () => {
      const { rowCount } = await server.db.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rowCount! > 0;
    });
    await wait(second!);
    await commit.query('rollback');
    expect((await canceled).status).toBe(200);
  } finally {
    commit.release(true);
  }
  expect(await ended(id)).toMatchObject({ status: 'canceled', counts: { canceled: 3, running: 0 } });
});

test('a run that waits for its tasks is at work, and goes on before others begin', async () => {
  holds = true;
  const boss = { key: 'boss', isDefault: true, prompt: 'I am boss.', allowRespond: true };
  await publish(
    server.db,
    project,
    compiled({
      name: 'Tasks',
      agents: [
        { ...boss, allowTaskGroup: true, routes: ['hand'] },
        { key: 'hand', prompt: 'I am hand.' },
      ],
    }),
  );
  const { id } = await ask<Batch>('POST', '/v1/networks/tasks/batches', {
    ...textRows('give 1', 'give 2', 'give 3'),
    concurrency: 1,
  });
  const releaseOne = async () => {
    await until('a task works', () => held.size === 1);
    release();
  };
  await until('a task works', () => held.size === 1);
  // Whoever took these has looked at the others before.
  for (let round = 0; round < 2; round++) await ended((await create(textRows('between'))).id);
  expect((await get(id)).counts).toMatchObject({ running: 1, queued: 2 });
  for (let task = 0; task < 3; task++) await releaseOne();
  expect(await ended(id)).toMatchObject({ counts: { completed: 3 } });
  const { rows } = await server.db.pool.query(
    `select max(r.started_at) as began, min(r.completed_at) as ended from troupe.runs r where r.trigger->'batch'->>'id' = $1`,
    [id],
  );
  expect(rows[0].ended.getTime()).toBeLessThan(rows[0].began.getTime());
});

test('a batch stays with its version, whatever becomes of the network; others do not wait for a large one', async () => {
  const { id: other } = await publish(server.db, project, snapshot('Other', 'I am 1.'));
  holds = true;
  const inputs = Array.from({ length: 260 }, (_, at) => `hold ${at}`);
  const path = `/v1/networks/${other}/batches`;
  const { id } = await ask<Batch>('POST', path, { ...textRows(...inputs), concurrency: 3 });
  await until('three are held', () => held.size === 3);
  const begun = async () =>
    (await server.db.pool.query('select count(*)::int as n from troupe.runs where network_id = $1', [other]))
      .rows[0].n;
  expect(await begun()).toBe(200);
  const quick = { input: 'quick', mode: 'wait' };
  expect(await ask<Invoked>('POST', `/v1/networks/${other}/invoke`, quick)).toMatchObject({
    status: 'completed',
  });

  await publish(server.db, project, snapshot('Other', 'I am 2.'), other);
  await ask('POST', `/v1/networks/${other}/archive`, {});
  expect(await refused(textRows('x'), path)).toMatchObject({ status: 409, code: 'network_archived' });
  await ask('DELETE', `/v1/networks/${other}`);
  expect((await send('GET', path)).status).toBe(404);
  expect(await send('DELETE', `/v1/batches/${id}`)).toMatchObject({ status: 409 });
  holds = false;
  most = 0;
  release();
  const done = await ended(id);
  expect(most).toBeLessThanOrEqual(3);
  expect(done).toMatchObject({
    network: { id: other, name: 'Other', version: 1 },
    counts: { completed: 260 },
  });
  const { rows } = await server.db.pool.query(
    `select distinct network_version, outcome->'response'->>'told' as told from troupe.runs where network_id = $1 and lane is not null`,
    [other],
  );
  expect(rows).toEqual([{ network_version: 1, told: 'I am 1' }]);

  const [item] = await items(id, '&status=completed');
  await ask('DELETE', `/v1/batches/${id}`);
  expect((await send('GET', `/v1/batches/${id}`)).status).toBe(404);
  expect((await send('GET', `/v1/batches/${id}/items`)).status).toBe(404);
  expect((await send('GET', `/v1/batches/${id}/results`)).status).toBe(404);
  expect(await ask('GET', `/v1/runs/${item!.runId}`)).toMatchObject({ status: 'completed' });
  expect((await send('DELETE', `/v1/batches/${id}`)).status).toBe(404);
});

test('sent twice with the same key it is one batch; one whose job was lost gets another', async () => {
  const key = { 'idempotency-key': newId() };
  holds = true;
  const path = '/v1/networks/desk/batches';
  const body = { ...textRows('hold a', 'hold b'), concurrency: 1 };
  const first = await ask<Batch>('POST', path, body, key);
  expect(await ask<Batch>('POST', path, body, key)).toMatchObject({ id: first.id });
  await until('one is held', () => held.size === 1);
  expect(await rearmBatches(server.db)).toBe(0);
  await server.db.pool.query(
    `update troupe.network_batch_items set status = 'pending', run_id = null where batch_id = $1 and row_number = 2`,
    [first.id],
  );
  await server.db.pool.query(`delete from troupe.runs where lane = $1 and status = 'queued'`, [
    `batch:${first.id}`,
  ]);
  expect(await rearmBatches(server.db)).toBe(1);
  holds = false;
  release();
  await until('both are completed', async () => (await get(first.id)).counts.completed === 2);
});

test('made by a process that died before it answered, it is found by the same request', async () => {
  const headers = { 'idempotency-key': newId() };
  const made = async () => {
    const { status, text } = await send('POST', '/v1/networks/desk/batches', textRows('lost'), headers);
    return { status, id: (JSON.parse(text) as Batch).id };
  };
  const first = await made();
  const { rowCount } = await server.db.pool.query(
    `update troupe.idempotency_keys set status = null, body = jsonb_build_object('made', $2::text), created_at = now() - interval '2 minutes' where key = $1`,
    [headers['idempotency-key'], first.id],
  );
  expect(rowCount).toBe(1);
  expect(await made()).toEqual({ status: 201, id: first.id });
  const { rows } = await server.db.pool.query(
    `select batch_id as id from troupe.network_batch_rows where input = '"lost"'`,
  );
  expect(rows).toEqual([{ id: first.id }]);
  expect(await ended(first.id)).toMatchObject({ counts: { completed: 1, total: 1 } });
});

test('no system parameter stands anywhere, and all that must be true of a database is', async () => {
  const { rows: tables } = await server.db.pool.query(
    `select table_schema || '.' || table_name as name from information_schema.tables
      where table_schema in ('troupe', 'graphile_worker') and table_type = 'BASE TABLE'`,
  );
  const stored: string[] = [];
  for (const { name } of tables)
    stored.push(
      ...(await server.db.pool.query(`select t::text as row from ${name} t`)).rows.map(({ row }) => row),
    );
  expect(stored.length).toBeGreaterThan(1_000);
  for (const secret of [SHARED, OWN])
    for (const place of [stored, answered, logged])
      expect(place.filter((text) => text.includes(secret))).toEqual([]);
  const places: string[] = [];
  await changeEnvelopes(server.db, 'v2', ({ place }) => {
    places.push(place.split(' ')[0]!);
    return null;
  });
  expect([...new Set(places)]).toEqual([
    'troupe.runs',
    'troupe.network_batches',
    'troupe.network_batch_sealed',
  ]);
  expect(await violations(server.db.pool)).toEqual([]);
});
