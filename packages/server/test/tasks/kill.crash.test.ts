import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Agent, Json, PostedMessage, Session } from '@troupe/protocol';
import { openServer, someOf, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Order, Report, Strike } from './kill-worker.ts';

// The whole flow again (flow.test.ts), with the worker killed before and after every statement that writes it: the end is the same, and
// nothing is there twice. One process dies for all of them: each conversation has come to another place when it does.

const living = new Set<ChildProcess>();
let server: TestServer;
let boss: string;
beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), works: false });
  await made('/v1/tools', { name: 'lookup', kind: 'echo', effect: 'pure', params: [{ name: 'q' }] });
  await made('/v1/agents', { name: 'finder', systemPrompt: 'I am finder.', tools: ['lookup'] });
  const carries = { capabilities: [{ id: 'delegation' }] };
  boss = (await made<Agent>('/v1/agents', { name: 'boss', systemPrompt: 'I am boss.', ...carries })).id;
});
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  await server.close();
});

async function made<Body>(path: string, body: object): Promise<Body> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Body;
}

const struck = new Set<string>();
const wrote: string[] = [];

async function worker(strikes: Order['strikes'] = {}): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'kill-worker.ts'), { execArgv: [] });
  living.add(child);
  child.once('exit', () => living.delete(child));
  child.send({ url: server.databaseUrl, strikes } satisfies Order);
  await new Promise<void>((resolve, reject) => {
    child.on('message', (report: Report) => {
      if (report.type === 'working') resolve();
      else if (report.type === 'struck') struck.add(report.session);
      else wrote.push(report.statement);
    });
    child.once('exit', (code) => reject(new Error(`a worker ended with ${code} before it worked`)));
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

const session = async () => (await made<Session>(`/v1/agents/${boss}/sessions`, {})).id;

/** One conversation, and what was said to the person. */
async function converse(id: string): Promise<string[]> {
  const said: string[] = [];
  for (const text of ['What does it cost?', 'In euros.', 'Note it down.']) {
    const path = `/v1/agents/${boss}/sessions/${id}/messages`;
    const { run } = await made<PostedMessage>(path, { content: { text } });
    const { outcome, error } = await server.kernel.ended(run!.id);
    expect(error).toBeNull();
    said.push((outcome as { text: string }).text);
  }
  return said;
}

/** The last task is in the background: the conversations that were told of it. One look for all of them. */
async function told(): Promise<Set<string>> {
  await delay(100);
  const { rows } = await server.db.pool.query<{ id: string }>(
    `select s.id from troupe.messages m join troupe.sessions s on s.thread_id = m.thread_id
      where m.role = 'assistant' and m.content->>'text' = 'Heard of it.'`,
  );
  return new Set(rows.map(({ id }) => id));
}

async function stateOf(id: string): Promise<Json> {
  const { pool } = server.db;
  await until('all is told', async () => (await pool.query('select from troupe.joins')).rowCount === 0);
  return (await pool.query(STATE, [id])).rows[0].state;
}

/** Everything that was written for a session, without ids and times. What is told comes between at one place or another. */
const STATE = `with t as (select * from troupe.tasks where chat_id = $1),
  h as (select thread_id, 'chat' as what from troupe.sessions where id = $1 union all select s.thread_id, 'sub' from troupe.sub_agents s join t on t.id = s.task_id),
  said as (select h.what, m.role, regexp_replace((m.content - 'id')::text, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'id', 'g') as text
    from h join troupe.messages m on m.thread_id = h.thread_id),
  r as (select h.what, r.* from h join troupe.runs r on r.thread_id = h.thread_id)
  select jsonb_build_object(
    'tasks', (select jsonb_agg(jsonb_build_array(t.type, t.name, t.status, t.result, t.error, t.question, t.depth, t.told, t.background) order by t.created_at) from t),
    'subAgents', (select jsonb_agg(jsonb_build_array(s.role, s.status, s.iteration_count, s.summary) order by s.created_at) from troupe.sub_agents s join t on t.id = s.task_id),
    'messages', (select jsonb_agg(jsonb_build_array(said.what, said.role, said.text) order by said.what, said.role, said.text) from said),
    'told', (select jsonb_agg(jsonb_build_array(e.type, e.data->'status', e.data->'result', e.data->'question') order by e.data->>'background', e.seq)
      from h join troupe.events e on e.thread_id = h.thread_id where h.what = 'chat' and e.type like 'task.%'),
    'runs', (select jsonb_agg(jsonb_build_array(r.what, r.door, r.status, r.step) order by r.what, r.created_at) from r),
    'calls', (select jsonb_agg(jsonb_build_array(c.tool, c.status) order by r.what, r.created_at, c.step, c.position)
      from r join troupe.tool_calls c on c.run_id = r.id)) as state`;

test('killed before and after every statement of the flow: the same end, and nothing twice', async () => {
  const first = await worker();
  const unharmed = await session();
  expect(await converse(unharmed)).toEqual(['One thing: Which currency?', 'Done: 42 euros', 'Begun.']);
  await until('it was told', async () => (await told()).has(unharmed));
  const expected = await stateOf(unharmed);
  await kill(first);

  const all = strikesIn(wrote);
  expect(new Set(all.map(({ statement }) => statement)).size).toBeGreaterThanOrEqual(6);
  // Those of every run come again and again: a third of them, and all in `npm run test:long`.
  const ofAnyRun = all.filter(({ statement }) => ['claim', 'commit'].includes(statement));
  const strikes = [...all.filter((one) => !ofAnyRun.includes(one)), ...someOf('strikes', ofAnyRun, 1 / 6)];
  const cases = await Promise.all(strikes.map(async (strike) => ({ strike, id: await session() })));
  const victim = await worker(Object.fromEntries(cases.map(({ strike, id }) => [id, strike])));
  const conversing = Promise.all(
    cases.map(async ({ strike, id }) => ({ strike, id, said: await converse(id) })),
  );
  const isOver = async () => {
    const ended = await told();
    return cases.every(({ id }) => struck.has(id) || ended.has(id));
  };
  await until('all have stopped', isOver);
  await kill(victim);
  expect(await violations(server.db.pool)).toEqual([]);
  await worker();
  const conversations = await conversing;
  await until('all were told', async () => (await told()).size === cases.length + 1);
  for (const { strike, id, said } of conversations) {
    const about = JSON.stringify(strike);
    expect(said, about).toEqual(['One thing: Which currency?', 'Done: 42 euros', 'Begun.']);
    expect(await stateOf(id), about).toEqual(expected);
  }
  // What is told to the chat goes together in other ways each time.
  const missed = cases.filter(({ id }) => !struck.has(id)).map(({ strike }) => strike);
  expect(missed.filter(({ statement }) => statement !== 'join_child')).toEqual([]);
  expect(await violations(server.db.pool)).toEqual([]);
});

/** After each of them, and before each that has something to lose: what was thought or done and is not on disk. */
function strikesIn(written: readonly string[]): Strike[] {
  const counts = new Map<string, number>();
  return written.flatMap((statement): Strike[] => {
    const nth = (counts.get(statement) ?? 0) + 1;
    counts.set(statement, nth);
    const after: Strike = { statement, nth, when: 'after' };
    const isLook = statement === 'claim' || statement === 'join_child';
    return isLook ? [after] : [{ statement, nth, when: 'before' }, after];
  });
}
