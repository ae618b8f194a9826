import { randomBytes } from 'node:crypto';
import type {
  Event,
  Invoked,
  Json,
  JsonObject,
  Message,
  Problem,
  Run,
  RunStep,
  ToolCall,
} from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { invalidDocuments } from '../sync/valid.ts';
import { compiled, publish } from './published-network.ts';

// Runs that calls begin and wait for: tasks of a network's agents, networks and agents as tools. One server; every test brings the
// script of all runs of its tree, which is found by a word that what is asked hands on. Long because a server costs more than a test.

type Say = (request: ModelRequest, agent: string) => Turn | Promise<Turn>;
type Whole = Run & { calls: ToolCall[]; steps: RunStep[] };
const scripts = new Map<string, Say>();
const told: string[] = [];
const planted = { tenant: `tenant-${randomBytes(8).toString('hex')}`, pin: { code: 8_321_777_123 } };
let server: TestServer;

beforeAll(async () => {
  const write = (...words: unknown[]) => void told.push(JSON.stringify(words));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    logger: { debug: write, info: write, warn: write, error: write },
    script: (request) => {
      told.push(JSON.stringify(request));
      const word = wordIn(request);
      return scripts.get(word)!(request, /I am (\w+)\./.exec(request.system)![1]!);
    },
  });
  const system = { name: 'tenant', source: 'system', required: true };
  await made('/v1/tools', { name: 'lookup', kind: 'echo', params: [{ name: 'q', required: true }, system] });
  await made('/v1/tools', { name: 'unlock', kind: 'echo', params: [{ name: 'pin', source: 'system' }] });
  await made('/v1/tools', { name: 'hear', kind: 'client' });
  await published(INNER);
  await made('/v1/agents', { name: 'Ada', systemPrompt: 'I am ada.' });
  const input = { name: 'input', required: true, schema: { type: 'string' } };
  const ask = (name: string, more: object) => made('/v1/tools', { name, ...more });
  await ask('ask_inner', { kind: 'network', network: { network: 'Inner' }, params: [input, system] });
  await ask('ask_object', {
    kind: 'network',
    network: { network: 'inner', agent: 'SECOND' },
    params: [input, { name: 'more', source: 'default', defaultValue: 1 }],
  });
  await ask('ask_soon', { kind: 'network', network: { network: 'inner' }, deadlineMs: 700, params: [input] });
  await ask('ask_ada', { kind: 'agent', agent: { agent: 'ada' }, params: [input] });
  await published(OUTER);
});
afterAll(async () => {
  const { rows } =
    await server.db.pool.query(`select (select json_agg(m.content || coalesce(m.metadata, '{}')) from troupe.messages m)::text as messages,
    (select json_agg(e.data) from troupe.events e)::text as events, (select json_agg(c.*) from troupe.tool_calls c)::text as calls,
    (select json_agg(to_jsonb(r) - 'sealed') from troupe.runs r)::text as runs, (select json_agg(s.*) from troupe.run_steps s)::text as steps`);
  expect((await invalidDocuments(server.db.pool)).invalid).toEqual([]);
  told.push(...Object.values(rows[0]).map(String));
  for (const secret of [planted.tenant, '8321777123'])
    expect(told.filter((one) => one.includes(secret)).map((one) => one.slice(0, 2_000))).toEqual([]);
  await until(
    'all are joined',
    async () => (await server.db.pool.query('select from troupe.joins')).rowCount === 0,
  );
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

const INNER = {
  name: 'Inner',
  tools: [{ key: 'lookup' }],
  agents: [
    {
      key: 'first',
      isDefault: true,
      prompt: 'I am first.',
      allowRespond: true,
      tools: ['lookup'],
      routes: ['second'],
    },
    { key: 'second', prompt: 'I am second.', allowRespond: true },
  ],
};
const OUTER = {
  name: 'Outer',
  policy: { maxTasks: 14, taskSteps: 3, taskDepth: 3, runTasks: 15 },
  response: { schema: { type: 'object', required: ['answer'] } },
  tools: ['lookup', 'unlock', 'ask_inner', 'ask_object', 'ask_soon', 'ask_ada', 'hear'].map((key) => ({
    key,
  })),
  agents: [
    {
      key: 'boss',
      isDefault: true,
      prompt: 'I am boss.',
      allowRespond: true,
      allowTaskGroup: true,
      tools: ['lookup', 'ask_inner', 'ask_object', 'ask_soon', 'ask_ada', 'hear'],
      routes: ['lead', 'worker'],
    },
    {
      key: 'lead',
      prompt: 'I am lead.',
      allowTaskGroup: true,
      tools: ['lookup'],
      routes: ['worker', 'loner'],
    },
    { key: 'worker', prompt: 'I am worker.', description: 'Works.', tools: ['lookup'], routes: ['lead'] },
    { key: 'loner', prompt: 'I am loner.' },
  ],
};

async function ask<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  told.push(text);
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}
const get = <Body>(path: string) => ask<Body>('GET', path).then(({ body }) => body);

async function made<Body = JsonObject>(path: string, body: object): Promise<Body> {
  const answer = await ask<Body>('POST', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function published(definition: { name: string; [field: string]: unknown }): Promise<void> {
  const put = await ask('PUT', `/v1/networks/${definition.name}/definition`, definition);
  expect(put.status, JSON.stringify(put.body)).toBe(200);
  await made(`/v1/networks/${definition.name}/publish`, {});
}

const call = (name: string, args: Json = {}) => ({ name, arguments: args });
const calls = (...all: ReturnType<typeof call>[]): Turn => ({ calls: all });
const respond = (payload: Json): Turn => calls(call('respond', { payload }));
const delegate = (agent: string, assignment: string, context?: Json) =>
  call('delegate_to_agent', { agent, assignment, ...(context === undefined ? {} : { context }) });
const results = ({ messages }: ModelRequest) =>
  messages.flatMap((one) => (one.role === 'tool' ? [one.output as JsonObject & { code?: string }] : []));
const details = (id: string) => get<Whole>(`/v1/runs/${id}`);
const children = (id: string) =>
  get<{ data: Run[] }>(`/v1/runs?parentRunId=${id}&limit=100`).then(({ data }) => data);

/** Starts a run of the network; `word` is to be handed on in whatever it asks of others. */
async function begin(say: Say, more: JsonObject = {}, network = 'outer') {
  const word = `ask-${newId()}`;
  scripts.set(word, say);
  const run = await made<Invoked>(`/v1/networks/${network}/invoke`, {
    input: word,
    systemParams: planted,
    timeoutMs: 20_000,
    ...more,
  });
  return { word, run };
}
const play = (say: Say, more: JsonObject = {}) => begin(say, { mode: 'wait', ...more });
const wordIn = (request: ModelRequest) =>
  /ask-[0-9a-f-]{36}/.exec(JSON.stringify([request.messages, request.system]))![0];

describe('tasks', () => {
  test('ten agents and three tools at once, ended in any order, make exactly one next step', async () => {
    const gates = new Map<string, () => void>();
    let delegated: Json[] = [];
    const say: Say = async (request, agent) => {
      const word = wordIn(request);
      if (agent === 'boss') {
        if (results(request).length > 0) {
          delegated = results(request);
          return respond({ answer: 'done' });
        }
        const tasks = Array.from({ length: 10 }, (_, n) =>
          delegate(n % 2 ? 'lead' : 'worker', `${word} part ${n}`, { n }),
        );
        return calls(
          call('lookup', { q: 'a' }),
          ...tasks,
          call('lookup', { q: 'b' }),
          call('lookup', { q: 'c' }),
        );
      }
      const { text } = request.messages[0] as { text: string };
      const part = /part (\d+)/.exec(text)![1]!;
      expect(text).toContain(`# Context\n\n{"n":${part}}`);
      expect(request.tools.map(({ name }) => name)).toContain('respond');
      await new Promise<void>((resolve) => gates.set(part, resolve));
      return respond(`part ${part} by ${agent}`);
    };
    const { run } = await begin(say);
    await until('all work', async () => gates.size === 10);
    await until('it waits', async () => (await details(run.id)).status === 'waiting_tool');
    const before = await details(run.id);
    expect(before.calls.filter(({ waitsFor }) => waitsFor === 'task')).toHaveLength(10);
    // Nobody else settles what waits for a run.
    const open = before.calls.find(({ waitsFor }) => waitsFor === 'task')!;
    const results_ = [{ callId: open.id, result: 'mine' }];
    const refused = await ask<Problem>('POST', `/v1/runs/${run.id}/tool-results`, { results: results_ });
    expect([refused.status, refused.body.code]).toEqual([409, 'wrong_settlement']);
    for (const part of [...gates.keys()].sort(() => Math.random() - 0.5)) gates.get(part)!();
    await server.kernel.ended(run.id);

    const after = await details(run.id);
    expect(after).toMatchObject({ status: 'completed', outcome: { response: { answer: 'done' } }, step: 2 });
    expect(after.steps[0]!.decision).toEqual([
      {
        type: 'TASK_GROUP',
        tasks: expect.arrayContaining([
          expect.objectContaining({ type: 'DELEGATE', agent: 'lead', status: 'ok' }),
          expect.objectContaining({ type: 'USE_TOOL', tool: 'lookup', status: 'ok' }),
        ]),
      },
    ]);
    expect(delegated).toHaveLength(13);
    const spawned = await children(run.id);
    expect(spawned).toHaveLength(10);
    const { data: listed } = await get<{ data: Run[] }>('/v1/networks/outer/runs');
    expect(listed.map(({ id }) => id)).toEqual([run.id]);
    for (const child of spawned) {
      const waited = after.calls.find(({ id }) => id === child.parentCallId)!;
      expect(child).toMatchObject({ status: 'completed', parentRunId: run.id, triggerType: 'task' });
      expect(waited).toMatchObject({ status: 'completed', settledBy: `run:${child.id}` });
      expect(waited.output).toEqual((child.outcome as JsonObject).response);
    }
    const { data: events } = await get<{ data: Event[] }>(`/v1/runs/${run.id}/events?limit=1000`);
    const count = (type: string) => events.filter((event) => event.type === type).length;
    expect([count('run.waiting_tool'), count('run.resumed'), count('step.generated')]).toEqual([1, 1, 2]);
    const waiting = events.find(({ type }) => type === 'tool.waiting')!;
    expect(spawned.map(({ id }) => id)).toContain(waiting.data!.runId);
  });

  test('what is not allowed does not happen, and the agent reads why', async () => {
    const codes = new Map<string, (string | undefined)[]>();
    const first =
      (name: string, turn: (word: string) => Turn): Say =>
      (request, agent) => {
        if (agent !== 'boss' && agent !== 'worker') return respond('did it');
        if (results(request).length === 0) return turn(wordIn(request));
        codes.set(
          name,
          results(request).map(({ code }) => code),
        );
        return respond({ answer: name });
      };
    const cases: Record<string, [(word: string) => Turn, JsonObject, (string | undefined)[]]> = {
      unknown: [(w) => calls(delegate('nobody', w)), {}, ['unknown_agent']],
      route: [(w) => calls(delegate('loner', w), delegate('lead', w)), {}, ['route_not_allowed', undefined]],
      assignment: [
        (w) => calls(delegate('lead', ' '), call('delegate_to_agent', { agent: w })),
        {},
        ['invalid_params', 'invalid_params'],
      ],
      alone: [
        (w) => calls(delegate('lead', w), call('respond', { payload: { answer: 'x' } })),
        {},
        [undefined, 'not_alone'],
      ],
      many: [
        (w) =>
          calls(
            ...Array.from({ length: 16 }, (_, n) =>
              n < 2 ? delegate('lead', w) : call('lookup', { q: 'x' }),
            ),
          ),
        {},
        [...Array(14).fill(undefined), 'too_many_tasks', 'too_many_tasks'],
      ],
    };
    for (const [name, [turn, more, wanted]] of Object.entries(cases)) {
      const { run } = await play(first(name, turn), more);
      expect(run, name).toMatchObject({ status: 'completed', response: { answer: name } });
      expect(codes.get(name), name).toEqual(wanted);
      const begun = (await children(run.id)).length;
      const allowed = (await details(run.id)).calls.filter(
        ({ tool, status }) => tool === 'delegate_to_agent' && status === 'completed',
      );
      expect(begun, name).toBe(allowed.length);
    }
    // An agent without the right is not offered it, and is refused all the same.
    const asked: string[] = [];
    const { run } = await play((request, agent) => {
      if (agent === 'lead') return calls(call('route_to_agent', { agent: 'worker' }));
      if (agent === 'boss')
        return results(request).length === 0 && asked.length === 0
          ? calls(call('route_to_agent', { agent: 'worker' }))
          : respond({ answer: 'x' });
      asked.push(...request.tools.map(({ name }) => name));
      return calls(delegate('lead', wordIn(request)));
    });
    expect(asked).not.toContain('delegate_to_agent');
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'too_many_refusals', message: expect.stringContaining('task_group_not_allowed') },
    });
    expect(await children(run.id)).toEqual([]);
  });

  test('a decision can be checked without a run', async () => {
    const check = (agent: string, action: object, more: object = {}) =>
      made<JsonObject>('/v1/networks/outer/check', {
        agent,
        instruction: { action },
        systemParams: planted,
        ...more,
      });
    const tasks = [
      { type: 'USE_TOOL', tool: 'lookup', params: { q: 'x' } },
      { type: 'DELEGATE', agent: 'LEAD', assignment: 'do' },
      { type: 'DELEGATE', agent: 'loner', assignment: 'do' },
    ];
    expect(await check('boss', { type: 'TASK_GROUP', tasks: tasks.slice(0, 2) })).toMatchObject({
      status: 'ok',
      tasks: [{ status: 'ok', params: { q: 'x' } }, { nextAgent: 'lead' }],
    });
    expect(await check('boss', { type: 'TASK_GROUP', tasks })).toMatchObject({
      status: 'retry',
      code: 'route_not_allowed',
      tasks: [{ status: 'ok' }, { status: 'ok' }, { code: 'route_not_allowed' }],
    });
    expect(await check('worker', { type: 'TASK_GROUP', tasks: tasks.slice(0, 1) })).toMatchObject({
      code: 'task_group_not_allowed',
    });
    expect(await check('boss', { type: 'TASK_GROUP', tasks: Array(15).fill(tasks[1]) })).toMatchObject({
      code: 'too_many_tasks',
    });
    expect(await check('loner', { type: 'TASK_RESPOND', payload: 7 }, { delegated: true })).toMatchObject({
      status: 'ok',
      response: 7,
    });
    expect(await check('boss', { type: 'TASK_RESPOND', payload: 7 })).toMatchObject({
      status: 'retry',
      code: 'not_a_task',
    });
    expect(
      await check('boss', { type: 'RESPOND', payload: { answer: 1 } }, { delegated: true }),
    ).toMatchObject({ status: 'retry', code: 'respond_in_task' });
    const prompt = await made<{ system: string; tools: { name: string }[] }>('/v1/networks/outer/prompt', {
      agent: 'lead',
      delegated: true,
    });
    expect(prompt.system).toContain('answer the task that you were given');
    expect(prompt.tools.map(({ name }) => name).sort()).toEqual([
      'delegate_to_agent',
      'lookup',
      'respond',
      'route_to_agent',
    ]);
    const { agents } = await get<{ agents: JsonObject[] }>('/v1/networks/outer/definition');
    expect(agents.map(({ allowTaskGroup }) => allowTaskGroup)).toEqual([true, true, false, false]);
  });

  test('tasks within tasks: system parameters reach them, and only so deep and so many', async () => {
    const seen: JsonObject[] = [];
    const { run } = await play(async (request, agent) => {
      const word = wordIn(request);
      const [result] = results(request);
      if (agent === 'boss')
        return result ? respond({ answer: result as Json }) : calls(delegate('LEAD', `${word} 1`));
      const depth = Number(/ (\d)/.exec((request.messages[0] as { text: string }).text)![1]);
      if (!result && agent === 'lead')
        return calls(
          delegate(depth < 3 ? 'worker' : 'loner', `${word} ${depth + 1}`),
          call('lookup', { q: 'l' }),
        );
      // Whoever was given it hands it on, within the task.
      if (agent === 'worker') return calls(call('route_to_agent', { agent: 'lead', context: 'go on' }));
      seen.push(...results(request));
      return respond({ depth, got: results(request) as Json[] });
    });
    expect(run).toMatchObject({ status: 'completed' });
    // The fourth would be too deep.
    expect(seen.map(({ code }) => code).filter(Boolean)).toEqual(['task_depth']);
    expect(JSON.stringify(seen)).toContain('[secret tenant]');
    const [lead] = await children(run.id);
    expect(lead!.trigger).toMatchObject({ agent: 'lead', delegated: true });
    const [worker] = await children(lead!.id);
    expect(await children(worker!.id)).toMatchObject([{ status: 'completed', outcome: { agent: 'lead' } }]);
    const many = await play((request, agent) => {
      if (agent !== 'boss') return respond('yes');
      if (results(request).length < 14)
        return calls(...Array.from({ length: 14 }, () => delegate('worker', wordIn(request))));
      if (results(request).length < 16)
        return calls(delegate('worker', wordIn(request)), delegate('worker', wordIn(request)));
      return respond({ answer: results(request).map(({ code }) => code ?? null) as Json });
    });
    const answer = (many.run.response as { answer: (string | null)[] }).answer;
    expect(answer.filter(Boolean)).toEqual(['too_many_runs']);
    expect(await children(many.run.id)).toHaveLength(15);
  });

  test('a task that fails is a failed call, and the run goes on', async () => {
    const kinds = ['endless', 'refused', 'huge', 'fine'];
    const { run } = await play((request, agent) => {
      const word = wordIn(request);
      const got = request.messages.flatMap((one) =>
        one.role === 'tool' ? [one.output as { code?: string } | null] : [],
      );
      if (agent === 'boss') {
        if (got.length > 0) return respond({ answer: got.map((one) => one?.code ?? null) });
        return calls(
          ...kinds.map((kind) => delegate(kind === 'refused' ? 'lead' : 'worker', `${word} ${kind}`)),
        );
      }
      const { text } = request.messages[0] as { text: string };
      if (text.includes('fine')) return respond(null);
      if (text.includes('huge')) return respond('x'.repeat(300_000));
      return agent === 'lead' ? calls(call('hear')) : calls(call('lookup', { q: 'again' }));
    });
    expect(run.response).toEqual({ answer: ['step_limit', 'step_limit', 'output_too_large', null] });
    const ended = (await children(run.id)).map(({ status, step }) => `${status} ${step}`);
    expect(ended.sort()).toEqual(['completed 1', 'completed 1', 'failed 3', 'failed 3']);
    const { calls: settled } = await details(run.id);
    const message = expect.stringMatching(/^The task failed: .*3 steps/);
    expect(settled[0]!.error).toMatchObject({ code: 'step_limit', message });
  });

  test('a canceled run takes all of its tree with it, and can be taken up again', async () => {
    let again = false;
    const say: Say = async (request, agent) => {
      const word = wordIn(request);
      if (again) return agent === 'boss' ? respond({ answer: 'again' }) : respond('x');
      if (agent === 'boss') return calls(delegate('lead', word), call('hear'));
      if (agent === 'lead') return calls(delegate('worker', word));
      return new Promise<Turn>(() => {});
    };
    const { run } = await begin(say);
    const tree = async () => {
      const [lead] = await children(run.id);
      const [worker] = lead ? await children(lead.id) : [];
      return [lead, worker];
    };
    await until('the last works', async () => (await tree())[1]?.status === 'running');
    await made(`/v1/runs/${run.id}/cancel`, {});
    await until('all are canceled', async () => (await tree()).every((one) => one!.status === 'canceled'));
    expect((await tree()).map((one) => one!.cancelReason)).toEqual(['parent', 'parent']);
    again = true;
    await made(`/v1/runs/${run.id}/retry`, {});
    expect(await server.kernel.ended(run.id)).toMatchObject({
      status: 'completed',
      outcome: { response: { answer: 'again' } },
    });
  });

  test('race: runs are canceled while their tasks end, and nothing is left', async () => {
    const say: Say = (request, agent) => {
      if (agent !== 'boss') return respond('done');
      const task = () => delegate('worker', wordIn(request));
      return results(request).length > 0 ? respond({ answer: 'x' }) : calls(task(), task(), task());
    };
    const begun = await Promise.all(Array.from({ length: 15 }, () => begin(say)));
    const stopped = begun.map(async ({ run }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
      return ask('POST', `/v1/runs/${run.id}/cancel`, {});
    });
    await Promise.all(stopped);
    const left = `select from troupe.runs where root_run_id = any($1) and status in ('queued', 'running', 'waiting_tool')`;
    const ids = begun.map(({ run }) => run.id);
    await until('all have ended', async () => (await server.db.pool.query(left, [ids])).rowCount === 0);
  });

  test('a run that somebody holds does not keep others from going on', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const say: Say = async (request, agent) => {
      if (agent === 'boss')
        return results(request).length > 0
          ? respond({ answer: 'x' })
          : calls(delegate('worker', wordIn(request)));
      await gate;
      return respond('done');
    };
    const [first, second] = [await begin(say), await begin(say)];
    const waits = async (id: string) => (await details(id)).status === 'waiting_tool';
    await until('both wait', async () => (await waits(first.run.id)) && waits(second.run.id));
    const holder = await server.db.pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select from troupe.runs where id = $1 for no key update', [first.run.id]);
      const [child] = await children(first.run.id);
      await made(`/v1/runs/${child!.id}/cancel`, {});
      go();
      await server.kernel.ended(second.run.id);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    expect(await server.kernel.ended(first.run.id)).toMatchObject({ status: 'completed' });
  });

  test('a child that is canceled, or takes too long, is told to whoever waits', async () => {
    const say: Say = (request, agent) => {
      const got = results(request);
      if (agent === 'boss')
        return got.length > 0
          ? respond({ answer: got.map(({ code }) => code ?? null) as Json })
          : calls(delegate('worker', wordIn(request)), call('ask_soon', { input: wordIn(request) }));
      return new Promise<Turn>(() => {});
    };
    await published({ ...OUTER, name: 'Brief', policy: { ...OUTER.policy, wallMs: 1_000 } });
    const endless: Say = (request, agent) =>
      agent === 'boss' ? calls(delegate('worker', wordIn(request))) : new Promise<Turn>(() => {});
    const { run: brief } = await begin(endless, {}, 'brief');
    const { run } = await begin(say);
    await until(
      'both work',
      async () =>
        (await children(run.id)).filter(({ status }) => status === 'running').length === 2 ||
        (await details(run.id)).calls.some(({ status }) => status === 'expired'),
    );
    const task = (await details(run.id)).calls.find(({ tool }) => tool === 'delegate_to_agent')!;
    const child = (await children(run.id)).find(({ parentCallId }) => parentCallId === task.id)!;
    await made(`/v1/runs/${child.id}/cancel`, {});
    expect(await server.kernel.ended(run.id)).toMatchObject({
      outcome: { response: { answer: ['task_canceled', 'expired'] } },
    });
    await until('both have ended', async () =>
      (await children(run.id)).every(({ status }) => status === 'canceled'),
    );
    // So is the task of a run whose own time is over.
    await until('its time is over', async () => (await details(brief.id)).status === 'canceled');
    await until('so is its task', async () => (await children(brief.id))[0]!.status === 'canceled');
    expect((await details(brief.id)).cancelReason).toBe('timeout');
  });
});

describe('networks and agents as tools', () => {
  test('a network gets its input and its system parameters, and stays what it was when the other was published', async () => {
    const inputs: string[] = [];
    const say: Say = async (request, agent) => {
      const got = results(request);
      const { text } = request.messages[0] as { text: string };
      if (agent === 'boss') {
        const input = wordIn(request);
        return got.length > 0
          ? respond({ answer: got as Json[] })
          : calls(
              call('ask_inner', { input }),
              call('ask_object', { input }),
              call('ask_ada', { input: `${input} please` }),
            );
      }
      if (agent === 'ada') return { text: `ada read ${text.includes('please')}` };
      inputs.push(`${agent} ${text}`);
      if (agent === 'first' && got.length === 0) return calls(call('lookup', { q: 'in' }));
      return respond(agent === 'first' ? { looked: got[0] as Json } : 'second');
    };
    const expected = [
      { looked: { echo: { q: 'in', tenant: '[secret tenant]' } } },
      { message: 'second' },
      'ada read true',
    ];
    const before = await play(say);
    expect(before.run).toMatchObject({ status: 'completed', response: { answer: expected } });
    expect(inputs.some((one) => one === `second {"input":"${before.word}","more":1}`)).toBe(true);
    expect(inputs.some((one) => one === `first ${before.word}`)).toBe(true);

    const changed = {
      ...INNER,
      agents: [{ ...INNER.agents[0], prompt: 'I am changed.', isDefault: true }, INNER.agents[1]],
    };
    await published(changed);
    const ada = (await get<{ data: { id: string; name: string }[] }>('/v1/agents')).data.find(
      ({ name }) => name === 'Ada',
    )!;
    await ask('PATCH', `/v1/agents/${ada.id}`, { systemPrompt: 'I am other.' });
    const later = await play(say);
    expect(later.run).toMatchObject({ status: 'completed', response: { answer: expected } });
    const of = (await children(later.run.id)).find(({ trigger }) => trigger.network !== undefined)!;
    expect(of.trigger).toMatchObject({ network: { name: 'Inner', version: 1 } });
    // Published anew it takes what is current.
    expect(await made('/v1/networks/outer/publish', {})).toMatchObject({ created: true });
    await ask('PATCH', `/v1/agents/${ada.id}`, { systemPrompt: 'I am ada.' });
    await published(INNER);
    await published(OUTER);

    // What a tool names stays.
    const gone = await ask<Problem>('DELETE', '/v1/networks/inner');
    expect([gone.status, gone.body.code, gone.body.detail]).toEqual([
      409,
      'network_in_use',
      expect.stringContaining('"ask_inner"'),
    ]);
    const archived = await ask<Problem>('DELETE', `/v1/agents/${ada.id}`);
    expect([archived.status, archived.body.code]).toEqual([409, 'agent_in_use']);
    // Archived, it takes no new runs of its own; who has it goes on.
    await made('/v1/networks/inner/archive', {});
    expect((await play(say)).run).toMatchObject({ status: 'completed', response: { answer: expected } });
    await made('/v1/networks/inner/archive', { archived: false });
  });

  test('an agent of a session calls both, as they are then', async () => {
    const agent = await made<{ id: string }>('/v1/agents', {
      name: 'Eve',
      systemPrompt: 'I am eve.',
      tools: ['ask_object', 'ask_ada'],
    });
    const session = await made<{ id: string }>(`/v1/agents/${agent.id}/sessions`, {});
    const word = `ask-${newId()}`;
    scripts.set(word, (request, who) => {
      const got = results(request);
      if (who === 'eve')
        return got.length > 0
          ? { text: JSON.stringify(got) }
          : calls(call('ask_object', { input: word }), call('ask_ada', { input: word }));
      return who === 'ada' ? { text: 'from ada' } : respond({ by: who });
    });
    const posted = await made<{ runId: string }>(`/v1/agents/${agent.id}/sessions/${session.id}/messages`, {
      content: { text: word },
    });
    const run = posted.runId ?? (await get<{ data: Run[] }>(`/v1/runs?sessionId=${session.id}`)).data[0]!.id;
    await server.kernel.ended(run);
    expect((await details(run)).outcome).toEqual({ text: '[{"by":"second"},"from ada"]' });
    const begun = await children(run);
    const [one] = begun.filter(({ agentId }) => agentId !== null);
    const { data } = await get<{ data: Message[] }>(`/v1/runs/${one!.id}/messages`);
    expect(data.map(({ role }) => role)).toEqual(['user', 'assistant']);
    // With the session goes all that it began.
    expect((await ask('DELETE', `/v1/agents/${agent.id}/sessions/${session.id}`)).status).toBe(204);
    const threads = begun.map(({ threadId }) => threadId);
    const left =
      'select id from troupe.threads where id = any($1) union all select id from troupe.runs where thread_id = any($1)';
    expect([threads.length, (await server.db.pool.query(left, [threads])).rowCount]).toEqual([2, 0]);
  });

  test('so does an agent in a space, where the call is seen at work until it has a result', async () => {
    await made('/v1/tools', {
      name: 'ask_seen',
      kind: 'agent',
      agent: { agent: 'Ada' },
      visible: true,
      params: [{ name: 'input', required: true }],
    });
    const agent = await made<{ id: string }>('/v1/agents', {
      name: 'Sam',
      systemPrompt: 'I am sam.',
      tools: ['ask_seen'],
    });
    const space = await made<{ id: string }>('/v1/spaces', {
      name: 'Room',
      members: [{ user: 'ann' }, { agentId: agent.id }],
    });
    const word = `ask-${newId()}`;
    let seen: unknown;
    scripts.set(word, async (request, who) => {
      const got = results(request);
      if (who !== 'sam') {
        seen = (await get<{ data: Message[] }>(`/v1/spaces/${space.id}/messages`)).data.at(-1)!.content;
        return { text: 'from ada' };
      }
      if (got.length === 0) return calls(call('ask_seen', { input: word }));
      return got.length === 1 ? calls(call('send_message', { text: `it says ${got[0]}` })) : { text: '' };
    });
    await made(`/v1/spaces/${space.id}/messages`, { content: { text: word }, user: 'ann' });
    const said = async () =>
      (await get<{ data: Message[] }>(`/v1/spaces/${space.id}/messages`)).data.map(
        ({ content }) => (content as { text: string }).text,
      );
    await until('it has spoken', async () => (await said()).includes('it says from ada'));
    expect(seen).toMatchObject({ text: expect.stringMatching(/^ask_seen.* …$/) });
    expect((await said())[1]).toContain('→ "from ada"');
    await until(
      'it has ended',
      async () =>
        (await server.db.pool.query(`select from troupe.runs where door = 'space' and status <> 'completed'`))
          .rowCount === 0,
    );
  });

  test('race: a session is deleted while what it began begins more, and nothing of it is left', async () => {
    const input = { name: 'input', required: true };
    await made('/v1/agents', { name: 'Bea', systemPrompt: 'I am bea.', tools: ['ask_object'] });
    await made('/v1/tools', { name: 'ask_bea', kind: 'agent', agent: { agent: 'bea' }, params: [input] });
    const agent = await made<{ id: string }>('/v1/agents', {
      name: 'Eva',
      systemPrompt: 'I am eva.',
      tools: ['ask_bea'],
    });
    const path = `/v1/agents/${agent.id}/sessions/${(await made<{ id: string }>(`/v1/agents/${agent.id}/sessions`, {})).id}`;
    const word = `ask-${newId()}`;
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    scripts.set(word, async (_, who) => {
      if (who === 'eva') return calls(call('ask_bea', { input: word }));
      if (who !== 'bea') return new Promise<Turn>(() => {});
      await gate;
      return calls(call('ask_object', { input: word }));
    });
    const { runId: root } = await made<{ runId: string }>(`${path}/messages`, { content: { text: word } });
    await until('bea works', async () => (await children(root))[0]?.status === 'running');
    // Whoever begins the last one has its run by now, and waits here.
    const holder = await server.db.pool.connect();
    const waits = (what: string) => async () =>
      (
        await server.db.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
          [`%${what}%`],
        )
      ).rowCount! > 0;
    let deleted: Promise<{ status: number }>;
    try {
      await holder.query('begin');
      await holder.query('select pg_advisory_xact_lock(27, hashtext($1))', [root]);
      go();
      await until('it is about to begin', waits('begin_child'));
      deleted = ask('DELETE', path);
      await until('the session is about to be deleted', waits('order by r.id for update'));
      await holder.query('commit');
    } finally {
      holder.release();
    }
    expect((await deleted).status).toBe(204);
    const left = 'select id, thread_id from troupe.runs where root_run_id = $1';
    expect((await server.db.pool.query(left, [root])).rows).toEqual([]);
    const said = `select thread_id from troupe.messages where content->>'text' like $1`;
    expect((await server.db.pool.query(said, [`%${word}%`])).rows).toEqual([]);
  });

  test('a run that another one of its agent stops takes what it began with it', async () => {
    const agent = await made<{ id: string }>('/v1/agents', {
      name: 'Sue',
      systemPrompt: 'I am sue.',
      tools: ['ask_ada'],
    });
    const space = await made<{ id: string }>('/v1/spaces', {
      name: 'Stopped',
      members: [{ user: 'ann' }, { agentId: agent.id }],
    });
    const tell = async (say: Say) => {
      const word = `ask-${newId()}`;
      scripts.set(word, say);
      const { runs } = await made<{ runs: { id: string }[] }>(`/v1/spaces/${space.id}/messages`, {
        content: { text: word },
        user: 'ann',
      });
      return { word, run: runs[0]!.id };
    };
    const first = await tell((request, who) =>
      who === 'sue' ? calls(call('ask_ada', { input: wordIn(request) })) : new Promise<Turn>(() => {}),
    );
    await until('ada works', async () => (await children(first.run))[0]?.status === 'running');
    const stop: Say = (request) =>
      results(request).length === 0 ? calls(call('stop_run', { runId: first.run })) : { text: '' };
    // The space shows it what was said before, too.
    scripts.set(first.word, stop);
    const second = await tell(stop);
    await server.kernel.ended(second.run);
    expect((await details(first.run)).status).toBe('canceled');
    await until('ada is stopped', async () => (await children(first.run))[0]!.status === 'canceled');
  });

  test('a version from before there were tasks runs as it did', async () => {
    const project = (await server.db.pool.query('select id from troupe.projects')).rows[0].id;
    const snapshot = compiled({
      name: 'Old',
      agents: [{ key: 'one', isDefault: true, prompt: 'I am one.', allowRespond: true, tools: [] }],
    });
    for (const field of ['maxTasks', 'taskSteps', 'taskDepth', 'runTasks'])
      delete snapshot.network.policy[field];
    await publish(server.db, project, snapshot);
    const { run } = await begin(() => respond('as before'), { mode: 'wait', systemParams: {} }, 'old');
    expect(run).toMatchObject({ status: 'completed', response: { message: 'as before' } });
  });

  test('a network that calls itself calls the version that runs, and is the same content each time', async () => {
    const input = { name: 'input', required: true, schema: { type: 'string' } };
    const again = { kind: 'network', params: [input] };
    const self = (prompt: string) => ({
      name: 'Mirror',
      policy: { taskDepth: 2 },
      tools: [{ key: 'again' }, { key: 'once_more' }],
      agents: [
        { key: 'one', isDefault: true, prompt, allowRespond: true, tools: ['again'], routes: ['two'] },
        { key: 'two', prompt: 'I am two.', allowRespond: true, tools: ['once_more'] },
      ],
    });
    await made('/v1/tools', { name: 'again', ...again, network: { network: 'mirror', agent: 'TWO' } });
    await made('/v1/tools', { name: 'once_more', ...again, network: { network: 'Mirror' } });
    // It was never published, and needs no version to name.
    await published(self('I am old.'));
    const publish = () => made<{ version: number; created: boolean }>('/v1/networks/mirror/publish', {});
    expect(await publish()).toMatchObject({ version: 1, created: false });

    const started: string[] = [];
    const say: Say = async (request, agent) => {
      started.push(agent);
      // What is published meanwhile is not what this run calls.
      if (started.length === 1) {
        await published(self('I am one.'));
        expect(await publish()).toMatchObject({ version: 2, created: false });
      }
      const [result] = results(request);
      if (result) return respond({ agent, result });
      return calls(call(agent === 'two' ? 'once_more' : 'again', { input: wordIn(request) }));
    };
    const { run } = await begin(say, { mode: 'wait', systemParams: {} }, 'mirror');
    // Two deep, and the third is refused: whoever would call it reads so and answers.
    expect(run).toMatchObject({ status: 'completed', network: { version: 1 } });
    expect(started.slice(0, 3)).toEqual(['old', 'two', 'old']);
    expect(JSON.stringify(run.response)).toContain('task_depth');
    const [child] = await children(run.id);
    const [grandchild] = await children(child!.id);
    for (const one of [child!, grandchild!])
      expect((await details(one.id)).trigger).toMatchObject({ network: { name: 'Mirror', version: 1 } });
    expect(await children(grandchild!.id)).toEqual([]);
    const { rows } = await server.db.pool.query(
      'select distinct network_version, snapshot_id from troupe.runs where id = any($1)',
      [[run.id, child!.id, grandchild!.id]],
    );
    expect(rows).toMatchObject([{ network_version: 1 }]);
    await made('/v1/tools', {
      name: 'to_none',
      ...again,
      network: { network: 'mirror', agent: 'none' },
    });
    const with3 = {
      ...self('I am one.'),
      tools: [{ key: 'again' }, { key: 'once_more' }, { key: 'to_none' }],
    };
    await ask('PUT', '/v1/networks/mirror/definition', with3);
    const { problems } = await made<{ problems: object[] }>('/v1/networks/mirror/validate', {});
    expect(problems).toMatchObject([{ path: 'tools.to_none.network', code: 'unknown_key' }]);
  });

  test('what cannot be is told when it is defined or published', async () => {
    const bad = await ask<Problem>('POST', '/v1/tools', { name: 'bad', kind: 'network' });
    expect([bad.status, bad.body.code, bad.body.issues?.[0]?.path]).toEqual([422, 'tool_invalid', 'network']);
    await made('/v1/tools', { name: 'to_nobody', kind: 'agent', agent: { agent: 'Nobody' } });
    await made('/v1/tools', { name: 'to_draft', kind: 'network', network: { network: 'Other draft' } });
    await made('/v1/tools', { name: 'to_nothing', kind: 'network', network: { network: 'Nothing' } });
    await made('/v1/tools', {
      name: 'to_version',
      kind: 'network',
      network: { network: 'inner', version: 99 },
    });
    await made('/v1/networks', { name: 'Other draft' });
    const tools = ['to_nobody', 'to_draft', 'to_nothing', 'to_version'];
    await made('/v1/networks', {
      name: 'Draft',
      tools: tools.map((key) => ({ key })),
      agents: [{ key: 'one', prompt: 'I am one.', allowRespond: true, allowTaskGroup: true, tools }],
    });
    const { problems } = await made<{ problems: { path: string; code: string }[] }>(
      '/v1/networks/draft/validate',
      {},
    );
    expect(problems.map(({ path, code }) => `${path} ${code}`).sort()).toEqual([
      'agents.one.allowTaskGroup no_routes_for_tasks',
      'tools.to_draft.network network_not_published',
      'tools.to_nobody.agent agent_not_found',
      'tools.to_nothing.network network_not_found',
      'tools.to_version.network version_not_found',
    ]);
  });
});
