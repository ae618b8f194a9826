import { newId } from '@troupe/server';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Counter, countedHere, metricsText } from '../../src/base/index.ts';
import { inside } from '../access/fixture.ts';
import { readExposition } from './exposition.ts';

let server: TestServer;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role === 'tool') return { text: 'It is late.' };
      if (last.role === 'user' && last.text === 'Again?')
        return { error: { code: 'no_such_model', message: 'no', retryable: false } };
      return { calls: [{ name: 'current_time' }, { name: 'no_such_tool' }] };
    },
  });
});

afterAll(() => server.close());

async function scrape(headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/metrics`, { headers });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const text = await response.text();
  const lines = readExposition(text);
  /** The sum over all series of that name with these labels; null where there is none. */
  const value = (name: string, labels: Record<string, string> = {}) => {
    const found = lines.filter(
      (line) => line.name === name && Object.entries(labels).every(([key, one]) => line.labels[key] === one),
    );
    return found.length === 0 ? null : found.reduce((sum, line) => sum + line.value, 0);
  };
  return { text, lines, value };
}

async function post(path: string, body: unknown): Promise<Record<string, string>> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as Record<string, string>;
}

test('what happens is counted, under no id, and what is told can be read by the grammar', async () => {
  const before = await scrape();
  expect(before.value('troupe_database_up')).toBe(1);
  expect(before.value('troupe_workers')).toBe(1);
  expect(before.value('troupe_runs', { status: 'queued' })).toBe(0);

  const agent = await post('/v1/agents', { name: 'Ada', capabilities: [{ id: 'current_time' }] });
  const sessions = `/v1/agents/${agent.id}/sessions`;
  const session = await post(sessions, {});
  const reading = new AbortController();
  const stream = await fetch(`${server.url}${sessions}/${session.id}/events`, {
    headers: { accept: 'text/event-stream' },
    signal: reading.signal,
  });
  await stream.body!.getReader().read();
  await post(`${sessions}/${session.id}/messages`, { content: { text: 'How late is it?' } });
  await until(
    'it is answered',
    async () => (await scrape()).value('troupe_runs_ended_total', { status: 'completed' }) === 1,
  );
  await post(`${sessions}/${session.id}/messages`, { content: { text: 'Again?' } });
  await until(
    'it has failed',
    async () => (await scrape()).value('troupe_runs_ended_total', { status: 'failed' }) === 1,
  );
  await fetch(`${server.url}/v1/agents/${newId()}`);
  await fetch(`${server.url}/nothing/${newId()}`);
  await fetch(`${server.url}/healthz`);

  const { text, value } = await scrape();
  const seen = {
    claimed: value('troupe_runs_claimed_total'),
    commits: value('troupe_commits_total', { kind: 'commit', outcome: 'committed' })! >= 3,
    groups: value('troupe_commit_group_size_count', { kind: 'start' }),
    tools: value('troupe_tool_calls_total', { outcome: 'completed' }),
    noTools: value('troupe_tool_calls_total', { outcome: 'failed' }),
    answered: value('troupe_model_calls_total', { provider: 'demo', outcome: 'answered' }),
    failed: value('troupe_model_errors_total', { provider: 'demo', code: 'no_such_model' }),
    tokens: value('troupe_model_tokens_total', { direction: 'input' })! > 0,
    readers: value('troupe_stream_readers'),
    created: value('troupe_http_requests_total', { method: 'POST', route: '/v1/agents', status: '201' }),
    posted: value('troupe_http_request_seconds_count', {
      method: 'POST',
      route: '/v1/agents/{agentId}/sessions/{sessionId}/messages',
    }),
    missing: value('troupe_http_requests_total', { route: '/v1/agents/{agentId}', status: '404' }),
    nowhere: value('troupe_http_requests_total', { route: 'none', status: '404' }),
    health: value('troupe_http_requests_total', { route: '/healthz', status: '200' }),
    waiting: value('troupe_pool_waiting', { pool: 'kernel' }),
    memory: value('process_resident_memory_bytes')! > 10_000_000,
    lag: value('nodejs_eventloop_lag_max_seconds') !== null,
  };
  expect(seen).toEqual({
    ...{
      claimed: 2,
      commits: true,
      groups: 2,
      tools: 1,
      noTools: 1,
      answered: 2,
      failed: 1,
      tokens: true,
      readers: 1,
    },
    ...{ created: 1, posted: 2, missing: 1, nowhere: 1, health: 1, waiting: 0, memory: true, lag: true },
  });
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
  expect(text).not.toContain('Ada');
  reading.abort();
  await until('the reader is gone', async () => (await scrape()).value('troupe_stream_readers') === 0);
});

test('what waits in the queue is told with its age, and what waits for others by status', async () => {
  const { pool } = server.db;
  const insert = (status: string, ready = true, lane: string | null = null) =>
    pool.query(
      `insert into troupe.runs (id, project_id, door, snapshot_id, thread_id, root_run_id, trigger_type, wall_ms, status, ready,
         lane, lane_limit, run_at, wait_deadline)
       select gen_random_uuid(), gen_random_uuid(), 'nobody', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'message', 1000,
         $1::troupe.run_status, $2, $3::text, case when $3::text is not null then 1 end, now() - interval '1 minute',
         case when $1::text = 'waiting_tool' then now() + interval '1 day' end`,
      [status, ready, lane],
    );
  await insert('queued');
  await insert('queued', false);
  await insert('queued', true, 'a lane');
  await insert('waiting_tool');
  const { value } = await scrape();
  expect(value('troupe_runs', { status: 'queued' })).toBe(3);
  expect(value('troupe_queue_depth')).toBe(2);
  expect(value('troupe_queue_oldest_seconds')).toBeGreaterThanOrEqual(60);
  expect(value('troupe_runs', { status: 'waiting_tool' })).toBe(1);
  await pool.query(`delete from troupe.runs where door = 'nobody'`);
});

test('what triggers have yet to do is told, how late it is, and what was given up', async () => {
  const { pool } = server.db;
  await pool.query(`with rule as (insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled)
      select gen_random_uuid(), p.id, 'x' || n, '{}', '{}', '', '{}', n = 1 from (select id from troupe.projects limit 1) p, generate_series(1, 2) n returning id, project_id, enabled)
    insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, depth, own, changed_at, status, next_attempt_at, ended_at)
      select gen_random_uuid(), r.project_id, r.id, 1, 1, n, 'create', 'x', 'x', 0, false, now(), case n when 1 then 'dead' else 'pending' end,
        case when n > 1 then now() - case when r.enabled then interval '5 minutes' else interval '1 day' end end, case n when 1 then now() end
      from rule r, generate_series(1, 2) n`);
  const { value } = await scrape();
  const names = ['changes', 'deliveries_open', 'deliveries_dead'];
  expect(names.map((name) => value(`troupe_trigger_${name}`))).toEqual([0, 2, 2]);
  // What waits for a rule that is off is not late.
  expect(value('troupe_trigger_deliveries_late_seconds')).toBeGreaterThanOrEqual(300);
  expect(value('troupe_trigger_deliveries_late_seconds')).toBeLessThan(3_600);
  await pool.query('delete from troupe.triggers');
});

test('labels with many values do not grow without end', () => {
  const counter = new Counter('test_total', 'A "test"\nof \\ what is escaped.', ['label']);
  for (let i = 0; i < 5_000; i++) counter.add(1, `value "${i}"\n\\`);
  const lines = readExposition(metricsText(countedHere())).filter(({ name }) => name === 'test_total');
  expect(lines.length).toBe(1_001);
  expect(lines[3]!.labels.label).toBe('value "3"\n\\');
  expect(lines.find(({ labels }) => labels.label === 'other')?.value).toBe(4_000);
});

test('metrics are for whoever runs the server', async () => {
  const closed = await openServer({
    postgresUrl: inject('postgresUrl'),
    mode: 'closed',
    metricsToken: 'the-token-of-prometheus',
  });
  try {
    const { db, access } = closed;
    const [first, other] = [newId(), newId()];
    await db.pool.query(`insert into troupe.projects (id, name) values ($1, 'default'), ($2, 'other')`, [
      first,
      other,
    ]);
    const key = async (project: string, kind: 'secret' | 'public', scopes: ('admin' | 'runs:read')[] = []) =>
      (await access.keys.create(inside(project), { name: 'k', kind, scopes, expiresAt: null })).key;
    const status = async (authorization?: string, troupeKey?: string) => {
      const headers = {
        ...(authorization ? { authorization } : {}),
        ...(troupeKey ? { 'troupe-key': troupeKey } : {}),
      };
      const response = await fetch(`${closed.url}/metrics`, { headers });
      const text = await response.text();
      if (response.status === 200) readExposition(text);
      return response.status;
    };
    expect(await status()).toBe(401);
    expect(await status('Bearer the-token-of-prometheus')).toBe(200);
    expect(await status('Bearer the-token-of-somebody')).toBe(401);
    expect(await status(`Bearer ${await key(first, 'secret')}`)).toBe(200);
    expect(await status(`Bearer ${await key(first, 'secret', ['admin'])}`)).toBe(200);
    expect(await status(`Bearer ${await key(first, 'secret', ['runs:read'])}`)).toBe(403);
    expect(await status(`Bearer ${await key(other, 'secret')}`)).toBe(403);
    expect(await status(`Bearer ${await key(first, 'public')}`)).toBe(403);
    expect(await status('Bearer the-token-of-prometheus', await key(first, 'public'))).not.toBe(500);
    const { status: elsewhere } = await fetch(`${closed.url}/v1/project`, {
      headers: { authorization: 'Bearer the-token-of-prometheus' },
    });
    expect(elsewhere).toBe(401);
    expect((await fetch(`${closed.url}/metrics`, { method: 'POST' })).status).toBe(405);
  } finally {
    await closed.close();
  }
});
