import type { BusyPolicy, Run, Session } from '@troupe/protocol';
import { createModels, Database, Kernel, newId, silentLogger, type ToolExecute } from '@troupe/server';
import { createScripted, sessionsDoor } from '@troupe/server/parts';
import { codeTools, until, violations } from '@troupe/testing';
import { afterEach, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { raiseBudget } from '../raise-budget.ts';
import { SessionFixture } from './session-fixture.ts';

// The boundaries at which a run changes hands or goes on by itself; those of a turn that one worker carries through are in
// sessions.boundaries.test.ts.

const POLICIES: BusyPolicy[] = ['queue', 'steer', 'interrupt', 'reject'];
const CALLS: Record<string, string> = { recover: 'approve', expire: 'ask', release: 'echo', park: 'echo' };

let fixture: SessionFixture;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

for (const boundary of ['recover', 'expire', 'release', 'park']) {
  for (const when of ['before', 'after']) {
    it(`a second message ${when} ${boundary} is answered exactly once, whatever its policy`, async () => {
      for (const [policy, { session, said }] of await play(boundary, when)) {
        const messages = await fixture.messages(session);
        const texts = (role: string) =>
          messages.filter((one) => one.role === role).map(({ content }) => (content as Turn).text!);
        // After a sweep the run is free to end before the second message comes: then nothing is busy any more.
        const refusals =
          policy === 'reject' ? (boundary === 'expire' && when === 'after' ? [409, 201] : [409]) : [201];
        expect(refusals, policy).toContain(said);
        expect(texts('user'), policy).toEqual(said === 409 ? ['first'] : ['first', 'second']);
        // Answers name what they answer.
        expect(
          texts('assistant').flatMap((answer) => answer.slice(4).split('+')),
          policy,
        ).toEqual(texts('user'));
      }
    });
  }
}

for (const when of ['before', 'after']) {
  it(`a second message ${when} reap is answered exactly once, whatever its policy`, async () => {
    const opened = new Map<BusyPolicy, Session>();
    const said = new Map<BusyPolicy, number>();
    const held = Promise.withResolvers<void>();
    let once = true;
    fixture = await SessionFixture.open({
      script: (request) =>
        request.step === 1 ? { calls: [{ id: 'call', name: 'echo', arguments: {} }] } : reply(request),
      tools: { echo: () => 'x' },
      toolList: [{ name: 'echo', effect: 'pure' }],
      apart: true,
      probe: async (at, moment) => {
        if (at === 'claim' && moment === 'before') await held.promise;
        if (!once || at !== 'reap' || moment !== when) return;
        once = false;
        for (const [policy, { id }] of opened) {
          const body = { content: { text: 'second' }, policy };
          said.set(policy, (await fixture.ask('POST', `${fixture.sessions}/${id}/messages`, body)).status);
        }
      },
    });
    for (const policy of POLICIES) {
      const session = await fixture.create();
      await fixture.say(session, 'first');
      opened.set(policy, session);
    }
    // A worker that took all four and is gone: its row is there, its lock is free, its heart has stopped.
    const gone = newId();
    await fixture.db.pool.query(
      `insert into troupe.workers (incarnation, host, pid, beat) values ($1, 'gone', 1, 1)`,
      [gone],
    );
    const { rows } = await fixture.db.pool.query(
      `select troupe.claim($1, 10, '{session}', '{"session": ["session.started"]}')`,
      [gone],
    );
    expect(rows).toHaveLength(4);
    held.resolve();
    await until('nothing is left to do', async () => {
      const statuses = await Promise.all([...opened.values()].map((session) => fixture.get(session)));
      return said.size === 4 && statuses.every(({ status }) => status === 'pending');
    });
    for (const [policy, session] of opened) {
      const { data: runs } = await fixture.done<{ data: Run[] }>('GET', `/v1/runs?sessionId=${session.id}`);
      // The first was taken over, and that is still told after it went well. What came behind it was not, nor what was
      // canceled by then.
      const takenOver = policy === 'interrupt' && when === 'before' ? 0 : 1;
      expect(runs.map(({ takeovers }) => takeovers)).toEqual(
        runs.map((_, at) => (at === runs.length - 1 ? takenOver : 0)),
      );
      const messages = await fixture.messages(session);
      const texts = (role: string) =>
        messages.filter((one) => one.role === role).map(({ content }) => (content as Turn).text!);
      // Once it is in the queue again it is free to end before the second message comes.
      const refusals = policy !== 'reject' ? [201] : when === 'after' ? [409, 201] : [409];
      expect(refusals).toContain(said.get(policy));
      expect(texts('user')).toEqual(said.get(policy) === 409 ? ['first'] : ['first', 'second']);
      expect(texts('assistant').flatMap((answer) => answer.slice(4).split('+'))).toEqual(texts('user'));
      const events = await fixture.events(session);
      const isFree = policy === 'interrupt' && when === 'after' && events.includes('run.resumed');
      expect(events).toContain(policy === 'interrupt' && !isFree ? 'run.canceled' : 'run.resumed');
    }
  });
}

/** Names everything that no text of its own has answered yet. */
function reply(request: ModelRequest): Turn {
  const spoken = request.messages.findLastIndex((one) => one.role === 'assistant' && one.text !== '');
  const open = request.messages.slice(spoken + 1).flatMap((one) => (one.role === 'user' ? [one.text] : []));
  return { text: `re: ${open.join('+')}` };
}

interface Conversation {
  session: Session;
  /** The answer to the second message; 0 before it is sent. */
  said: number;
  second: PromiseWithResolvers<void>;
}

/** For each policy: the first message, the boundary, the second message at it, and everything until nothing is left to do. */
async function play(boundary: string, when: string): Promise<Map<BusyPolicy, Conversation>> {
  const conversations = new Map<BusyPolicy, Conversation>();
  const script = (request: ModelRequest): Turn => {
    if (request.step === 1) return { calls: [{ id: 'call', name: CALLS[boundary]!, arguments: {} }] };
    return reply(request);
  };
  const isIn = async (run: string) => {
    const { rows } = await fixture.db.pool.query('select thread_id from troupe.runs where id = $1', [run]);
    return [...conversations].find(([, { session }]) => session.threadId === rows[0]?.thread_id);
  };
  const echoing = new Set<Conversation>();
  // Pure: whoever takes the run over executes it again, and that may be before the second message is there.
  const echo: ToolExecute = async (_, { runId }) => {
    if (boundary !== 'release') return 'x';
    const [, conversation] = (await isIn(runId))!;
    const isFirst = !echoing.has(conversation);
    echoing.add(conversation);
    await (isFirst ? new Promise(() => {}) : conversation.second.promise);
    return 'x';
  };
  const say = async (policy: BusyPolicy, conversation: Conversation) => {
    if (conversation.said !== 0) return;
    conversation.said = -1; // once
    const path = `${fixture.sessions}/${conversation.session.id}/messages`;
    conversation.said = (await fixture.ask('POST', path, { content: { text: 'second' }, policy })).status;
    conversation.second.resolve();
  };
  const all = async (status: string) => {
    const sessions = [...conversations.values()].map(({ session }) => fixture.get(session));
    return (await Promise.all(sessions)).every((session) => session.status === status);
  };
  const tools = { approve: () => 'x', echo };
  let swept = false;
  fixture = await SessionFixture.open({
    script,
    tools,
    toolList: [
      { name: 'approve', waitsFor: 'approval' },
      { name: 'ask', provider: 'client', waitsFor: 'client', deadlineMs: 1 },
      { name: 'echo', effect: 'pure' },
    ],
    graceMs: 1,
    apart: boundary === 'park',
    probe: async (at, moment, [run]) => {
      if (at !== boundary || conversations.size < POLICIES.length) return;
      if (run !== undefined) {
        const found = moment === when ? await isIn(run) : undefined;
        if (found) await say(...found);
        return;
      }
      // A sweep comes round in any case; this one has something to do for all of them.
      if (swept) return;
      if (moment === 'before') await until('all wait', () => all('waiting'));
      if (moment !== when) return;
      swept = true;
      for (const conversation of conversations) await say(...conversation);
    },
  });
  const budget = boundary === 'park' ? await shortOfMoney() : null;
  const opened = await Promise.all(POLICIES.map(() => fixture.create()));
  for (const [index, policy] of POLICIES.entries())
    conversations.set(policy, {
      session: opened[index]!,
      said: 0,
      second: Promise.withResolvers(),
    });
  await Promise.all(opened.map((session) => fixture.say(session, 'first')));
  if (boundary === 'release') {
    await until('all are at it', () => echoing.size === POLICIES.length);
    await another(script, tools);
    await fixture.kernel.worker!.drain();
  }
  await until('nothing is left to do', async () => {
    const isSaid = [...conversations.values()].every(({ said }) => said > 0);
    if (isSaid && budget) await raiseBudget(fixture, budget, 1e9);
    const { rows } = await fixture.db.pool.query<{ run: string }>(
      `select r.id as run from troupe.runs r join troupe.tool_calls c on c.run_id = r.id
        where r.status = 'waiting_tool' and c.waits_for = 'approval'`,
    );
    for (const { run } of rows) await fixture.kernel.settle(run, 'call', { status: 'proceed' });
    return isSaid && (await all('pending'));
  });
  return conversations;
}

/** A worker of another process, as far as the database can tell. */
async function another(script: (request: ModelRequest) => Turn, tools: Record<string, ToolExecute>) {
  const db = new Database({ url: fixture.url, applicationName: 'test/other', logger: silentLogger });
  const kernel = new Kernel({ db, logger: silentLogger });
  const models = createModels({ scripted: createScripted(script).provider });
  await kernel.work({ doors: [sessionsDoor], models, tools: codeTools(tools) });
  closing.push(
    () => kernel.close(),
    () => db.close(),
  );
}

/** A budget with nothing in it, for which every run of the fixture waits. */
async function shortOfMoney(): Promise<string> {
  const { rows } = await fixture.db.pool.query<{ id: string }>(
    `insert into troupe.budgets (id, project_id, scope, scope_id, unit, amount, on_exhausted) values (troupe.new_id(), $1, 'project', $1, 'tokens', 0, 'wait') returning id`,
    [fixture.ids.project],
  );
  const { id } = rows[0]!;
  await fixture.db.pool.query(
    `create function troupe.billed() returns trigger language plpgsql as $$ begin new.budget_ids := array['${id}'::uuid]; return new; end $$`,
  );
  await fixture.db.pool.query(
    'create trigger billed before insert on troupe.runs for each row execute function troupe.billed()',
  );
  return id;
}
