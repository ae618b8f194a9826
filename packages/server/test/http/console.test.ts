import {
  budget,
  overview,
  type Prompt,
  prompt,
  queue,
  system,
  timeline,
  usageReport,
  worker,
} from '@troupe/protocol';
import { Troupe } from '@troupe/sdk';
import { newId, silentLogger } from '@troupe/server';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { usageOfRuns, usageOfSteps } from '../../src/store/index.ts';
import { wakeForDeletedBudgets } from '../../src/store/queries/budgets.ts';
import { Watchers } from '../../src/sync/watchers.ts';

// What a console asks of a server, by the SDK. One server has worked through one run of every door, with all that a timeline can show;
// then it is asked for everything. It is one file, since what is asked for takes longer to make than to ask for.

let server: TestServer;
let troupe: Troupe;
const runs: Record<'session' | 'second' | 'giver' | 'task' | 'space' | 'network' | 'failed', string> =
  {} as never;
let ids: Record<'teller' | 'spaceId' | 'network' | 'sessionId', string>;
/** What the stream of changes told while all that happened. */
const told = new Map<string, Set<string>>();
const stop = new AbortController();
let watching: Promise<void>;

const call = (name: string, args: object = {}): Turn => ({ calls: [{ name, arguments: args as never }] });

function script(request: ModelRequest, attempt: number): Turn {
  const agent = /I am (\w+)\./.exec(request.system)?.[1];
  const { step } = request;
  if (agent === 'teller') {
    if (JSON.stringify(request.messages.at(-1)).includes('break'))
      return { error: { code: 'broken', message: 'No.', retryable: false } };
    if (JSON.stringify(request.messages).includes('again')) return { text: 'The same.' };
    if (step === 1)
      return {
        text: 'I look.',
        calls: [
          { name: 'look', arguments: { q: 'sky' } },
          { name: 'pay', arguments: { q: '7' } },
        ],
      };
    if (attempt === 1)
      return { error: { code: 'busy', message: 'Later.', retryable: true, retryAfterMs: 1 } };
    return { text: 'Blue.', usage: { inputTokens: 40, outputTokens: 2 } };
  }
  if (agent === 'giver')
    return step === 1
      ? call('create_agent', { type: 'finder', instruction: 'Find it.' })
      : { text: 'Found.' };
  if (agent === 'finder')
    return step === 1 ? call('look', { q: 'sea' }) : call('final_answer', { result: 'here' });
  if (agent === 'speaker')
    return step === 1 ? call('send_message', { content: 'Hello.' }) : { text: 'Enough.' };
  if (agent === 'saver') return { text: 'Saved.', usage: { inputTokens: 20, outputTokens: 20 } };
  if (agent === 'front') return call('route_to_agent', { agent: 'back', context: 'sum' });
  return step === 2 ? call('look', { q: 'sum' }) : call('respond', { payload: 'done' });
}

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), script });
  troupe = new Troupe({ baseUrl: server.url });
  watching = (async () => {
    for await (const item of troupe.changes({ signal: stop.signal })) {
      const name = item.type === 'changed' ? item.collection : 'resync';
      told.set(
        name,
        new Set([...(told.get(name) ?? []), ...(item.type === 'changed' ? (item.ids ?? []) : [])]),
      );
    }
  })();
  await until('the stream is open', async () => told.has('resync'));

  const params = [{ name: 'q', required: true }];
  await troupe.tools.create({ body: { name: 'look', kind: 'echo', params } as never });
  await troupe.tools.create({ body: { name: 'pay', kind: 'echo', params, approval: true } as never });
  const agent = async (name: string, more: object = {}) =>
    (await troupe.agents.create({ body: { name, systemPrompt: `I am ${name}.`, ...more } as never })).id;
  const limits = { retryBackoffMs: 0 };
  const teller = await agent('teller', { tools: ['look', 'pay'], limits });
  const giver = await agent('giver', { capabilities: [{ id: 'delegation', config: {} }] });
  await agent('finder', { tools: ['look'] });
  const speaker = await agent('speaker');

  const session = await troupe.open(teller, { title: 'About the sky', tags: ['weather'], user: 'ada' });
  const first = await session.send('What colour is the sky?');
  runs.session = first.run!.id;
  await until('it waits', async () => (await troupe.system.overview()).waiting.runs === 1);
  const waiting = await troupe.system.overview();
  expect(waiting).toMatchObject({
    running: 0,
    queued: 0,
    waiting: { runs: 1, calls: { approval: 1, client: 0 } },
  });
  const [open] = (await troupe.inbox.list()).data;
  await troupe.inbox.approve(open!);
  await server.kernel.ended(runs.session);
  runs.second = (await session.send('And again?')).run!.id;
  await server.kernel.ended(runs.second);
  runs.failed = (await session.send('Now break.')).run!.id;
  await server.kernel.ended(runs.failed);

  runs.giver = (await (await troupe.open(giver)).send('Find it for me.')).run!.id;
  await server.kernel.ended(runs.giver);
  runs.task = (await troupe.runs.list({ query: { door: 'task' } })).data[0]!.id;

  const space = await troupe.spaces.create({
    body: { name: 'hall', members: [{ user: 'ada' }, { agentId: speaker }] } as never,
  });
  await troupe.spaces.post({
    params: { spaceId: space.id },
    body: { content: { text: 'Is anybody here?' }, user: 'ada' } as never,
  });
  await until('the speaker has spoken', async () => {
    const { data } = await troupe.runs.list({ query: { spaceId: space.id } });
    runs.space = data[0]?.id ?? '';
    return data[0]?.status === 'completed';
  });

  const network = await troupe.networks.create({
    body: {
      name: 'office',
      agents: [
        { key: 'front', isDefault: true, prompt: 'I am front.', routes: ['back'] },
        { key: 'back', prompt: 'I am back.', tools: ['look'], allowRespond: true },
      ],
      tools: [{ key: 'look' }],
    } as never,
  });
  await troupe.networks.publish({ params: { network: network.id }, body: {} as never });
  runs.network = (await troupe.network('office').invoke({ input: 'Add it up.' })).id;
  await server.kernel.ended(runs.network);
  ids = { teller, spaceId: space.id, network: network.id, sessionId: session.id };
});

afterAll(async () => {
  stop.abort();
  await watching;
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

/** What was sent with the try that was answered. */
function sent(run: string): Map<number, ModelRequest> {
  return new Map(server.scripted.requests.filter(({ runId }) => runId === run).map((one) => [one.step, one]));
}

function shown({ model, system: told, messages, tools, settings }: Prompt) {
  return { model, system: told, messages, tools, ...settings };
}
function asked(request: ModelRequest) {
  const { model, system: told, messages, tools, toolChoice, maxOutputTokens } = request;
  const { reasoningEffort = null, answerSchema = null } = request;
  return { model, system: told, messages, tools, toolChoice, maxOutputTokens, reasoningEffort, answerSchema };
}

test.each(['session', 'second', 'task', 'space', 'network'] as const)(
  'the prompt of every step is what the model got, of %s',
  async (door) => {
    const requests = sent(runs[door]);
    const { steps } = await troupe.run(runs[door]).get();
    expect(steps.map(({ step }) => step)).toEqual([...requests.keys()]);
    expect(steps.length).toBe({ session: 2, second: 1, task: 2, space: 2, network: 3 }[door]);
    for (const [step, request] of requests) {
      const given = await troupe.run(runs[door]).prompt(step);
      expect(prompt.parse(given)).toEqual(given);
      expect([given.exact, given.why]).toEqual([true, []]);
      expect(shown(given)).toEqual(asked(request));
    }
  },
);

test('a prompt that cannot be exact any more says why, and of steps that were not taken there is none', async () => {
  // The giver was told of its task while that was at work; by now the task has ended.
  const given = await troupe.run(runs.giver).prompt(2);
  expect(given.exact).toBe(false);
  expect(given.why).toEqual(['What became of its tasks is told as it is now.']);
  expect(given.system).toContain('TASKS:');
  // What it failed at is what would be asked again.
  const failed = await troupe.run(runs.failed).prompt(1);
  expect(shown(failed)).toEqual(asked(sent(runs.failed).get(1)!));
  expect(failed.exact).toBe(false);
  await expect(troupe.run(runs.session).prompt(3)).rejects.toMatchObject({
    status: 404,
    code: 'step_not_found',
  });
  await expect(troupe.run(newId()).prompt(1)).rejects.toMatchObject({ status: 404, code: 'not_found' });
});

test('a prompt in a space goes with the space, and is made anew where it is not kept', async () => {
  const { pool } = server.db;
  const kept = await pool.query('select step, system from troupe.run_prompts where run_id = $1', [
    runs.space,
  ]);
  expect(kept.rows.map(({ step }) => step)).toEqual([1]);
  await pool.query('delete from troupe.run_prompts where run_id = $1', [runs.space]);
  const made = await troupe.run(runs.space).prompt(1);
  expect([made.exact, made.why.length]).toEqual([false, 1]);
  expect(made.system).toContain('Is anybody here?');
  await pool.query(`insert into troupe.run_prompts (run_id, step, space_id, system) values ($1, 1, $2, $3)`, [
    runs.space,
    ids.spaceId,
    kept.rows[0].system,
  ]);
  const gone = await troupe.spaces.create({ body: { name: 'gone' } });
  const keep = `insert into troupe.run_prompts (run_id, step, space_id, system) values ($1, 9, $2, 'said there')`;
  await pool.query(keep, [runs.space, gone.id]);
  await troupe.spaces.remove({ params: { spaceId: gone.id } });
  const left = await pool.query('select step from troupe.run_prompts where run_id = $1', [runs.space]);
  expect(left.rows).toEqual([{ step: 1 }]);
});

test('says who is asking; a key of any scope may ask', async () => {
  const here = await troupe.system.get();
  expect(system.parse(here)).toEqual(here);
  expect(here).toMatchObject({
    mode: 'dev',
    keyless: true,
    demo: true,
    project: { name: 'default' },
    caller: { kind: 'dev', entityId: null, keyId: null, scopes: null },
  });
  const { key } = await troupe.access.createKey({ body: { name: 'k', scopes: ['models:read'] } });
  const other = new Troupe({ baseUrl: server.url, key });
  expect(await other.system.get()).toMatchObject({
    keyless: false,
    caller: { kind: 'key', scopes: ['models:read'] },
  });
  await expect(other.system.overview()).rejects.toMatchObject({ status: 403 });
  await expect(new Troupe({ baseUrl: server.url, key: 'tsk_none' }).system.get()).rejects.toMatchObject({
    status: 401,
  });
  const provider = await troupe.models.createProvider({ body: { kind: 'openai', name: 'real' } as never });
  const model = await troupe.models.createModel({
    params: { providerId: provider.id },
    body: { modelId: 'm', isDefault: true } as never,
  });
  expect((await troupe.system.get()).demo).toBe(false);
  await troupe.models.updateModel({ params: { modelId: model.id }, body: { isDefault: false } as never });
});

test('lists the sessions of all agents, those that were spoken to last first', async () => {
  const all = await troupe.sessions.listAll();
  expect(all.data.map(({ title }) => title)).toEqual(['Find it for me.', 'About the sky']);
  const found = async (query: object) => (await troupe.sessions.listAll({ query })).data.map(({ id }) => id);
  const { sessionId, teller } = ids;
  for (const query of [
    { agentId: teller },
    { status: 'failed' },
    { tag: 'weather' },
    { user: 'ada' },
    { search: 'THE SKY' },
    { search: sessionId.slice(0, 13) },
    { agentId: teller, status: 'failed', tag: 'weather', user: 'ada', search: 'about' },
  ])
    expect([query, (await found(query)).includes(sessionId)]).toEqual([query, true]);
  for (const query of [
    { status: 'running' },
    { tag: 'x' },
    { user: 'x' },
    { search: '%' },
    { agentId: newId() },
  ])
    expect([query, await found(query)]).toEqual([query, []]);
  // Page by page, with one that nobody has spoken in, which is where it was opened.
  const quiet = await troupe.open(teller, { title: 'Quiet' });
  const pages: string[] = [];
  for await (const { id } of troupe.all(({ query }) =>
    troupe.sessions.listAll({ query: { ...query, limit: 1 } }),
  ))
    pages.push(id);
  expect(pages).toEqual([quiet.id, ...all.data.map(({ id }) => id)]);
});

test('lists runs by what they are, and finds them by their beginning, their error and what they were asked', async () => {
  const found = async (query: object) => (await troupe.runs.list({ query })).data.map(({ id }) => id);
  const { network, spaceId, teller } = ids;
  const everything = await found({});
  expect(new Set(everything)).toEqual(new Set(Object.values(runs)));
  expect(await found({ door: 'network' })).toEqual([runs.network]);
  expect(await found({ networkId: network })).toEqual([runs.network]);
  expect(await found({ spaceId })).toEqual([runs.space]);
  expect(await found({ triggerType: 'task' })).toEqual([runs.task]);
  expect(await found({ status: 'failed' })).toEqual([runs.failed]);
  expect(await found({ status: 'failed,completed', agentId: teller })).toEqual([
    runs.failed,
    runs.second,
    runs.session,
  ]);
  expect(await found({ status: 'running,queued,waiting_tool,waiting_reply' })).toEqual([]);
  expect(await found({ search: runs.space })).toEqual([runs.space]);
  expect(await found({ search: runs.space.slice(0, 8) })).toContain(runs.space);
  expect(await found({ search: 'broken' })).toEqual([runs.failed]);
  expect(await found({ search: 'COLOUR' })).toEqual([runs.session]);
  expect(await found({ search: 'anybody', door: 'space' })).toEqual([runs.space]);
  expect(await found({ search: 'anybody', door: 'session' })).toEqual([]);
  const { createdAt } = await troupe.run(runs.second).get();
  expect(await found({ sessionId: ids.sessionId, since: createdAt })).toEqual([runs.failed, runs.second]);
  expect(await found({ sessionId: ids.sessionId, until: createdAt })).toEqual([runs.session]);
  const { data } = await troupe.runs.list({ query: { networkId: network } });
  expect(data[0]).toMatchObject({
    networkId: network,
    networkVersion: 1,
    door: 'network',
    asked: 'Add it up.',
  });
  await expect(troupe.runs.list({ query: { status: 'failed,odd' } })).rejects.toMatchObject({ status: 422 });
  const pages: string[] = [];
  for await (const { id } of troupe.all(({ query }) =>
    troupe.runs.list({ query: { ...query, limit: 1, search: 'i' } }),
  ))
    pages.push(id);
  expect(pages.length).toBe(new Set(pages).size);
  expect(pages).toContain(runs.session);
});

test('tells where the time of a run went', async () => {
  const of = await troupe.run(runs.session).timeline();
  expect(timeline.parse(of)).toEqual(of);
  expect(of.spans.map(({ kind, name, step, status }) => `${kind} ${name} ${step} ${status}`)).toEqual([
    'queue start null completed',
    'model demo 1 completed',
    'tool look 1 completed',
    'wait pay 1 completed',
    'queue settled null completed',
    'tool pay 1 completed',
    'attempt model 2 failed',
    'queue try again null completed',
    'model demo 2 completed',
  ]);
  const attempt = of.spans.find(({ kind }) => kind === 'attempt')!;
  expect(attempt).toMatchObject({ attempt: 1, error: { code: 'busy' } });
  const wait = of.spans.find(({ kind }) => kind === 'wait')!;
  expect(wait.waitsFor).toBe('approval');
  for (const { startedAt, endedAt } of of.spans)
    expect(Date.parse(endedAt!)).toBeGreaterThanOrEqual(Date.parse(startedAt));
  expect(
    of.spans.every(({ kind, worker: by }) => (kind === 'model' || kind === 'tool') === (by !== null)),
  ).toBe(true);

  const giver = await troupe.run(runs.giver).timeline();
  expect(giver.children).toMatchObject([{ runId: runs.task, status: 'completed' }]);
  expect(giver.spans.find(({ kind }) => kind === 'task')).toMatchObject({
    name: 'create_agent',
    runId: runs.task,
  });
});

test('sums up what was used, and keeps the sums of what is over', async () => {
  const whole = await troupe.usage.read({
    query: { interval: 'minute', from: new Date(Date.now() - 3_600_000).toISOString() },
  });
  expect(usageReport.parse(whole)).toEqual(whole);
  expect(whole.total).toMatchObject({ started: 7, completed: 6, failed: 1, canceled: 0 });
  expect(whole.total.inputTokens).toBeGreaterThan(0);
  for (const interval of ['hour', 'day'] as const)
    expect((await troupe.usage.read({ query: { interval } })).total).toEqual(whole.total);
  const by = async (what: 'agent' | 'network' | 'model') =>
    (await troupe.usage.read({ query: { by: what } })).series;
  expect((await by('agent')).find(({ key }) => key === ids.teller)).toMatchObject({
    name: 'teller',
    total: { started: 3, failed: 1 },
  });
  expect((await by('network')).find(({ key }) => key === ids.network)).toMatchObject({
    name: 'office',
    total: { started: 1 },
  });
  const [model] = await by('model');
  expect(model).toMatchObject({
    key: 'demo/demo',
    name: 'demo',
    total: { inputTokens: whole.total.inputTokens, started: 0 },
  });

  // As if it had been three days ago: read twice, and once more when the run is elsewhere.
  const { pool } = server.db;
  await pool.query(`alter table troupe.runs disable trigger user`);
  const earlier = `interval '3 days'`;
  await pool.query(
    `update troupe.runs set created_at = created_at - ${earlier}, completed_at = completed_at - ${earlier} where id = $1`,
    [runs.session],
  );
  const query = { interval: 'day' as const, from: new Date(Date.now() - 5 * 86_400_000).toISOString() };
  const first = await troupe.usage.read({ query });
  expect(first.total).toEqual(whole.total);
  expect(first.series[0]!.points).toHaveLength(2);
  expect((await troupe.usage.read({ query })).total).toEqual(whole.total);
  await pool.query(
    `update troupe.runs set created_at = created_at + ${earlier}, completed_at = completed_at + ${earlier} where id = $1`,
    [runs.session],
  );
  await pool.query(`alter table troupe.runs enable trigger user`);
  const again = await troupe.usage.read({ query });
  expect(again.total.started).toBe(whole.total.started + 1);
  await pool.query('delete from troupe.usage_sums');

  // Of a time that is long over, nothing is read of what came after it.
  const long = { from: new Date(0), to: new Date(60_000), interval: 'minute' as const };
  const { project } = await troupe.system.get();
  expect(await usageOfRuns(server.db, project.id, long)).toEqual([]);
  expect(await usageOfSteps(server.db, project.id, long)).toEqual([]);

  await expect(troupe.usage.read({ query: { ...query, interval: 'minute' } })).rejects.toMatchObject({
    code: 'too_many_intervals',
  });
  await expect(
    troupe.usage.read({ query: { to: query.from, from: new Date().toISOString() } }),
  ).rejects.toMatchObject({ status: 422 });
});

test('counts what there is now, who works and what waits for them', async () => {
  const now = await troupe.system.overview();
  expect(overview.parse(now)).toEqual(now);
  expect(now).toMatchObject({
    running: 0,
    queued: 0,
    failed24h: 1,
    inbox: 0,
    deadDeliveries: 0,
    oldestQueuedMs: null,
  });
  const { data } = await troupe.system.workers();
  expect(data.map((one) => worker.parse(one))).toEqual(data);
  expect(data).toMatchObject([{ state: 'working', pid: process.pid, taken: 0, functions: [] }]);
  const { pool } = server.db;
  // No worker has this function.
  await pool.query(
    `update troupe.runs set status = 'queued', error = null, completed_at = null, run_at = now() - interval '1 minute', code_tools = '{odd}' where id = $1`,
    [runs.failed],
  );
  const waits = await troupe.system.queue();
  expect(queue.parse(waits)).toEqual(waits);
  expect(waits).toMatchObject({
    due: 0,
    later: 0,
    forFunctions: 1,
    oldest: [{ id: runs.failed, waitsForCode: ['odd'] }],
  });
  await pool.query(
    `update troupe.runs set run_at = now() - interval '1 minute', code_tools = null, ready = true, door = 'nobody' where id = $1`,
    [runs.failed],
  );
  expect(await troupe.system.queue()).toMatchObject({ due: 1, forFunctions: 0, failedJobs: { total: 0 } });
  expect((await troupe.system.queue()).byAge.map(({ runs: count }) => count)).toEqual([1, 1, 1, 1, 0, 0, 0]);
  expect((await troupe.system.overview()).oldestQueuedMs).toBeGreaterThan(59_000);
  await pool.query(
    `update troupe.runs set status = 'failed', door = 'session', error = '{"code": "broken", "message": "No."}', completed_at = now() where id = $1`,
    [runs.failed],
  );
});

test('another project sees nothing of it, and hears of nothing but its own', async () => {
  const { key } = await troupe.access.createProject({ body: { name: 'theirs' } });
  const theirs = new Troupe({ baseUrl: server.url, key });
  await expect(theirs.system.workers()).rejects.toMatchObject({ status: 403 });
  expect(await theirs.system.queue()).toMatchObject({ due: 0, failedJobs: null });
  expect(await theirs.system.overview()).toMatchObject({ failed24h: 0, inbox: 0 });
  expect((await theirs.usage.read()).total.started).toBe(0);
  expect((await theirs.usage.budgets()).data).toEqual([]);
  for (const query of [{}, { search: ids.sessionId.slice(0, 8) }, { agentId: ids.teller }, { user: 'ada' }])
    expect((await theirs.sessions.listAll({ query })).data).toEqual([]);
  for (const query of [
    {},
    { search: runs.space },
    { search: 'COLOUR' },
    { status: 'failed' },
    { spaceId: ids.spaceId },
    { sessionId: ids.sessionId },
    { networkId: ids.network },
    { parentRunId: runs.giver },
  ])
    expect((await theirs.runs.list({ query: query as never })).data).toEqual([]);
  for (const run of Object.values(runs)) {
    await expect(theirs.run(run).timeline()).rejects.toMatchObject({ status: 404 });
    await expect(theirs.run(run).prompt(1)).rejects.toMatchObject({ status: 404 });
  }
  const heard: string[] = [];
  const enough = new AbortController();
  const hearing = (async () => {
    for await (const item of theirs.changes({ signal: enough.signal })) heard.push(JSON.stringify(item));
  })();
  await until('they are connected', async () => heard.length === 1);
  await troupe.open(ids.teller, { title: 'Not theirs' });
  const agent = await theirs.agents.create({ body: { name: 'own', systemPrompt: 'I am own.' } as never });
  const { id } = await theirs.open(agent.id);
  await until('they hear of theirs', async () => heard.length > 1);
  enough.abort();
  await hearing;
  expect(heard.slice(1)).toEqual([JSON.stringify({ type: 'changed', collection: 'sessions', ids: [id] })]);
});

test('a person sees their own sessions and what ran in them, and none of what is about the project', async () => {
  const secret = 'a secret of thirty-two bytes, or more';
  await troupe.access.putSecret({ params: { name: 'TOKENS' }, body: { value: secret } });
  const tokens = { algorithms: ['HS256' as const], audience: 'page', secretName: 'TOKENS' };
  await troupe.access.updateProject({ body: { tokens } });
  const { key } = await troupe.access.createKey({ body: { name: 'page', kind: 'public' } });
  const as = async (person: string) => {
    const unsigned = new SignJWT({ sub: person, aud: 'page' }).setProtectedHeader({ alg: 'HS256' });
    const token = await unsigned.setExpirationTime('1 hour').sign(Buffer.from(secret));
    return new Troupe({ baseUrl: server.url, key, token });
  };
  const [ada, eve] = [await as('ada'), await as('eve')];
  expect((await ada.system.get()).caller).toMatchObject({ kind: 'user' });
  for (const person of [ada, eve]) {
    const signal = AbortSignal.timeout(10_000);
    for (const asking of [
      () => person.system.overview(),
      () => person.system.workers(),
      () => person.system.queue(),
      () => person.usage.read(),
      () => person.usage.budgets(),
      () => person.runs.list(),
      () => person.run(runs.session).prompt(1),
      () => person.changes({ signal }).next(),
    ])
      await expect(asking()).rejects.toMatchObject({ status: 403 });
  }
  expect((await ada.sessions.listAll()).data.map(({ id }) => id)).toEqual([ids.sessionId]);
  for (const query of [{}, { user: 'ada' }, { agentId: ids.teller }, { status: 'failed' as const }])
    expect((await eve.sessions.listAll({ query })).data).toEqual([]);
  expect((await ada.run(runs.session).timeline()).spans.length).toBeGreaterThan(5);
  // Of what an agent does in a space, others see that it does something.
  expect(await ada.run(runs.space).timeline()).toMatchObject({ spans: [], children: [] });
  for (const run of Object.values(runs))
    await expect(eve.run(run).timeline()).rejects.toMatchObject({ status: 404 });
  for (const run of [runs.giver, runs.task, runs.network])
    await expect(ada.run(run).timeline()).rejects.toMatchObject({ status: 404 });
});

test('tells what a budget has, and what is spent of it', async () => {
  const { project } = await troupe.system.get();
  await server.db.pool.query(
    `insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount, spent) values ($1, $2, 'agent', $3, 'cost', 5000000, 1250000)`,
    [newId(), project.id, ids.teller],
  );
  expect((await troupe.usage.budgets()).data).toMatchObject([
    {
      scope: 'agent',
      name: 'teller',
      unit: 'cost',
      amount: 5,
      spent: 1.25,
      reserved: 0,
      onExhausted: 'stop',
      waiting: 0,
    },
  ]);
});

test('lists budgets of what holds for more before those of sessions, of which there can be many', async () => {
  const { id: project } = (await troupe.system.get()).project;
  const many = `insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount)
    select gen_random_uuid(), $1, scope, gen_random_uuid(), 'tokens', 7 from unnest($2::text[]) scope returning id`;
  const scopes = [...Array.from({ length: 501 }, () => 'session'), 'space', 'agent'];
  const { rows } = await server.db.pool.query(many, [project, scopes]);
  const { data } = await troupe.usage.budgets();
  expect(data).toHaveLength(500);
  const first = data.filter(({ scope }) => scope !== 'session').map(({ scope }) => scope);
  expect(data.slice(0, first.length).map(({ scope }) => scope)).toEqual(first);
  expect(first.filter((scope) => scope === 'space')).toHaveLength(1);
  expect(first.at(-1)).toBe('space');
  await server.db.pool.query('delete from troupe.budgets where id = any($1)', [rows.map(({ id }) => id)]);
});

test('a budget holds for what it is set for: a run stops, or waits until it is raised or deleted', async () => {
  const body = { name: 'saver', systemPrompt: 'I am saver.' };
  const { id: saver } = await troupe.agents.create({ body: body as never });
  const own = { scope: 'agent', scopeId: saver, unit: 'tokens' } as const;
  const set = (amount: number, onExhausted: 'stop' | 'wait' = 'stop', params: object = own) =>
    troupe.usage.setBudget({ params: params as never, body: { amount, onExhausted } });
  const remove = (params: object) => troupe.usage.deleteBudget({ params: params as never });
  const session = await troupe.open(saver);
  const begin = async (text: string) => (await session.send(text)).run!.id;
  const end = (run: string) => server.kernel.ended(run);
  const listed = async (id: string) => (await troupe.usage.budgets()).data.find((one) => one.id === id)!;

  // Set by several at once, it is one.
  const atOnce = await Promise.all(Array.from({ length: 8 }, (_, index) => set(index)));
  expect(new Set(atOnce.map(({ id }) => id)).size).toBe(1);
  const made = await set(10);
  expect(budget.parse(made)).toEqual(made);
  expect(made).toMatchObject({ ...own, name: 'saver', amount: 10, spent: 0, onExhausted: 'stop' });
  const stopped = await begin('Too dear.');
  expect(await end(stopped)).toMatchObject({ status: 'canceled' });
  expect(await troupe.run(stopped).get()).toMatchObject({ cancelReason: 'budget', step: 0 });

  expect(await set(10, 'wait')).toMatchObject({ id: made.id, onExhausted: 'wait' });
  const waited = await begin('Later.');
  await until('it waits', async () => (await listed(made.id)).waiting === 1);
  expect((await set(1_000_000, 'wait')).waiting).toBe(0);
  expect(await end(waited)).toMatchObject({ status: 'completed' });
  await until('it is told', async () => (await listed(made.id)).spent === 40);

  // Of two that hold, the tighter one; what is deleted holds nobody.
  const ofSession = { scope: 'session', scopeId: session.id, unit: 'tokens' };
  await set(0, 'wait', ofSession);
  const freed = await begin('And now?');
  await until('it waits', async () => (await troupe.run(freed).get()).status === 'waiting_tool');
  await remove(ofSession);
  expect(await end(freed)).toMatchObject({ status: 'completed' });
  // As one that lay down to wait while its budget was deleted.
  const lost = await set(0, 'wait', ofSession);
  const left = await begin('Anybody?');
  await until('it waits', async () => (await listed(lost.id)).waiting === 1);
  await server.db.pool.query('delete from troupe.budgets where id = $1', [lost.id]);
  expect(await wakeForDeletedBudgets(server.db)).toBe(1);
  expect(await wakeForDeletedBudgets(server.db)).toBe(0);
  expect(await end(left)).toMatchObject({ status: 'completed' });
  await remove(own);
  await expect(remove(own)).rejects.toMatchObject({ status: 404, code: 'not_found' });

  // It goes with what it was set for.
  const brief = await troupe.open(saver);
  const room = await troupe.spaces.create({ body: { name: 'A room for a day' } });
  const passing = await Promise.all([
    set(1, 'stop', { scope: 'session', scopeId: brief.id, unit: 'tokens' }),
    set(1, 'stop', { scope: 'space', scopeId: room.id, unit: 'tokens' }),
  ]);
  await troupe.sessions.remove({ params: { agentId: saver, sessionId: brief.id } });
  await troupe.spaces.remove({ params: { spaceId: room.id } });
  for (const { id } of passing) expect(await listed(id)).toBe(undefined);

  // A task is paid for by whoever gave it.
  const ofGiver = { scope: 'agent', unit: 'cost', scopeId: (await troupe.run(runs.giver).get()).agentId };
  const { id: purse } = await set(2.5, 'stop', ofGiver);
  await end((await (await troupe.open(ofGiver.scopeId!)).send('Find it for me.')).run!.id);
  const { rows } = await server.db.pool.query(
    'select door from troupe.runs where $1 = any(budget_ids) order by 1',
    [purse],
  );
  expect(rows).toEqual([{ door: 'session' }, { door: 'task' }]);
  await set(0, 'stop', { scope: 'space', scopeId: ids.spaceId, unit: 'tokens' });
  const said = { content: { text: 'Still here?' }, user: 'ada' };
  await troupe.spaces.post({ params: { spaceId: ids.spaceId }, body: said as never });
  await until('the speaker may not speak', async () => {
    const { data } = await troupe.runs.list({ query: { spaceId: ids.spaceId } });
    return data[0]!.id !== runs.space && data[0]!.status === 'canceled';
  });

  const refused = (params: object, amount = 1) => expect(set(amount, 'stop', params)).rejects;
  await refused(own, 1.5).toMatchObject({ status: 422, code: 'amount_not_whole' });
  await refused(own, -1).toMatchObject({ status: 422 });
  await refused({ ...own, scopeId: newId() }).toMatchObject({ status: 404 });
  await refused({ ...own, scope: 'project' }).toMatchObject({ status: 404 });
  await refused({ ...own, scope: 'run_tree' }).toMatchObject({ status: 404 });
  const { key } = await troupe.access.createProject({ body: { name: 'poor' } });
  const theirs = new Troupe({ baseUrl: server.url, key });
  const params = { ...own };
  const few = { amount: 1, onExhausted: 'stop' } as const;
  await expect(theirs.usage.setBudget({ params, body: few })).rejects.toMatchObject({ status: 404 });
  const scopes = ['runs:read', 'runs:write', 'agents:write'] as const;
  const reader = await troupe.access.createKey({ body: { name: 'reader', scopes: [...scopes] } as never });
  const asReader = new Troupe({ baseUrl: server.url, key: reader.key });
  await expect(asReader.usage.setBudget({ params, body: few })).rejects.toMatchObject({ status: 403 });

  const { data: noted } = await troupe.access.listAudit({ query: { action: 'budget.set' } });
  expect(noted.find(({ data }) => data.amount === 10)).toMatchObject({ target: made.id, data: own });
  expect(noted.filter(({ target }) => target === made.id)).toHaveLength(8 + 3);
  const { data: gone } = await troupe.access.listAudit({ query: { action: 'budget.deleted' } });
  expect(gone.map(({ target }) => target)).toContain(made.id);
});

test('the stream of a session has a warning when 80 % of its budget are spent', async () => {
  const { id: agent } = await troupe.agents.create({
    body: { name: 'warned', systemPrompt: 'I am saver.' },
  });
  const session = await troupe.open(agent);
  const made = await troupe.usage.setBudget({
    params: { scope: 'session', scopeId: session.id, unit: 'tokens' },
    body: { amount: 100_000, onExhausted: 'stop' },
  });
  await server.db.pool.query('update troupe.budgets set spent = 79990 where id = $1', [made.id]);
  const run = (await session.send('Hello.')).run!.id;
  for await (const item of session.stream({ types: ['budget.*'] })) {
    if (item.kind !== 'event') continue;
    const data = { budget: made.id, policy: 'stop', unit: 'tokens', amount: 100_000, spent: 80_030 };
    expect(item.event).toMatchObject({ type: 'budget.warning', runId: run, step: 1, data });
    break;
  }
});

test('told which lists had changed while all of it happened', async () => {
  await until('all is told', async () => told.get('runs')?.has(runs.network) ?? false);
  expect(told.get('sessions')).toContain(ids.sessionId);
  expect(told.get('spaces')).toContain(ids.spaceId);
  expect(told.get('inbox')).toContain(runs.session);
  // The last one was given a moment ago.
  await until('both tasks are told', async () => told.get('tasks')?.size === 2);
  expect(told.has('deliveries')).toBe(false);
});

test('whoever left before they were let in does not have the next one told of what was before', async () => {
  const { id: project } = (await troupe.system.get()).project;
  const watchers = new Watchers({ db: server.db, logger: silentLogger, heartbeatMs: 15_000 });
  const open = () =>
    watchers
      .open({ project, collections: new Set(['sessions'] as const) }, { mayStay: async () => {} })
      .getReader();
  const gone = open();
  void gone.read();
  // The stream has begun to ask, and no answer can have come.
  for (let turn = 0; turn < 10; turn++) await null;
  await gone.cancel();
  const before = await troupe.open(ids.teller);
  await until('all of that is over', async () => {
    const over = 'select xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint as over';
    const { rows } = await server.db.pool.query(`${over} from troupe.sessions where id = $1`, [before.id]);
    return rows[0].over;
  });
  const reader = open();
  await reader.read();
  const after = await troupe.open(ids.teller);
  const { value } = await reader.read();
  expect(String(Buffer.from(value!))).toContain(after.id);
  expect(String(Buffer.from(value!))).not.toContain(before.id);
  await reader.cancel();
  watchers.farewell();
});
