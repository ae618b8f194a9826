import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Agent, Json, PostedMessage, Session } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, expect, inject, test } from 'vitest';
import type { Order, Report, Strike } from './kill-worker.ts';

// The whole flow again (flow.test.ts), with the worker killed before and after every statement that writes it: the end is the same, and
// nothing is there twice. Three lanes, each with a database and a process that goes on where another was killed.

const LANES = 3;
const living = new Set<ChildProcess>();
const servers: TestServer[] = [];
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  for (const server of servers) await server.close();
});

class Worker {
  readonly #child = fork(join(import.meta.dirname, 'kill-worker.ts'), { execArgv: [] });
  #answered = () => {};
  readonly #ready = Promise.withResolvers<void>();
  readonly wrote: string[] = [];
  struck = false;
  readonly died = Promise.withResolvers<void>();

  constructor() {
    living.add(this.#child);
    this.#child.on('message', (report: Report) => {
      if (report.type === 'ready') this.#ready.resolve();
      else if (report.type === 'done') this.#answered();
      else if (report.type === 'struck') this.struck = true;
      else this.wrote.push(report.statement);
    });
    this.#child.once('exit', () => {
      living.delete(this.#child);
      this.died.resolve();
      this.#ready.resolve();
    });
  }

  async order(order: Order): Promise<void> {
    await this.#ready.promise;
    const done = new Promise<void>((resolve) => {
      this.#answered = resolve;
    });
    if (this.#child.connected) this.#child.send(order);
    await Promise.race([done, this.died.promise]);
  }

  get alive(): boolean {
    return living.has(this.#child);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.died.promise;
  }
}

class Lane {
  readonly server: TestServer;
  readonly #boss: string;
  readonly survivor = new Worker();

  private constructor(server: TestServer, boss: string) {
    this.server = server;
    this.#boss = boss;
  }

  static async open(): Promise<Lane> {
    const server = await openServer({ postgresUrl: inject('postgresUrl'), works: false });
    servers.push(server);
    const made = async <Body>(path: string, body: object) => {
      const response = await send(server, path, body);
      expect(response.status).toBe(201);
      return (await response.json()) as Body;
    };
    await made('/v1/tools', { name: 'lookup', kind: 'echo', effect: 'pure', params: [{ name: 'q' }] });
    const finder = { name: 'finder', systemPrompt: 'I am finder.', tools: ['lookup'] };
    await made('/v1/agents', finder);
    const capabilities = [{ id: 'delegation' }];
    const boss = await made<Agent>('/v1/agents', { name: 'boss', systemPrompt: 'I am boss.', capabilities });
    return new Lane(server, boss.id);
  }

  /** One conversation; the answers, and what is there afterwards. */
  async converse(): Promise<{ said: string[]; state: Json; threads: string[] }> {
    const response = await send(this.server, `/v1/agents/${this.#boss}/sessions`, {});
    const { id } = (await response.json()) as Session;
    const said: string[] = [];
    for (const text of ['What does it cost?', 'In euros.']) {
      const posted = await send(this.server, `/v1/agents/${this.#boss}/sessions/${id}/messages`, {
        content: { text },
      });
      const { run } = (await posted.json()) as PostedMessage;
      const { outcome, error } = await this.server.kernel.ended(run!.id, { timeoutMs: 30_000 });
      expect(error).toBeNull();
      said.push((outcome as { text: string }).text);
    }
    const { pool } = this.server.db;
    await until('all is told', async () => (await pool.query('select from troupe.joins')).rowCount === 0);
    const { rows } = await pool.query(STATE, [id]);
    return { said, state: rows[0].state, threads: rows[0].threads };
  }
}

async function send({ url }: TestServer, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Everything that was written for a session, without ids and times. */
const STATE = `with t as (select * from troupe.tasks where chat_id = $1),
  h as (select thread_id, 'chat' as what from troupe.sessions where id = $1 union all select s.thread_id, 'sub' from troupe.sub_agents s join t on t.id = s.task_id)
  select jsonb_build_object(
    'tasks', (select jsonb_agg(jsonb_build_array(t.type, t.name, t.status, t.result, t.error, t.question, t.depth, t.told, t.background)) from t),
    'subAgents', (select jsonb_agg(jsonb_build_array(s.role, s.status, s.iteration_count, s.summary)) from troupe.sub_agents s join t on t.id = s.task_id),
    'messages', (select jsonb_agg(jsonb_build_array(h.what, m.role, m.content - 'id' #- '{result,taskId}' #- '{result,subAgentId}' #- '{arguments,subAgentId}') order by h.what, m.seq)
      from h join troupe.messages m on m.thread_id = h.thread_id),
    'told', (select jsonb_agg(jsonb_build_array(e.type, e.data->'status', e.data->'result', e.data->'question') order by e.seq)
      from h join troupe.events e on e.thread_id = h.thread_id where h.what = 'chat' and e.type like 'task.%'),
    'runs', (select jsonb_agg(jsonb_build_array(h.what, r.door, r.status, r.step) order by h.what, r.id) from h join troupe.runs r on r.thread_id = h.thread_id),
    'calls', (select jsonb_agg(jsonb_build_array(c.tool, c.status) order by h.what, r.id, c.step, c.position)
      from h join troupe.runs r on r.thread_id = h.thread_id join troupe.tool_calls c on c.run_id = r.id)) as state,
    (select array_agg(thread_id) from h) as threads`;

test('killed before and after every statement of the flow: the same end, and nothing twice', async () => {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => Lane.open()));
  const [first] = lanes as [Lane];
  await first.survivor.order({ type: 'work', url: first.server.databaseUrl });
  const unharmed = await first.converse();
  expect(unharmed.said).toEqual(['One thing: Which currency?', 'Done: 42 euros']);
  await first.survivor.order({ type: 'rest' });

  const cases = strikesIn(first.survivor.wrote);
  expect(new Set(cases.map(({ statement }) => statement)).size).toBe(7);
  const missed: Strike[] = [];
  const play = async (lane: Lane) => {
    let next = new Worker();
    for (let strike = cases.shift(); strike; strike = cases.shift()) {
      const victim = next;
      if (cases.length > 0) next = new Worker();
      await victim.order({ type: 'work', url: lane.server.databaseUrl, strike });
      const relieved = victim.died.promise.then(() =>
        lane.survivor.order({ type: 'work', url: lane.server.databaseUrl }),
      );
      const about = JSON.stringify(strike);
      const harmed = await lane.converse();
      expect(harmed.said, about).toEqual(unharmed.said);
      expect(harmed.state, about).toEqual(unharmed.state);
      if (!victim.struck) missed.push(strike);
      await victim.kill();
      await relieved;
      await lane.survivor.order({ type: 'rest' });
    }
  };
  await Promise.all(lanes.map(play));
  // What is told to the chat goes together in other ways each time.
  expect(missed.filter(({ statement }) => statement !== 'join_child')).toEqual([]);
  for (const { server } of lanes) expect(await violations(server.db.pool)).toEqual([]);
}, 180_000);

/** After each of them, and before each that has something to lose: what was thought or done and is not on disk. */
function strikesIn(wrote: readonly string[]): Strike[] {
  const counts = new Map<string, number>();
  return wrote.flatMap((statement): Strike[] => {
    const nth = (counts.get(statement) ?? 0) + 1;
    counts.set(statement, nth);
    const after: Strike = { statement, nth, when: 'after' };
    const isLook = statement === 'claim' || statement === 'join_child';
    return isLook ? [after] : [{ statement, nth, when: 'before' }, after];
  });
}
