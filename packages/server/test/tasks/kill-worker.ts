import type { Json, JsonObject } from '@troupe/protocol';
import { silentLogger } from '../../src/base/index.ts';
import { createSessionsDoor } from '../../src/doors/sessions/index.ts';
import { createTasksDoor, delegationActs } from '../../src/doors/tasks/index.ts';
import { Kernel } from '../../src/kernel/index.ts';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import { createModels } from '../../src/models/registry.ts';
import { createScripted, type Turn } from '../../src/models/scripted/index.ts';
import { Database } from '../../src/store/index.ts';

// A worker in a process of its own, to be killed. Many conversations go on in it, and each stops dead at a place of its own: before or after one
// of the statements by which it is written. When all have stopped, the process is killed: for each of them it died right there. It imports
// no more than that needs: importing is most of what such a process costs.

export interface Strike {
  statement: string;
  /** Which time it is sent for the conversation, from 1. */
  nth: number;
  when: 'before' | 'after';
}
/** `strikes`: by session. */
export interface Order {
  url: string;
  strikes: Record<string, Strike>;
}
export type Report = { type: 'working' } | { type: 'struck' | 'wrote'; session: string; statement: string };

const WRITES = new Set(['claim', 'commit', 'begin_task', 'ask_giver', 'reply_to_task', 'join_child']);
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const SESSION = `select s.id from troupe.runs r join troupe.runs top on top.id = r.root_run_id join troupe.sessions s on s.thread_id = top.thread_id`;
const OF_JOIN = `select s.id from troupe.joins j left join troupe.tasks t on t.id = j.task_id left join troupe.runs r on r.id = coalesce(j.run_id, t.parent_run_id)
  left join troupe.runs top on top.id = r.root_run_id join troupe.sessions s on s.thread_id = top.thread_id where j.id = $1`;
const never = () => new Promise<never>(() => {});

class StrikingDatabase extends Database {
  readonly #strikes: Order['strikes'];
  readonly #sent = new Map<string, number>();
  readonly #stopped = new Set<string>();

  constructor({ url, strikes }: Order) {
    super({ url, applicationName: 'troupe/task-kill', logger: silentLogger });
    this.#strikes = strikes;
  }

  override async run<Row extends JsonObject>(
    ...[statement, pool]: Parameters<Database['run']>
  ): Promise<Row[]> {
    const { name, values } = statement;
    if (!WRITES.has(name)) return super.run<Row>(statement, pool);
    if (name === 'claim') {
      const rows = await super.run<Row>(statement, pool);
      const kept: Row[] = [];
      for (const row of rows) if (!(await this.#claimed(JSON.stringify(row)))) kept.push(row);
      return kept;
    }
    const isJoin = name === 'join_child';
    const session = isJoin
      ? await this.#find(OF_JOIN, values.slice(0, 1))
      : await this.#ofRuns(JSON.stringify(values));
    if (session !== null && this.#stopped.has(session)) {
      if (isJoin) return [{ answer: null }] as unknown as Row[];
      await never();
    }
    // Two commits of a conversation can be in flight: each keeps its own number.
    const nth = isJoin ? 0 : this.#next(session, name);
    if (!isJoin && this.#reach(session, name, 'before', nth)) await never();
    const rows = await super.run<Row>(statement, pool);
    // Looking for something, and finding nothing, writes nothing.
    const answer = rows[0]?.answer;
    if (isJoin && (answer === null || JSON.stringify(answer) === '{}')) return rows;
    report({ type: 'wrote', session: session!, statement: name });
    if (this.#reach(session, name, 'after', isJoin ? this.#next(session, name) : nth) && !isJoin)
      await never();
    return rows;
  }

  /** True where nobody here goes on with it. */
  async #claimed(row: string): Promise<boolean> {
    const session = await this.#ofRuns(row);
    if (session === null) return false;
    if (this.#stopped.has(session)) return true;
    report({ type: 'wrote', session, statement: 'claim' });
    return this.#reach(session, 'claim', 'after', this.#next(session, 'claim'));
  }

  async #ofRuns(text: string): Promise<string | null> {
    return this.#find(`${SESSION} where r.id = any($1::uuid[]) limit 1`, [[...new Set(text.match(UUID))]]);
  }

  async #find(text: string, values: unknown[]): Promise<string | null> {
    return (await this.pool.query<{ id: string }>(text, values)).rows[0]?.id ?? null;
  }

  #next(session: string | null, name: string): number {
    const key = `${session} ${name}`;
    const nth = (this.#sent.get(key) ?? 0) + 1;
    this.#sent.set(key, nth);
    return nth;
  }

  #reach(session: string | null, name: string, when: Strike['when'], nth: number): boolean {
    const strike = session === null ? undefined : this.#strikes[session];
    if (strike?.statement !== name || strike.nth !== nth || strike.when !== when) return false;
    this.#stopped.add(session!);
    report({ type: 'struck', session: session!, statement: name });
    return true;
  }
}

function report(said: Report): void {
  process.send!(said);
}

const call = (name: string, args: Json) => ({ name, arguments: args });
const lastOf = ({ messages }: ModelRequest) =>
  messages.findLastIndex(({ role }) => role === 'user' || role === 'system');
const results = (request: ModelRequest) => {
  const { messages } = request;
  const last = lastOf(request);
  return messages.slice(last + 1).flatMap((one) => (one.role === 'tool' ? [one.output as JsonObject] : []));
};

/** The whole flow, answered from what the request says alone. */
function say(request: ModelRequest): Turn {
  const got = results(request);
  const { text: said } = request.messages[lastOf(request)] as { text: string };
  if (request.system.includes('I am finder.')) {
    if (said.startsWith('Note')) return { calls: [call('final_answer', { result: 'noted' })] };
    if (got.length === 0) return { calls: ['a', 'b', 'c'].map((q) => call('lookup', { q })) };
    if (got.length === 3) return { calls: [call('ask_user', { question: 'Which currency?' })] };
    return { calls: [call('final_answer', { result: `42 ${got[3]!.answer}` })] };
  }
  if (said.startsWith('Task ')) return { text: 'Heard of it.' };
  if (got[0]?.status === 'pending') return { text: 'Begun.' };
  if (said.startsWith('Note'))
    return {
      calls: [call('create_agent', { type: 'finder', instruction: 'Note it.', background: true })],
    };
  if (got[0]?.status === 'waiting') return { text: `One thing: ${got[0].question}` };
  if (got[0]) return { text: `Done: ${got[0].result}` };
  const waiting = /"subAgentId":"([^"]+)"[^\n]*"status":"waiting"/.exec(request.system)?.[1];
  if (waiting) return { calls: [call('reply_to_agent', { subAgentId: waiting, content: 'euros' })] };
  return { calls: [call('create_agent', { type: 'finder', instruction: 'Find the price.' })] };
}

process.once('message', async (order: Order) => {
  const db = new StrikingDatabase(order);
  // One conversation must not keep the statements of another from being sent.
  const kernel = new Kernel({ db, logger: silentLogger, mostItems: 1, mostInFlight: 200 });
  const acts = delegationActs({ db, kernel });
  await kernel.work({
    doors: [createSessionsDoor(db), createTasksDoor(db)],
    models: createModels({ demo: createScripted(say).provider }),
    tools: { resolve: (tool) => (tool.provider === 'echo' ? (args) => args : acts(tool)) },
    capacity: 200,
  });
  report({ type: 'working' });
});
process.on('disconnect', () => process.exit(1));
